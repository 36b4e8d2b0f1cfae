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
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Self

from blendp._version import __version__
from blendp.errors import OutputExistsError, ParameterError
from blendp.outputs import refuse_existing, whole
from blendp.service.clock import Clock, utc_today
from blendp.service.collector import KEYS_FOLDER
from blendp.service.private_files import PrivateFiles, make_private, require_private_folder, touch_private
from blendp.service.settings import Settings
from blendp.service.store import open_store
from blendp.service.store.dumps import OVERWRITE_REMEDY, dump_database, restore_database
from blendp.service.store.migrations import known_schemas, migrate
from blendp.wire import Envelope, SigningKey, VerifyKey
from blendp.wire.envelope import SignatureError
from blendp.wire.media_types import BACKUP_TYPE

FORMAT = "blendp/backup/1"
BACKUP_KEY = "backup.key"

_CARD, _DUMP, _KEYS = "backup.json", "database", "keys/"
_KEY_NAME = re.compile(r"(signing-[0-9a-f]{16}|campaign-[a-z0-9-]{1,64}\.(opt-in|pseudonym))\.key")
_MAX_CARD_BYTES, _MAX_KEY_BYTES, _PIECE = 32 << 20, 1 << 10, 1 << 20


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
        schema = dump_database(settings, dump)
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
            raise OutputExistsError(f"{files.folder} holds keys: {OVERWRITE_REMEDY}")
        dumped = archive.extractfile(_DUMP)
        assert dumped is not None
        _copy_verified(dumped, None, card, path)
        make_private(settings.data)
        restore_database(partial(_copy_verified, dumped, card=card, path=path), settings, overwrite=overwrite)
        for name, secret in keys.items():
            files.keep(name, secret)
    open_store(settings, migrate).close()
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
    if card.schema not in known_schemas():
        raise ParameterError(
            "FILE",
            str(path),
            "of a schema that this version knows",
            f"It has schema {card.schema}: restore it with blendp {card.blendp} or a newer version.",
        )
