"""Connections and transactions: durable on both databases, and told apart from each other nowhere else but here."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from blendp.service.private_files import SIDE_FILES, make_private, require_own_file, touch_private
from blendp.service.refusal import Refused
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store.migrations import require_newest
from blendp.service.store.outage import Outage
from blendp.service.store.partitions import partition_of
from blendp.service.store.schema import campaign, heartbeat
from blendp.service.store.turns import turn

_BUSY_SECONDS = 10
_WRITING_CACHE, _READING_CACHE = -131072, -8192
"""KiB of pages that a connection keeps, negative as SQLite wants it: one writes, and many may read at a time."""

_BEAT_BYTES = 8192
"""More than a page, so that it takes room that the first beat has to find."""

_RETRY_SECONDS = 5
_DISK_FULL, _READ_ONLY = "53100", "25006"
_STUCK, _LOCKED = ("40P01", "40001"), "55P03"
_KEYS_LOCK = 7235603
_ALONE_LOCK = 7235604
_OF_ROWS = (sa.exc.IntegrityError, sa.exc.DataError)
"""Failures that are those of what was written, not of the database."""

_PRAGMAS = (
    "page_size=1024",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
    "wal_autocheckpoint=64000",
)


@dataclass(frozen=True)
class Store:
    """A database with the collector's tables."""

    engine: Engine
    _deleted: threading.Event = field(default_factory=threading.Event, repr=False)
    _outage: Outage = field(default_factory=Outage, repr=False)

    @property
    def embedded(self) -> bool:
        """Whether this is the embedded database."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        with self._told(), self.engine.connect() as connection:
            if not self.embedded:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on the disk when the block is left, or has not happened."""
        with self._told(writes=True), self._writer.begin() as connection:
            yield connection

    @cached_property
    def _writer(self) -> Engine:
        return self.engine.execution_options(blendp_writes=True)

    @contextmanager
    def _told(self, *, writes: bool = False) -> Iterator[None]:
        """Failures of the database as refusals that say when to come back; the log tells when it goes and returns."""
        try:
            yield
        except (DBAPIError, sa.exc.TimeoutError, self.engine.dialect.loaded_dbapi.Error) as error:
            if not is_stuck(error) and not isinstance(error, _OF_ROWS):
                self._outage.failed(reason_of(error), type(error).__name__, writes=writes)
            raise refusal_of(error) from error
        self._outage.worked(writes=writes)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other process is in such a block; a process that dies leaves it. Not on the embedded database."""
        if self.embedded:
            yield True
            return
        with self._told(), self.engine.connect() as plain:
            connection = plain.execution_options(isolation_level="AUTOCOMMIT")
            ours = bool(connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_ALONE_LOCK})").scalar_one())
            try:
                yield ours
            finally:
                if ours:
                    connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_ALONE_LOCK})")

    def locked(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """The query, made to hold its rows until the transaction ends; the embedded database has one writer anyway."""
        return query if self.embedded else query.with_for_update(key_share=True)

    @contextmanager
    def turn(self, number: int, wait_seconds: float = 0.0) -> Iterator[bool]:
        """Whether this is the only one, of all processes, who makes a list or result of a campaign just now."""
        with self._told(), turn(self.engine, number, wait_seconds) as ours:
            yield ours

    def note_deletion(self) -> None:
        """Something was deleted that the database may still hold in old pages or rows."""
        self._deleted.set()

    def forget_deleted(self) -> bool:
        """Have the database overwrite what was deleted since the last time; False if it is busy: try again later."""
        if not self._deleted.is_set():
            return True
        self._deleted.clear()
        try:
            done = self._truncate_log() if self.embedded else self._vacuum()
        except (Refused, sqlite3.Error):
            done = False
        if not done:
            self._deleted.set()
        return done

    def _truncate_log(self) -> bool:
        """Write the log's pages into the database and empty it, unless somebody reads it now: nobody shall wait.

        Most pages are written while others go on writing; only for what they add meanwhile they have to wait.
        """
        with self._told(), closing(self.engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
            try:
                cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                return bool(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_SECONDS}")

    def _vacuum(self) -> bool:
        """Free what was deleted, but for tables that somebody holds: nobody shall wait."""
        states: list[str | None] = []

        def note(notice: Any) -> None:
            states.append(notice.sqlstate)

        with self._told(), self.engine.connect() as plain:
            connection = plain.execution_options(isolation_level="AUTOCOMMIT")
            session: Any = connection.connection.driver_connection
            going_on = sa.select(campaign.c.number).where(campaign.c.state.not_in(("released", "deleted")))
            tables = ["enrolment", *map(partition_of, connection.execute(going_on).scalars())]
            session.add_notice_handler(note)
            try:
                connection.exec_driver_sql(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}")
            finally:
                session.remove_notice_handler(note)
        return _LOCKED not in states

    def hold_keys(self, connection: Connection, *, shared: bool) -> None:
        """Let nobody replace the signing keys before this transaction ends; or let nobody use them, either."""
        if not self.embedded:
            name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
            connection.exec_driver_sql(f"SELECT {name}({_KEYS_LOCK})")

    def beat(self) -> None:
        """Write something new, durably; raises :class:`Refused` if that cannot be."""
        value = {"value": os.urandom(_BEAT_BYTES)}
        with self.writing() as connection:
            connection.execute(sa.text("SELECT 1 FROM campaign LIMIT 1"))
            if not connection.execute(heartbeat.update().values(**value)).rowcount:
                connection.execute(heartbeat.insert().values(number=1, **value))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_store(settings: Settings, prepare: Callable[[Engine], None] = require_newest) -> Store:
    """The store, made if there is none; refused if its schema is another than this version's, unless ``prepare`` has
    a remedy."""
    embedded = settings.database is None
    make_private(settings.data)
    if embedded:
        touch_private(settings.data / DATABASE_FILE)
        for side in SIDE_FILES:
            require_own_file(settings.data / (DATABASE_FILE + side))
    engine = sa.create_engine(
        settings.database_url,
        hide_parameters=True,
        pool_timeout=_BUSY_SECONDS,
        **({} if embedded else {"isolation_level": "READ COMMITTED"}),
        connect_args={"timeout": _BUSY_SECONDS} if embedded else {"connect_timeout": _BUSY_SECONDS},
    )
    if embedded:
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _set_up_postgresql)
    store = Store(engine)
    try:
        with store._told():
            prepare(engine)
    except BaseException:
        store.close()
        raise
    return store


def refusal_of(error: Exception) -> Refused:
    """What a failure of the database means to whoever asked."""
    if _is_full(error):
        return Refused("storage-full", "The store is full: nothing was kept; try again.", retry_after=60)
    return Refused("busy", "The store cannot be reached: nothing was kept; try again.", retry_after=_RETRY_SECONDS)


def reason_of(error: BaseException | None) -> str:
    """Why the database, or a disk, cannot be written: storage-full, read-only, or unreachable for all else."""
    if _is_full(error):
        return "storage-full"
    while error is not None:
        code, state = getattr(error, "sqlite_errorcode", None), getattr(error, "sqlstate", None)
        if (code is not None and code & 0xFF == sqlite3.SQLITE_READONLY) or state == _READ_ONLY:
            return "read-only"
        if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return "read-only"
        error = error.__cause__ or error.__context__
    return "unreachable"


def is_stuck(error: BaseException | None) -> bool:
    """Whether the database ended this transaction because it and another waited for each other."""
    return error is not None and (getattr(error, "sqlstate", None) in _STUCK or is_stuck(error.__cause__))


def _is_full(error: BaseException | None) -> bool:
    """Whether this came of a full disk: SQLite ends the transaction itself then, and rolling back fails on top."""
    while error is not None:
        code, state = getattr(error, "sqlite_errorcode", None), getattr(error, "sqlstate", None)
        if code == sqlite3.SQLITE_FULL or state == _DISK_FULL:
            return True
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    """Write-ahead log, every commit on the disk, deleted content overwritten; transactions begin when we say so."""
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _set_up_postgresql(connection: Any, _record: Any) -> None:
    """Plan every statement for its campaign: a plan for all of them would hold, and wait for, all of their reports."""
    connection.autocommit = True
    connection.execute("SET plan_cache_mode = force_custom_plan")
    connection.autocommit = False


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("blendp_writes")
    connection.exec_driver_sql(f"PRAGMA cache_size = {_WRITING_CACHE if writes else _READING_CACHE}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
