"""What was promised to the people of a log before, on this machine: promises of several releases add up.

A line for every release, in a file of the person who ran it (``$XDG_STATE_HOME/blendp/releases.jsonl``). It has the
paths of the log as they were given, made absolute, the day and the promise; nothing of what the log says. It is a
reminder and no ledger: it knows neither other machines nor copies of a log. Whatever is wrong with the file, a run goes
on: it is then reminded of less.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SWITCH = "BLENDP_REMEMBER"
"""0 in this variable of the environment: nothing is written or read."""

MAX_BYTES = 1 << 20
"""The older half is forgotten beyond this size."""

MAX_PATHS = 100
"""Paths of one release that are remembered."""

_TRIES, _PAUSE = 20, 0.05  # to lock the file, with so many seconds between them


@dataclass(frozen=True)
class Promised:
    """What earlier releases of a log, and this one, promise together: basic composition."""

    epsilons: tuple[float, ...]
    """Of every earlier release, in their order."""

    epsilon: float
    delta: float

    @property
    def sentence(self) -> str:
        """For whoever runs it."""
        times = "once" if len(self.epsilons) == 1 else f"{len(self.epsilons):,} times"
        shown = " + ".join(f"{epsilon:.4g}" for epsilon in self.epsilons[-5:])
        before = shown if len(self.epsilons) <= 5 else f"... + {shown}"
        return (
            f"This log was released before on this machine ({times}, ε = {before}): for people in all of these "
            f"releases the promises add up to (ε = {self.epsilon:.4g}, δ = {self.delta:.4g}) with this one."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"times": len(self.epsilons), "epsilon": self.epsilon, "delta": self.delta}


def remember(logs: Sequence[str], epsilon: float, delta: float, day: str) -> Promised | None:
    """Write this release down, and say what it adds up to with earlier ones of the same log; None if it is the first.

    A log is the same if a path of it is: what the file holds may have changed, and its people mostly have not. What
    came through a pipe is nowhere, so it is not written down.
    """
    earlier: list[tuple[float, float, list[str]]] = []
    paths = sorted({_absolute(log) for log in logs if not _is_pipe(log)})[:MAX_PATHS]
    if not paths:
        return None
    with suppress(OSError, ValueError, RuntimeError), _opened() as descriptor:  # there may be no home at all
        if descriptor is None:
            return None
        lines = _read(descriptor)
        known = set(paths)
        earlier = [promise for promise in map(_promise, lines) if promise is not None and known & set(promise[2])]
        lines.append(json.dumps({"paths": paths, "epsilon": epsilon, "delta": delta, "day": day}))
        _write(descriptor, lines)
    if not earlier:
        return None
    each = [one[0] for one in earlier]
    return Promised(tuple(each), math.fsum([*each, epsilon]), math.fsum([*(one[1] for one in earlier), delta]))


def register_path() -> Path:
    """Where releases are written down."""
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if Path(base).is_absolute() else Path.home() / ".local/state"
    return state / "blendp/releases.jsonl"


def _absolute(log: str) -> str:
    return log if "://" in log else os.path.realpath(log)


def _is_pipe(log: str) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISFIFO(Path(log).stat().st_mode)
    return False


@contextmanager
def _opened() -> Iterator[int | None]:
    """The file's descriptor, locked; None where it is not wanted. Raises if others are at it for a second."""
    if os.environ.get(SWITCH) == "0" or sys.platform == "win32":
        yield None
        return
    import fcntl

    path = register_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        status = os.fstat(descriptor)
        for _ in range(_TRIES - 1):
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_PAUSE)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        own = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
        yield descriptor if own else None
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> list[str]:
    """The lines, those beyond the bound left out."""
    data = os.pread(descriptor, MAX_BYTES, max(0, os.fstat(descriptor).st_size - MAX_BYTES))
    return [line for line in data.decode("utf-8", "replace").split("\n") if line]


def _write(descriptor: int, lines: Sequence[str]) -> None:
    """All lines, or the newer half of them where they are too long."""
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        data = data[-MAX_BYTES // 2 :].partition(b"\n")[2]
    written = os.pwrite(descriptor, data, 0)
    os.ftruncate(descriptor, written)


def _promise(line: str) -> tuple[float, float, list[str]] | None:
    """Epsilon, delta and paths of a line; None where it is damaged."""
    with suppress(ValueError, TypeError, LookupError, RecursionError):
        value: Mapping[str, Any] = json.loads(line)
        epsilon, delta, paths = float(value["epsilon"]), float(value["delta"]), value["paths"]
        if 0 < epsilon < math.inf and 0 <= delta < 1 and all(isinstance(path, str) for path in paths):
            return epsilon, delta, list(paths)
    return None
