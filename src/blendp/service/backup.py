"""Backups: the whole database as it was at one moment, in one file, with the keys only if that is asked for.

A backup is a tar archive:

    backup.json  what it is: format, versions, which database, which keys there were, and the SHA-256 of all the rest;
                 signed by the collector's backup key (a DSSE envelope)
    database     the dump: an SQLite file, or PostgreSQL's custom format
    keys/NAME    the keys, one file each, if they were asked for

Whoever could alter a backup could put a token of their own into it, so one is restored only if the backup key signed
it. The private part of that key never leaves the folder of keys, with_keys or not; the public part is told with every
backup, to be kept elsewhere for the day on which the folder is gone.

Without the keys nobody can read opt-in records or sign anything, so such a backup may be kept elsewhere. Keys are read
before and after the dump: a campaign that is created or published meanwhile misses none that the dump needs.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import sqlalchemy as sa
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError

from blendp._version import __version__
from blendp.errors import EngineError, OutputExistsError, ParameterError
from blendp.outputs import refuse_existing, whole
from blendp.service.clock import Clock, utc_today
from blendp.service.collector import KEYS_FOLDER
from blendp.service.private_files import (
    SIDE_FILES,
    PrivateFiles,
    make_private,
    require_own_file,
    require_private_folder,
    touch_private,
)
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store import migrations, open_store
from blendp.service.store.partitions import PARTITIONS
from blendp.service.store.schema import metadata, report
from blendp.service.store.store import refusal_of
from blendp.wire import Envelope, SigningKey, VerifyKey
from blendp.wire.envelope import SignatureError
from blendp.wire.media_types import BACKUP_TYPE

FORMAT = "blendp/backup/1"
BACKUP_KEY = "backup.key"

_CARD, _DUMP, _KEYS = "backup.json", "database", "keys/"
_KEY_NAME = re.compile(r"(signing-[0-9a-f]{16}|campaign-[a-z0-9-]{1,64}\.(opt-in|pseudonym))\.key")
_MAX_CARD_BYTES, _MAX_KEY_BYTES, _PIECE = 32 << 20, 1 << 10, 1 << 20
_BUSY_SECONDS = 1.0
_REMEDY = "restore elsewhere, or ask to overwrite (--overwrite)."
_VERSION = "alembic_version"
_TABLES = (*(table.name for table in metadata.sorted_tables), _VERSION)


@dataclass(frozen=True)
class Backup:
    """What a backup says of itself."""

    blendp: str
    """The version that made it."""

    day: str
    """The day on which it was made."""

    schema: str
    """The version of the database's schema."""

    database: str
    """sqlite or postgresql."""

    sha256: dict[str, str]
    """Of every other member of the archive, by its name."""

    with_keys: bool
    keys: tuple[str, ...]
    """The names of all keys there were."""

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2).encode("utf-8") + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From JSON; raises ValueError if it is no card of a backup."""
        value = json.loads(data)
        if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
            raise ValueError("its format is not known")
        try:
            card = cls(**{**value, "keys": tuple(value["keys"]), "sha256": dict(value["sha256"])})
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError("its card is not complete") from error
        texts = (card.blendp, card.day, card.schema, card.database, *card.sha256.values(), *card.keys)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("its card is not complete")
        return card


def make_backup(
    settings: Settings, out: Path, *, with_keys: bool, clock: Clock = utc_today
) -> tuple[Backup, VerifyKey]:
    """Write a backup, readable by its owner alone, and tell what verifies it; the collector may be running."""
    refuse_existing(out, overwrite=False)
    files = _files(settings)
    signing = SigningKey.of_raw(files.ensure(BACKUP_KEY))
    with whole(out, overwrite=False) as unfinished:
        keys = _read_keys(files)
        dump = unfinished.with_name(f"{unfinished.name}.dump")
        touch_private(dump)
        schema = _dump_sqlite(settings, dump) if settings.database is None else _dump_postgresql(settings, dump)
        keys = {**_read_keys(files), **keys}
        entries = {_KEYS + name: f"{key.hex()}\n".encode("ascii") for name, key in sorted(keys.items()) if with_keys}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in entries.items()}
        with dump.open("rb") as dumped:
            digests[_DUMP] = hashlib.file_digest(dumped, "sha256").hexdigest()
        names = tuple(sorted(keys))
        card = Backup(__version__, clock().isoformat(), schema, _kind(settings), digests, with_keys, names)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
            _add(archive, _CARD, Envelope.sealed(BACKUP_TYPE, card.to_bytes(), [signing]).to_bytes())
            for name, content in entries.items():
                _add(archive, name, content)
            with dump.open("rb") as dumped:
                archive.addfile(_entry(_DUMP, dump.stat().st_size), dumped)
    return card, signing.public


def restore_backup(
    path: Path, settings: Settings, *, overwrite: bool, key: VerifyKey | None = None
) -> tuple[Backup, list[str]]:
    """Put a backup in place and bring it to the newest schema: what it was, and which keys are still missing.

    Nothing is changed, or made, before the backup is found to be signed by ``key``, or, if none is given, by the
    backup key that is in place; what is then put in place is what was signed, byte for byte.
    """
    files = _files(settings)
    with _opened(path) as archive:
        card = _read_card(archive, path, _verifier(files, key))
        keys = _archived_keys(archive, card, path)
        _require_fitting(card, settings, path)
        if keys and any(map(_KEY_NAME.fullmatch, files.names())) and not overwrite:
            raise OutputExistsError(f"{files.folder} holds keys: {_REMEDY}")
        dumped = archive.extractfile(_DUMP)
        assert dumped is not None
        _copy_verified(dumped, None, card, path)
        make_private(settings.data)
        if settings.database is None:
            _restore_sqlite(partial(_copy_verified, dumped, card=card, path=path), settings, overwrite)
        else:
            _restore_postgresql(partial(_copy_verified, dumped, card=card, path=path), settings, overwrite)
        for name, secret in keys.items():
            files.keep(name, secret)
    open_store(settings).close()
    return card, sorted(set(card.keys) - set(files.names()))


def _verifier(files: PrivateFiles, key: VerifyKey | None) -> VerifyKey:
    """The key that must have signed a backup."""
    if key is not None:
        return key
    secret = files.get(BACKUP_KEY)
    if secret is None:
        legal = f"given where {files.folder} has no {BACKUP_KEY}"
        remedy = "It is the public backup key that blendp backup told: without it anybody could have made the backup."
        raise ParameterError("key", None, legal, remedy)
    return SigningKey.of_raw(secret).public


def _copy_verified(dumped: IO[bytes], target: IO[bytes] | None, card: Backup, path: Path) -> None:
    """Copy the database, and refuse it afterwards if it is not the one that was signed."""
    dumped.seek(0)
    digest = hashlib.sha256()
    while piece := dumped.read(_PIECE):
        digest.update(piece)
        if target is not None:
            target.write(piece)
    if not hmac.compare_digest(digest.hexdigest(), card.sha256.get(_DUMP, "")):
        raise _no_backup(path, "Its database is damaged, or was changed after it was signed.")


def _files(settings: Settings) -> PrivateFiles:
    """The keys; refused if others could have changed them."""
    files = PrivateFiles(settings.data / KEYS_FOLDER)
    if settings.data.exists():
        require_private_folder(settings.data)
    files.require_private()
    return files


def _kind(settings: Settings) -> str:
    return "sqlite" if settings.database is None else "postgresql"


def _read_keys(files: PrivateFiles) -> dict[str, bytes]:
    keys = {}
    for name in filter(_KEY_NAME.fullmatch, files.names()):
        with suppress(ValueError):  # a key that is being destroyed is no key any more
            if (key := files.get(name)) is not None:
                keys[name] = key
    return keys


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    archive.addfile(_entry(name, len(data)), io.BytesIO(data))


def _dump_sqlite(settings: Settings, dump: Path) -> str:
    """One state of the database, as a single file, while others read and write."""
    with closing(_sqlite(settings.data / DATABASE_FILE)) as source, closing(_sqlite(dump)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
        return str(target.execute(f"SELECT version_num FROM {_VERSION}").fetchone()[0])


def _dump_postgresql(settings: Settings, dump: Path) -> str:
    options = ("--format=custom", "--no-owner", "--no-privileges", "--strict-names", f"--file={dump}")
    with _engine(settings) as engine, _snapshot(engine) as (connection, name):
        schema = str(connection.exec_driver_sql(f"SELECT version_num FROM {_VERSION}").scalar_one())
        there = sa.inspect(connection).get_table_names()  # of an earlier schema, if it was not yet migrated
        tables = (f"--table={PARTITIONS if table == report.name else table}" for table in _TABLES if table in there)
        chosen = (f"--snapshot={name}", *tables)
        _run_program("pg_dump", *options, *chosen, *_access(settings), password=_password(settings))
    return schema


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


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive, if it holds what a backup holds and nothing else."""
    try:
        with tarfile.open(path, "r:") as archive:
            names = [entry.name if entry.isreg() else f"{entry.name} (no file)" for entry in archive.getmembers()]
            odd = [name for name in names if name not in (_CARD, _DUMP) and not _is_key(name)]
            if odd or len(set(names)) != len(names) or not {_CARD, _DUMP} <= set(names):
                raise _no_backup(path, f"It holds {odd[0]!r}." if odd else "Its members are not those of one.")
            yield archive
    except tarfile.TarError as error:
        raise _no_backup(path, f"{error}.") from error


