"""Whether anybody else uses a database that is about to be replaced or changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

from sqlalchemy.engine import Connection

from blendp.errors import EngineError

_WAIT_SECONDS = 3.0
_PAUSE_SECONDS = 0.05
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def require_unused(database: Path) -> None:
    """Raise if another process uses an embedded database; its write-ahead log is gone afterwards."""
    with closing(sqlite3.connect(database, timeout=_WAIT_SECONDS, isolation_level=None)) as connection:
        try:
            mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
        except sqlite3.DatabaseError as error:
            mode = "delete" if "not a database" in str(error) else "wal"
    if mode != "delete":
        raise EngineError(f"{database} is in use: stop the collector first.")


def require_alone(connection: Connection) -> None:
    """Raise if another process uses a PostgreSQL database; the embedded one is not asked.

    A session ends a moment after its client has, so others are given that moment.
    """
    if connection.dialect.name != "postgresql":
        return
    deadline = monotonic() + _WAIT_SECONDS
    while connection.exec_driver_sql(_OTHERS).scalar_one():
        if monotonic() > deadline:
            raise EngineError("The database is in use: stop the collector, and whoever else uses it, first.")
        sleep(_PAUSE_SECONDS)
        connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")
