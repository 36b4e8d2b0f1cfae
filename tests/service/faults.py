"""Faults of a collector at chosen places: it dies there, or finds the disk full; and a clock that tests set.

A test and the process under test share a few bytes of memory, a :class:`Control`. The test says which day it is and
where the process shall die; :func:`install` puts the places into a process.
"""

from __future__ import annotations

import datetime
import mmap
import os
import signal
import struct
import time
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.engine import Engine

from blendp.methods import Release, conclude
from blendp.service import collector as collector_module
from blendp.service import lifecycle as lifecycle_module
from blendp.service.private_files import PrivateFiles
from blendp.service.settings import Settings
from blendp.service.store import Store, open_store

BEFORE_COMMIT, AFTER_COMMIT, KEEP_KEY, DESTROY_KEY, FORGET = PLACES = (
    "before-commit",
    "after-commit",
    "keep-key",
    "destroy-key",
    "forget",
)
"""Where a process can die: around a commit, before a key is kept or destroyed, before deleted bytes are overwritten."""

_FORM = struct.Struct("<qBBBBB")
_NO_LIMIT = 1_073_741_823


class Control:
    """What a test tells a process while it runs."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_FORM.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _FORM.size)

    def close(self) -> None:
        self._memory.close()

    def _get(self, slot: int) -> int:
        return int(_FORM.unpack(self._memory[:])[slot])

    def _set(self, slot: int, value: int) -> None:
        values = list(_FORM.unpack(self._memory[:]))
        values[slot] = value
        self._memory[:] = _FORM.pack(*values)

    @property
    def today(self) -> datetime.date:
        return datetime.date.fromordinal(self._get(0))

    @today.setter
    def today(self, day: datetime.date) -> None:
        self._set(0, day.toordinal())

    def clock(self) -> datetime.date:
        return self.today

    def die(self, point: str | None, times: int = 1) -> None:
        """Die when the place is reached for this time; None disarms."""
        self._set(1, 0 if point is None else 1 + PLACES.index(point))
        self._set(2, times)

    @property
    def armed(self) -> bool:
        return self._get(1) > 0

    @property
    def full(self) -> bool:
        """Whether the disk is full."""
        return self._get(3) > 0

    @full.setter
    def full(self, full: bool) -> None:
        self._set(3, int(full))

    @property
    def hold(self) -> bool:
        """Whether computing stops between the two transactions of a release, until it is let go."""
        return self._get(4) > 0

    @hold.setter
    def hold(self, hold: bool) -> None:
        self._set(4, int(hold))

    @property
    def holding(self) -> bool:
        """Whether it stands there."""
        return self._get(5) > 0

    def wait_here(self) -> None:
        """Stand still while it is told to."""
        self._set(5, int(self.hold))
        while self.hold:
            time.sleep(0.005)

    def reached(self, point: str) -> None:
        """The process is at a place: it dies here if it shall, without any farewell."""
        if self._get(1) != 1 + PLACES.index(point):
            return
        left = self._get(2) - 1
        self._set(2, left)
        if left == 0:
            self.die(None)
            os.kill(os.getpid(), signal.SIGKILL)


def install(control: Control) -> None:
    """Put the places into this process, for good."""
    keep, destroy, forget = PrivateFiles.keep, PrivateFiles.destroy, Store.forget_deleted

    def keep_key(self: PrivateFiles, name: str, key: bytes) -> None:
        control.reached(KEEP_KEY)
        keep(self, name, key)

    def destroy_key(self: PrivateFiles, name: str) -> None:
        if (self.folder / name).exists():
            control.reached(DESTROY_KEY)
        destroy(self, name)

    def forget_deleted(self: Store) -> bool:
        control.reached(FORGET)
        return forget(self)

    def open_with_faults(settings: Settings) -> Store:
        store = open_store(settings)
        install_in(store.engine, control)
        return store

    def conclude_later(*given: Any, **named: Any) -> Release:
        control.wait_here()
        return conclude(*given, **named)

    PrivateFiles.keep = keep_key  # type: ignore[method-assign]
    PrivateFiles.destroy = destroy_key  # type: ignore[method-assign]
    Store.forget_deleted = forget_deleted  # type: ignore[method-assign]
    vars(collector_module)["open_store"] = open_with_faults
    vars(lifecycle_module)["conclude"] = conclude_later


def install_in(engine: Engine, control: Control) -> None:
    """The places around a commit, and the disk: SQLite gets no more pages, PostgreSQL says that it has none."""
    commit = engine.dialect.do_commit

    def do_commit(connection: Any) -> None:
        control.reached(BEFORE_COMMIT)
        if control.full and engine.dialect.name == "postgresql":
            raise psycopg.errors.DiskFull("could not extend file: No space left on device")
        commit(connection)
        control.reached(AFTER_COMMIT)

    def limit(connection: Any, _record: Any, _proxy: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={1 if control.full else _NO_LIMIT}").close()

    engine.dialect.do_commit = do_commit  # type: ignore[method-assign, assignment]
    if engine.dialect.name == "sqlite":
        event.listen(engine, "checkout", limit)