def _is_key(name: str) -> bool:
    return name.startswith(_KEYS) and _KEY_NAME.fullmatch(name.removeprefix(_KEYS)) is not None


def _read_card(archive: tarfile.TarFile, path: Path, key: VerifyKey) -> Backup:
    """What the backup says of itself, read only after its signature was verified."""
    try:
        signed = Envelope.from_bytes(_read(archive, _CARD, _MAX_CARD_BYTES))
        return Backup.from_bytes(signed.verified(BACKUP_TYPE, [key]))
    except SignatureError as error:
        raise SignatureError(
            f"{path} is not restored: the backup key {key.text} did not sign it. Somebody may have altered it, or it "
            f"is of another collector, whose public backup key (--key) is then needed."
        ) from error
    except (ValueError, RecursionError) as error:
        raise _no_backup(path, f"{error}; it may need another version of blendp.") from error


def _archived_keys(archive: tarfile.TarFile, card: Backup, path: Path) -> dict[str, bytes]:
    """The keys that were signed; every member of the archive must have been."""
    entries = {name: _read(archive, name, _MAX_KEY_BYTES) for name in archive.getnames() if _is_key(name)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in entries.items()}
    if {**digests, _DUMP: card.sha256.get(_DUMP)} != card.sha256:
        raise _no_backup(path, "One of its keys is damaged, or was changed after it was signed.")
    try:
        return {name.removeprefix(_KEYS): bytes.fromhex(text.decode("ascii")) for name, text in entries.items()}
    except ValueError:
        raise _no_backup(path, "One of its keys is damaged.") from None


