"""A database that cannot be used: told in the log when it begins and when it ends, not by every request in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from blendp.service.journal import tell, warn


@dataclass
class Outage:
    """Whether the database can be used, as far as this process has seen."""

    stopwatch: Callable[[], float] = time.monotonic
    _since: float | None = field(default=None, repr=False)
    _of_writing: bool = field(default=False, repr=False)
    _failures: int = field(default=0, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def failed(self, reason: str, error: str, *, writes: bool) -> None:
        """A transaction failed for this reason."""
        with self._lock:
            first = self._since is None
            self._since = self.stopwatch() if self._since is None else self._since
            self._failures = 1 if first else self._failures + 1
            self._of_writing = writes or (self._of_writing and not first)
        if first:
            warn("the database cannot be used", reason=reason, error=error)

    def worked(self, *, writes: bool) -> None:
        """A transaction went well; one that only reads says nothing about writing."""
        if self._since is None or (self._of_writing and not writes):
            return
        with self._lock:
            since, failures, self._since = self._since, self._failures, None
        if since is not None:
            tell("the database can be used again", seconds=round(self.stopwatch() - since), failures=failures)
