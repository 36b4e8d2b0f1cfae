"""Slow work in a process of its own, so that reports do not wait for it: one piece at a time, at a low priority,
within bounds of time and memory, and kept for those who ask for the same again.

The process gets what it needs on its standard input, and nothing else of the service: no key, no database, no token.
"""

from __future__ import annotations

import asyncio
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from signal import SIGXCPU

import msgspec

from blendp.canonical import sha256
from blendp.errors import ParameterError
from blendp.leftovers import FolderName
from blendp.service.clock import Stopwatch
from blendp.service.journal import warn
from blendp.service.refusal import Refused

PLAN, FILES = "plan", "files"
FOLDER = FolderName("blendp-files-")
"""Where files are written before they are read; the next one removes that of a process that was ended."""

MAX_SECONDS = {PLAN: 60.0, FILES: 180.0}
"""How long the processor may work on each kind."""

_PATIENCE = 5
"""How many times as long it may take by the clock: on a busy machine work of a low priority waits for its turn."""

_MAX_IN_LINE, _MAX_OF_ONE = 8, 4
"""Pieces of work that wait or are done; those of one operator."""

_MAX_KEPT_BYTES = 32 << 20
_MAX_PUT_OFF = 256
_MAX_MEMORY = 2 << 30
_NICENESS = 10
_RETRY_SECONDS, _LATER_SECONDS = 5, 600
_NOT_ALLOWED, _TOO_LARGE = 3, 4
"""The exit codes of work that a parameter does not allow, of which the output says the reason, and of work for which
there is not memory enough."""