def _read(archive: tarfile.TarFile, name: str, max_bytes: int) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read(max_bytes)


def _no_backup(path: Path, why: str) -> ParameterError:
    return ParameterError("FILE", str(path), f"a backup that blendp made ({FORMAT})", why)


def _require_fitting(card: Backup, settings: Settings, path: Path) -> None:
    if card.database != _kind(settings):
        raise ParameterError(
            "FILE",
            str(path),
            f"a backup of {_kind(settings)}",
            f"This is one of {card.database}, and backups of the two databases are not interchangeable.",
        )
    known = ScriptDirectory(str(Path(migrations.__file__).parent)).walk_revisions()
    if card.schema not in {revision.revision for revision in known}:
        raise ParameterError(
            "FILE",
            str(path),
            "of a schema that this version knows",
            f"It has schema {card.schema}: restore it with blendp {card.blendp} or a newer version.",
        )


def _restore_sqlite(copy_to: Callable[[IO[bytes]], None], settings: Settings, overwrite: bool) -> None:
    target = settings.data / DATABASE_FILE
    require_own_file(target)
    refuse_existing(target, overwrite=overwrite)
    if target.exists():
        _require_unused(target)
    with whole(target, overwrite=overwrite) as unfinished:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            copy_to(file)
        for left in SIDE_FILES:
            target.with_name(target.name + left).unlink(missing_ok=True)


def _require_unused(database: Path) -> None:
    """Raise if another process uses the database; its write-ahead log is gone afterwards."""
    with closing(_sqlite(database)) as connection:
        try:
            mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
        except sqlite3.DatabaseError as error:
            mode = "delete" if "not a database" in str(error) else "wal"
    if mode != "delete":
        raise EngineError(f"{database} is in use: stop the collector first.")


def _restore_postgresql(copy_to: Callable[[IO[bytes]], None], settings: Settings, overwrite: bool) -> None:
    """Into a database without a collector; or in place of one, in one transaction."""
    with _engine(settings) as engine, tempfile.TemporaryFile() as dump:
        tables = [name for name in sa.inspect(engine).get_table_names() if name in _TABLES]
        if tables and not overwrite:
            raise OutputExistsError(f"The database holds a collector: {_REMEDY}")
        copy_to(dump)
        dump.seek(0)
        _run_program("pg_restore", "--list", stdin=dump)
        dump.seek(0)
        _require_alone(engine)
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


def _require_alone(engine: sa.Engine) -> None:
    """Raise if another process uses the database."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with engine.connect() as connection:
        if connection.exec_driver_sql(others).scalar_one():
            raise EngineError("The database is in use: stop the collector, and whoever else uses it, first.")


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
