"""One at a time: who makes a campaign's list or result holds its turn, and loses it with the process that dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

_TURN = 7235604
"""The advisory lock of a campaign's turn."""

_PAUSE_SECONDS = 0.05


@contextmanager
def turn(engine: Engine, number: int, wait_seconds: float) -> Iterator[bool]:
    """Whether the turn of a campaign is ours until the block is left; another may have it, also of another process."""
    turn_of = _on_file if engine.dialect.name == "sqlite" else _on_server
    with turn_of(engine, number, time.monotonic() + wait_seconds) as ours:
        yield ours


@contextmanager
def _on_file(engine: Engine, number: int, until: float) -> Iterator[bool]:
    """By a lock on a file next to the database; the operating system lets go of it when its process ends."""
    path = Path(f"{engine.url.database}.turn-{number}")
    descriptor = _locked(path)
    while descriptor is None and time.monotonic() < until:
        time.sleep(_PAUSE_SECONDS)
        descriptor = _locked(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            path.unlink(missing_ok=True)
            os.close(descriptor)


def _locked(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    if os.fstat(descriptor).st_nlink:
        return descriptor
    os.close(descriptor)  # whoever held it before has removed it
    return None


@contextmanager
def _on_server(engine: Engine, number: int, until: float) -> Iterator[bool]:
    """By a lock of a session; PostgreSQL lets go of it when the connection ends."""
    with engine.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        ours = _asked(connection, "pg_try_advisory_lock", number)
        while not ours and time.monotonic() < until:
            time.sleep(_PAUSE_SECONDS)
            ours = _asked(connection, "pg_try_advisory_lock", number)
        try:
            yield ours
        finally:
            with suppress(DBAPIError):
                if ours and not _asked(connection, "pg_advisory_unlock", number):
                    connection.invalidate()


def _asked(connection: Connection, function: str, number: int) -> bool:
    return bool(connection.exec_driver_sql(f"SELECT {function}(%s, %s)", (_TURN, number)).scalar_one())