_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "MPLCONFIGDIR", "XDG_CACHE_HOME")
"""What the process is told of its surroundings: the service's own variables may hold secrets."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass
class SideWork:
    """What is being done aside, and what was."""

    command: Sequence[str] = (sys.executable, "-P", "-m", "blendp.service.board.side_work")
    max_seconds: Mapping[str, float] = field(default_factory=lambda: MAX_SECONDS)
    stopwatch: Stopwatch = time.monotonic
    _kept: dict[str, bytes] = field(default_factory=dict, repr=False)
    _put_off: dict[str, tuple[float, Refused]] = field(default_factory=dict, repr=False)
    _line: list[tuple[str, str]] = field(default_factory=list, repr=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def result(self, kind: str, request: bytes, whose: str = "") -> bytes:
        """What this kind of work makes of a request; raises :class:`Refused` where too many wait, or it fails.

        ``whose`` names the operator who asks: each has a part of the line.
        """
        name = kind + sha256(request)
        if (kept := self._kept.get(name)) is not None:
            return kept
        self._require_room(name, whose)
        self._line.append((name, whose))
        try:
            async with self._turn:
                return self._kept.get(name) or self._keep(name, await self._tried(name, kind, request))
        finally:
            self._line.remove((name, whose))

    def _require_room(self, name: str, whose: str) -> None:
        """However many ask for the same take the room of one."""
        names, own = {one for one, _ in self._line}, {one for one, who in self._line if who == whose}
        if name not in names and (len(names) >= _MAX_IN_LINE or len(own) >= _MAX_OF_ONE):
            raise Refused("busy", "Too much waits to be computed: try again.", retry_after=_RETRY_SECONDS)

    def forget(self) -> None:
        """Keep nothing of what was done: something that it was made of is to be deleted."""
        self._kept.clear()

    def _keep(self, name: str, data: bytes) -> bytes:
        """The oldest go first where there is too much."""
        self._kept[name] = data
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _MAX_KEPT_BYTES:
            del self._kept[next(iter(self._kept))]
        return data

    async def _tried(self, name: str, kind: str, request: bytes) -> bytes:
        """The work; what failed is not tried again for a while, or all others would wait for it each time."""
        until, refused = self._put_off.get(name, (0.0, None))
        if refused is not None and (seconds := until - self.stopwatch()) > 0:
            later = None if refused.retry_after is None else math.ceil(seconds)
            raise Refused(refused.problem.slug, refused.detail, retry_after=later)
        try:
            return await self._run(kind, request)
        except Refused as failure:
            if len(self._put_off) >= _MAX_PUT_OFF:
                self._put_off.clear()
            self._put_off[name] = (self.stopwatch() + (failure.retry_after or _RETRY_SECONDS), failure)
            raise

    async def _run(self, kind: str, request: bytes) -> bytes:
        seconds = self.max_seconds[kind]
        process = await asyncio.create_subprocess_exec(
            *self.command,
            kind,
            str(seconds),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**{name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}, **_ONE_THREAD},
        )
        try:
            async with asyncio.timeout(_PATIENCE * seconds):
                data, _ = await process.communicate(request)
        except TimeoutError:
            raise _too_much(kind, f"{_PATIENCE * seconds:g} seconds") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode == _NOT_ALLOWED:
            raise Refused("invalid-parameter", data.decode("utf-8"))
        if process.returncode == -SIGXCPU:
            raise _too_much(kind, f"{seconds:g} seconds of the processor")
        if process.returncode == _TOO_LARGE:
            raise _too_much(kind, f"{_MAX_MEMORY >> 20:,} MiB of memory")
        if process.returncode:
            warn("slow work failed", kind=kind, code=process.returncode)
            raise Refused("internal", "This could not be computed; operators find the failure in the service's log.")
        return data


def _too_much(kind: str, bound: str) -> Refused:
    warn("slow work was too much", kind=kind, bound=bound)
    return Refused("busy", f"This takes more than {bound}, so it is not done.", retry_after=_LATER_SECONDS)


def plan_request(terms: bytes, people: int, planned_people: int, clients: int, like: str) -> bytes:
    """The request for a plan: how many make the list, and with how many people of both groups errors are planned."""
    return msgspec.msgpack.encode((terms, people, planned_people, clients, like))


def files_request(release: bytes, head_list: bytes, title: str) -> bytes:
    """The request for the files of a release."""
    return msgspec.msgpack.encode((release, head_list, title))


def _plan(request: bytes) -> bytes:
    from blendp.render.plan.forecast import error_words
    from blendp.service.board.cautions import records_statement
    from blendp.service.board.forecast import forecast_of, in_words, planned
    from blendp.wire.campaign import Terms
    from blendp.wire.forecast import MAX_RANKS, CampaignPlan, PlannedError

    data, people, planned_people, clients, like = msgspec.msgpack.decode(request)
    terms = Terms.from_bytes(data)
    expected = planned(terms, planned_people, clients, like)
    errors = () if expected is None else expected.errors
    return CampaignPlan(
        people=planned_people,
        clients=clients,
        like=like,
        list_forecast=in_words(forecast_of(terms, people, like)),
        errors=[PlannedError(one.rank, one.probability, one.std_error) for one in errors[:MAX_RANKS]],
        top_error=None if expected is None else expected.scores.top_error,
        sentence=None if expected is None else error_words(expected),
        statement=records_statement(terms),
    ).to_bytes()


def _files(request: bytes) -> bytes:
    from blendp.engines.database import hold_temporary
    from blendp.headlist import HeadList
    from blendp.render.release.document import release_of_document
    from blendp.render.release.files import write_readable
    from blendp.wire.files import READABLE
    from blendp.wire.releases import read_release

    data, head_list, title = msgspec.msgpack.decode(request)
    document = read_release(data)
    release = release_of_document(document, HeadList.from_bytes(head_list))
    draft = hold_temporary(FOLDER)
    try:
        write_readable(release, document["card"], draft.path, title=title, collected=True)
        return msgspec.msgpack.encode({name: (draft.path / name).read_bytes() for name in READABLE})
    finally:
        draft.remove()


_WORK: Mapping[str, Callable[[bytes], bytes]] = {PLAN: _plan, FILES: _files}


def main(kind: str, seconds: str) -> None:
    """Do one piece of work: the request comes in, the result goes out. It ends by itself should nobody wait for it."""
    with suppress(PermissionError):  # where a sandbox forbids it, work is done all the same
        os.nice(_NICENESS)
    cpu_seconds = math.ceil(float(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    try:
        sys.stdout.buffer.write(_WORK[kind](sys.stdin.buffer.read()))
    except ParameterError as error:
        sys.stdout.buffer.write(str(error).encode("utf-8"))
        sys.exit(_NOT_ALLOWED)
    except MemoryError:
        sys.exit(_TOO_LARGE)


if __name__ == "__main__":
    main(*sys.argv[1:])
