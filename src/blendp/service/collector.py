"""The collector put together: what it holds, and the verbs that addresses call."""

from __future__ import annotations

import datetime
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from blendp.reports import QUESTIONS
from blendp.service.audit import Actor, Trail
from blendp.service.board.side_work import SideWork
from blendp.service.board.status import StatusBoard
from blendp.service.calendar import Calendar
from blendp.service.campaign_numbers import campaign_numbers
from blendp.service.campaigns import Book, Reporting, being_made, find, keyed, pseudonym_key, require_key
from blendp.service.clock import Clock, Stopwatch, past, reading, seconds_passed, utc_today
from blendp.service.deadlines import Deadlines
from blendp.service.intake import ReportIntake
from blendp.service.keyring import KeyRing
from blendp.service.lifecycle import Lifecycle
from blendp.service.metrics import Metrics
from blendp.service.never_list import NeverList
from blendp.service.opt_in import OptIn
from blendp.service.private_files import PrivateFiles
from blendp.service.readiness import Readiness
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store import Store, open_store
from blendp.service.store.one_call import Row
from blendp.service.store.reports import COME_BACK, defer_deletion, delete_report
from blendp.service.tokens import OperatorTokens
from blendp.wire.install import pseudonym
from blendp.wire.reports import Binding, Upload

KEYS_FOLDER = "keys"
_DELETING_SECONDS = 20.0
"""How long one look after the house deletes reports of campaigns that are over; the next one goes on."""

_DEATH_SECONDS = 5.0
"""How long PostgreSQL may take to notice that a process has died."""


