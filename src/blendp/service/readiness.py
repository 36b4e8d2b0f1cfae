"""Whether the collector can keep what it is sent: tried by a real write, seldom, however many ask."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from anyio import to_thread

from blendp.service.refusal import Refused
from blendp.service.store.store import Store, reason_of

PROBE_FILE = ".writable"

_PROBE_BYTES = 1 << 16
_RETRY_SECONDS = 5
_MEANS = {
    "storage-full": "The disk is full: nothing can be kept until there is room",
    "read-only": "The store can be read but not written: look at its disk, its permissions and its server",
    "unreachable": "The store cannot be reached, or takes too long to write",
}


@dataclass
class Readiness:
    """What the last try showed; all who ask within a few seconds share one."""

    store: Store
    folder: Path
    every: float = 2.0
    """Seconds from the end of one try to the beginning of the next, at least."""

    _last: asyncio.Task[str | None] | None = field(default=None, repr=False)
    _ended: float = field(default=0.0, repr=False)

    async def require(self) -> None:
        """Raise :class:`Refused` if nothing could be kept now."""
        if self._last is None or (self._last.done() and time.monotonic() - self._ended >= self.every):
            self._last = asyncio.create_task(self._tried())
        reason = await asyncio.shield(self._last)
        if reason is not None:
            raise Refused("busy", f"{_MEANS[reason]} ({reason}).", retry_after=_RETRY_SECONDS, reason=reason)

    async def _tried(self) -> str | None:
        """Why nothing can be written; None if it can."""
        try:
            await to_thread.run_sync(self._write)
        except (Refused, OSError) as error:
            return reason_of(error)
        finally:
            self._ended = time.monotonic()
        return None

    def _write(self) -> None:
        """A row of the database, and a file beside the keys that needs room of its own."""
        self.store.beat()
        path = self.folder / PROBE_FILE
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.urandom(_PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)
