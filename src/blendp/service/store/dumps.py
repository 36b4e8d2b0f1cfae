"""A collector's database as one file, and back: by SQLite itself, or by PostgreSQL's own programs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from blendp.errors import EngineError, OutputExistsError
from blendp.outputs import refuse_existing, whole
from blendp.service.private_files import SIDE_FILES, require_own_file
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store.migrations import require_known, schema_of
from blendp.service.store.partitions import PARTITIONS
from blendp.service.store.schema import metadata, report
from blendp.service.store.sole_use import require_alone, require_unused
from blendp.service.store.store import refusal_of

OVERWRITE_REMEDY = "restore elsewhere, or ask to overwrite (--overwrite)."

_BUSY_SECONDS = 1.0
_VERSION = "alembic_version"
_TABLES = (*(table.name for table in metadata.sorted_tables), _VERSION)
_PATTERNS = {report.name: PARTITIONS}
"""What a table is called together with those that belong to it, where there are such."""


def dump_database(settings: Settings, dump: Path) -> str:
    """Write one state of the database into a file, while others read and write; the version of its schema."""
    return _dump_sqlite(settings, dump) if settings.database is None else _dump_postgresql(settings, dump)


def restore_database(copy_to: Callable[[IO[bytes]], None], settings: Settings, *, overwrite: bool) -> None:
    """Put a dump in place, which ``copy_to`` writes into a file or refuses; nothing is changed before it is whole."""
    restore = _restore_sqlite if settings.database is None else _restore_postgresql
    restore(copy_to, settings, overwrite)


def _dump_sqlite(settings: Settings, dump: Path) -> str:
    with closing(_sqlite(settings.data / DATABASE_FILE)) as source, closing(_sqlite(dump)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
        schema = str(target.execute(f"SELECT version_num FROM {_VERSION}").fetchone()[0])
    require_known(schema)
    return schema


def _dump_postgresql(settings: Settings, dump: Path) -> str:
    options = ("--format=custom", "--no-owner", "--no-privileges", "--strict-names", f"--file={dump}")
    with _engine(settings) as engine, _snapshot(engine) as (connection, name):
        schema = schema_of(connection)
        require_known(schema)
        tables = [f"--table={_PATTERNS.get(table, table)}" for table in _own_tables(connection)]
        chosen = (f"--snapshot={name}", *tables)
        _run_program("pg_dump", *options, *chosen, *_access(settings), password=_password(settings))
    return str(schema)


def _own_tables(connection: sa.Connection) -> list[str]:
    """The collector's tables, of whichever schema; an older one may lack some."""
    return [name for name in sa.inspect(connection).get_table_names() if name in _TABLES]


@contextmanager
def _snapshot(engine: sa.Engine) -> Iterator[tuple[sa.Connection, str]]:
    """One state of the database, by a name that pg_dump can ask for.

    No campaign's reports are emptied while it is looked at: that would show in a state from before, which then had
    neither reports nor a result. So the tables are held first and looked at afterwards, which pg_dump by itself does
    the other way round.
    """
    with engine.connect() as plain:
        connection = plain.execution_options(isolation_level="REPEATABLE READ")
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        connection.exec_driver_sql(f"LOCK TABLE {report.name} IN ACCESS SHARE MODE")
        yield connection, str(connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one())


def _restore_sqlite(copy_to: Callable[[IO[bytes]], None], settings: Settings, overwrite: bool) -> None:
    target = settings.data / DATABASE_FILE
    require_own_file(target)
    refuse_existing(target, overwrite=overwrite)
    if target.exists():
        require_unused(target)
    with whole(target, overwrite=overwrite) as unfinished:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            copy_to(file)
        for left in SIDE_FILES:
            target.with_name(target.name + left).unlink(missing_ok=True)


def _restore_postgresql(copy_to: Callable[[IO[bytes]], None], settings: Settings, overwrite: bool) -> None:
    """Into a database without a collector; or in place of one, in one transaction.

    One of a later version is not replaced: it may have tables that would stay behind.
    """
    with _engine(settings) as engine, tempfile.TemporaryFile() as dump:
        with engine.connect() as connection:
            if _own_tables(connection) and not overwrite:
                raise OutputExistsError(f"The database holds a collector: {OVERWRITE_REMEDY}")
            require_known(schema_of(connection))
        copy_to(dump)
        dump.seek(0)
        _run_program("pg_restore", "--list", stdin=dump)
        dump.seek(0)
        with engine.connect() as connection:
            require_alone(connection)
        _replace_tables(dump, settings)


def _replace_tables(dump: IO[bytes], settings: Settings) -> None:
    """Drop what is there and restore the dump, in one transaction.

    pg_restore could drop the tables of a dump by itself, but stumbles over the keys of partitions.
    """
    options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *_access(settings))
    environment = _environment(_password(settings))
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": complaints}
        with subprocess.Popen([_program("psql"), *options], env=environment, **streams) as psql:
            assert psql.stdin is not None
            complete = _send_script(dump, psql.stdin, complaints)
        if psql.returncode or not complete:
            complaints.seek(0)
            raise _failure("psql", complaints.read())


def _send_script(dump: IO[bytes], to: IO[bytes], complaints: IO[str]) -> bool:
    """Whether psql was given all that it needs; without the last word it changes nothing."""
    command = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-"]
    first = f"SET client_min_messages = warning; BEGIN; DROP TABLE IF EXISTS {', '.join(_TABLES)};\n"
    with suppress(BrokenPipeError), to:
        to.write(first.encode("ascii"))
        to.flush()
        if not subprocess.run(command, stdin=dump, stdout=to, stderr=complaints, check=False).returncode:
            to.write(b"COMMIT;\n")
            to.flush()
            return True
    return False


@contextmanager
def _engine(settings: Settings) -> Iterator[sa.Engine]:
    """The database as it is, not migrated."""
    engine = sa.create_engine(settings.database_url, hide_parameters=True)
    try:
        yield engine
    except DBAPIError as error:
        raise refusal_of(error) from error
    finally:
        engine.dispose()


def _access(settings: Settings) -> tuple[str, str]:
    """How PostgreSQL's programs find the database; everybody can see this, so the password is left out."""
    url = settings.database_url
    query = {name: value for name, value in url.query.items() if name != "password"}
    plain = sa.URL.create("postgresql", url.username, None, url.host, url.port, url.database, query)
    return "--no-password", f"--dbname={plain.render_as_string(hide_password=False)}"


def _password(settings: Settings) -> str | None:
    url = settings.database_url
    return url.password or (str(url.query["password"]) if "password" in url.query else None)


def _run_program(program: str, *options: str, stdin: IO[bytes] | None = None, password: str | None = None) -> None:
    """Run one of PostgreSQL's programs."""
    command = [_program(program), *options]
    done = subprocess.run(command, stdin=stdin, env=_environment(password), capture_output=True, text=True, check=False)
    if done.returncode:
        raise _failure(program, done.stderr)


def _program(program: str) -> str:
    """Where one of PostgreSQL's programs is: on the path, or where Debian keeps them."""
    elsewhere = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda path: int(path.parts[4]))
    executable = shutil.which(program) or (str(elsewhere[-1]) if elsewhere else None)
    if executable is None:
        raise EngineError(f"{program} is missing: install the client programs of PostgreSQL.")
    return executable


def _environment(password: str | None) -> dict[str, str]:
    return {**os.environ, **({} if password is None else {"PGPASSWORD": password})}


def _failure(program: str, stderr: str) -> EngineError:
    said = stderr.strip().splitlines() or [f"{program} failed without a word"]
    return EngineError(f"{said[0]}.")


def _sqlite(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