@dataclass(frozen=True)
class CollectorService:
    """One process's view of the whole service."""

    settings: Settings
    clock: Clock
    store: Store
    files: PrivateFiles
    keys: KeyRing
    tokens: OperatorTokens
    opt_in: OptIn
    lifecycle: Lifecycle
    book: Book
    intake: ReportIntake
    metrics: Metrics
    readiness: Readiness
    deadlines: Deadlines
    board: StatusBoard
    side_work: SideWork

    @classmethod
    def open(
        cls, settings: Settings, clock: Clock | None = None, stopwatch: Stopwatch | None = None
    ) -> CollectorService:
        """Open the store, and make the first key if there is none.

        The system's clock is followed with care (:mod:`~blendp.service.calendar`); so is one that is given with a
        stopwatch, while one that is given alone is taken at its word.
        """
        files = PrivateFiles(Path(settings.data) / KEYS_FOLDER)
        files.require_private()
        store = open_store(settings)
        clock = _clock(store, clock, stopwatch)
        keys = KeyRing(store, files, clock)
        keys.ensure()
        opt_in, metrics = OptIn(store, files, clock), Metrics()
        lifecycle = Lifecycle(store, files, keys, opt_in, clock, never_list=NeverList(settings.never_list))
        intake = ReportIntake(
            store, clock, max_waiting=settings.max_waiting, observe=metrics.report, show=metrics.waiting
        )
        tokens = OperatorTokens(store, clock)
        book = Book(store, files)
        readiness = Readiness(store, Path(settings.data))
        deadlines = Deadlines(store, lifecycle, clock, metrics.deadline)
        return cls(
            settings,
            clock,
            store,
            files,
            keys,
            tokens,
            opt_in,
            lifecycle,
            book,
            intake,
            metrics,
            readiness,
            deadlines,
            StatusBoard(store, clock),
            SideWork(),
        )

    @property
    def trail(self) -> Trail:
        """What operators did."""
        return Trail(self.store)

    def accept_clock(self, day: datetime.date, by: Actor) -> None:
        """An operator says that the system's clock is right: this day."""
        if day != (system := reading(self.clock).system):
            raise Refused("conflict", f"The system's clock says {system}, not {day}: look at it again.")
        with self.store.writing() as connection:
            Calendar.accept(day, connection)
            self.trail.note(connection, by, "accept-clock", detail=day.isoformat())
        if isinstance(self.clock, Calendar):
            self.clock.observe()

    def close(self) -> None:
        """Overwrite what was deleted, and close the store."""
        self.keep_house(deleting_seconds=0.0)
        self.store.close()

    def tidy(self) -> None:
        """Undo what processes that died left behind; what is deleted but not yet overwritten is overwritten, too."""
        with suppress(Refused):
            self.lifecycle.reopen_abandoned(wait_seconds=_DEATH_SECONDS)
        self.store.note_deletion()
        self.keep_house()

    def keep_house(self, deleting_seconds: float = _DELETING_SECONDS) -> None:
        """Destroy keys that had their day, here and in memory, delete reports of campaigns that are over, and overwrite
        what was deleted since the last time."""
        with suppress(Refused):
            if isinstance(self.clock, Calendar):
                self.clock.observe()
            self.lifecycle.reopen_abandoned()
            self.keys.destroy_old()
            self.lifecycle.destroy_keys()
            self.book.forget_closed()
            self.lifecycle.delete_reports(deleting_seconds)
        self.store.forget_deleted()

    def meet_deadlines(self) -> None:
        """Publish, release or delete the campaigns whose operator has not, as their terms say."""
        with suppress(Refused):
            self.deadlines.meet()
            self.book.forget_closed()

    def numbers(self) -> bytes:
        """All numbers for Prometheus."""
        return self.metrics.exposition() + campaign_numbers(self.store, self.clock)

    async def receive(self, reporting: Reporting, upload: Upload) -> list[str]:
        """What became of every report of an upload; those that the store is asked about are on the disk by then."""
        if upload.binding != reporting.binding:
            refusal = _unbound(upload.binding, reporting.binding)
            self.intake.note(reporting.number, refusal.problem.slug, len(upload.rows))
            raise refusal
        if past(self.clock, reporting.until):
            self.intake.note(reporting.number, "late", len(upload.rows))
            raise Refused("late", f"Reports were taken until {reporting.terms.reports_until}.")
        outcomes, rows, indices = [""] * len(upload.rows), [], []
        for index, row in enumerate(upload.rows):
            if not reporting.scheme.possible(QUESTIONS[row[2]], row[3]):
                outcomes[index] = "impossible"
            else:
                indices.append(index)
                rows.append((row[0], keyed(row[1], reporting.pseudonym_key), row[2], row[3]))
        if len(rows) == len(outcomes):
            return await self._submit(reporting.number, rows)
        self.intake.note(reporting.number, "impossible", len(outcomes) - len(rows))
        if rows:
            for index, outcome in zip(indices, await self._submit(reporting.number, rows), strict=True):
                outcomes[index] = outcome
        return outcomes

    async def _submit(self, number: int, rows: list[Row]) -> list[str]:
        try:
            outcomes = await self.intake.submit(number, rows)
        except Refused as refusal:
            self.metrics.report(refusal.problem.slug, len(rows))
            raise
        if COME_BACK in outcomes:
            raise Refused("busy", "The result is being computed, which may fail: try again.", retry_after=30)
        return outcomes

    def forget_report(self, name: str, deletion_key: bytes) -> bool:
        """Delete the report of the install that holds this key, also one that is still on its way; False if none was
        held."""
        with self.store.writing() as connection:
            current = find(connection, name, self.store)
            if current.state == "signing":
                raise being_made(current)
            if current.state not in ("reporting", "closing"):
                return False
            key = require_key(self.files, pseudonym_key(name))
            forget = defer_deletion if current.state == "closing" else delete_report
            deleted = forget(connection, current.number, keyed(pseudonym(deletion_key), key))
        if deleted:
            self.store.note_deletion()
        return deleted

    def withdraw(self, name: str, token: str) -> bool:
        """Delete an opt-in person's records; False if none are held."""
        deleted = self.opt_in.withdraw(name, token)
        if deleted:
            self.store.note_deletion()
        return deleted


def _unbound(given: Binding, asked: Binding) -> Refused:
    """Why reports that are bound to something else are not taken."""
    if given.manifest != asked.manifest:
        return Refused("wrong-list", f"These reports are not bound to manifest {asked.manifest}: fetch it again.")
    return Refused(
        "wrong-scheme",
        f"The scheme of this campaign is {asked.scheme}, these reports say {given.scheme}: the client that made them "
        "computes sizes, coins, cells or ranks in another way. Hold it against the vectors (blendp vectors check).",
    )


def _clock(store: Store, clock: Clock | None, stopwatch: Stopwatch | None) -> Clock:
    if clock is not None and stopwatch is None:
        return clock
    return Calendar(store, clock or utc_today, stopwatch or seconds_passed)
