"""Taking in reports: many requests, one transaction at a time, and no answer before it is on the disk.

Requests put their rows in line and wait. A thread takes all that is in line, keeps it in one transaction, and only
then tells everybody. So while the disk is busy with one group the next one grows, and the cost of a commit is shared
by as many as there are; those who were told together mostly come back together, so the next group waits a moment for
as many. The line is bounded: who finds it full is asked to come back later.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from blendp.service.clock import Clock
from blendp.service.refusal import Refused
from blendp.service.store.one_call import Row
from blendp.service.store.reports import COME_BACK, keep_reports
from blendp.service.store.store import Store, is_stuck, refusal_of
from blendp.wire.reports import ACCEPTED

MAX_IN_GROUP = 20_000
"""Reports that one transaction keeps, so that nobody waits long for others."""

_FLUSH_SECONDS = 1.0
_RETRY_SECONDS = 2
_GATHER_SECONDS, _CROWD = 0.005, 16
"""How long a group waits to become a crowd, and as large as the one before, unless that was one request alone: under
load, few large commits cost less than many."""

_CAREFUL_GROUPS = 32
"""How many groups are not taken for new as a whole after one that was not: hoping in vain costs a database the most."""

_HOPED_FOR = {ACCEPTED, COME_BACK, "late", "wrong-state"}
_TURNS = 3
"""How often a group is tried: another process may wait for it as it for the other."""

Observer = Callable[[str, int], None]
"""Told an outcome and how many reports had it."""


@dataclass(eq=False, slots=True)
class _Waiting:
    campaign: int
    rows: Sequence[Row]
    answer: asyncio.Future[list[str]]
    loop: asyncio.AbstractEventLoop
    outcomes: list[str] | Refused = field(default_factory=list)


class ReportIntake:
    """The line in front of the store, and the one thread that empties it."""

    def __init__(
        self, store: Store, clock: Clock, *, max_waiting: int, observe: Observer, show: Callable[[int], None]
    ) -> None:
        """An empty line; :meth:`start` opens it."""
        self._store = store
        self._clock = clock
        self._max_waiting = max_waiting
        self._observe = observe
        self._show = show
        self._line: deque[_Waiting] = deque()
        self._waiting = 0
        self._enough = 1
        self._careful = 0
        self._refused: Counter[tuple[int, str]] = Counter()
        self._changed = threading.Condition()
        self._open = False
        self._thread = threading.Thread(target=self._work, name="blendp-intake", daemon=True)

    def start(self) -> None:
        """Open the line."""
        self._open = True
        self._thread.start()

    def stop(self) -> None:
        """Keep what is in line, tell everybody, and close."""
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the thread that empties the line is at work."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many reports are in line."""
        return self._waiting

    async def submit(self, campaign: int, rows: Sequence[Row]) -> list[str]:
        """What became of every row, told after the transaction that kept it; raises :class:`Refused` if none was."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(campaign, rows, loop.create_future(), loop)
        with self._changed:
            if not self._open:
                raise Refused("busy", "The collector is stopping: try again.", retry_after=_RETRY_SECONDS)
            if self._waiting and self._waiting + len(rows) > self._max_waiting:
                raise Refused("busy", "More reports are in line than may wait: try again.", retry_after=_RETRY_SECONDS)
            self._line.append(waiting)
            self._waiting += len(rows)
            if len(self._line) in (1, self._enough):  # else the thread has been told
                self._changed.notify()
        return await waiting.answer

    def note(self, campaign: int, outcome: str, count: int = 1) -> None:
        """Count reports that were refused before they came into line; kept with the next transaction."""
        self._observe(outcome, count)
        with self._changed:
            self._refused[campaign, outcome] += count

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._line and self._open:
                    self._changed.wait(_FLUSH_SECONDS)
                if 0 < len(self._line) < self._enough and self._waiting < MAX_IN_GROUP and self._open:
                    self._changed.wait(_GATHER_SECONDS)
                group, refused, going_on = self._next_group(), self._refused, self._open
                self._refused = Counter()
                self._enough = max(len(group), _CROWD) if len(group) > 1 else 1
            if group or refused:
                kept = self._keep(group, refused)
                self._answer(group)
                self._tell_numbers(kept)
            elif not going_on:
                return

    def _next_group(self) -> list[_Waiting]:
        group: list[_Waiting] = []
        size = 0
        while self._line and (not group or size + len(self._line[0].rows) <= MAX_IN_GROUP):
            group.append(self._line.popleft())
            size += len(group[-1].rows)
        return group

    def _keep(self, group: list[_Waiting], refused: Counter[tuple[int, str]]) -> Counter[str]:
        """Keep a group in one transaction; how many reports it kept or refused by outcome.

        If the transaction fails, everybody is told so, and the numbers of those who were refused before are lost.
        """
        rows_of: dict[int, list[Row]] = defaultdict(list)
        for waiting in group:
            rows_of[waiting.campaign] += waiting.rows
        for left in reversed(range(_TURNS)):
            try:
                with self._store.writing() as connection:
                    day = self._clock().isoformat()
                    outcomes = keep_reports(connection, rows_of, day, refused, hope=not self._careful)
            except Exception as error:  # whatever it is, somebody waits for an answer
                if left and is_stuck(error):
                    continue
                refusal = error if isinstance(error, Refused) else refusal_of(error)
                for waiting in group:
                    waiting.outcomes = refusal
                return Counter()
            break
        fates = {number: iter(some) for number, some in outcomes.items()}
        for waiting in group:
            waiting.outcomes = list(islice(fates[waiting.campaign], len(waiting.rows)))
        kept = Counter(outcome for some in outcomes.values() for outcome in some)
        self._careful = max(0, self._careful - 1) if set(kept) <= _HOPED_FOR else _CAREFUL_GROUPS
        return kept

    def _answer(self, group: list[_Waiting]) -> None:
        """Tell everybody, waking each event loop once."""
        with self._changed:
            self._waiting -= sum(len(waiting.rows) for waiting in group)
        by_loop: dict[asyncio.AbstractEventLoop, list[_Waiting]] = defaultdict(list)
        for waiting in group:
            by_loop[waiting.loop].append(waiting)
        for loop, some in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell, some)

    def _tell_numbers(self, kept: Counter[str]) -> None:
        """Tell how many there were; whoever listens cannot disturb those who come next."""
        with suppress(Exception):
            self._show(self._waiting)
            for outcome, count in kept.items():
                self._observe(outcome, count)


def _tell(group: list[_Waiting]) -> None:
    for waiting in group:
        if waiting.answer.done():
            continue
        if isinstance(waiting.outcomes, Refused):
            waiting.answer.set_exception(waiting.outcomes)
        else:
            waiting.answer.set_result(waiting.outcomes)
