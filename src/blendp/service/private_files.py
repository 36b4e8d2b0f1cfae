"""Secrets in files of their own, readable by their owner alone: never in the database, so never in its backups."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from blendp.errors import ParameterError

KEY_BYTES = 32
SIDE_FILES = ("-wal", "-shm", "-journal")
"""What the embedded database keeps beside its file."""

_MAX_FILE_BYTES = 1 << 10
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def make_private(folder: Path) -> None:
    """A folder that only its owner can look into; one that exists is refused unless it is that already."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_private_folder(folder)


def touch_private(file: Path) -> None:
    """An empty file that only its owner can read and write; one that exists stays as it is, if it is ours."""
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600))
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    require_own_file(file)


def require_private_folder(folder: Path) -> None:
    """Raise :class:`ParameterError` if others own a folder or may look into it: they would read, or put, what counts.

    A symbolic link to it is as good as the folder, unless others set it.
    """
    if sys.platform == "win32":
        return
    for status in (folder.lstat(), folder.stat()):
        _require_owner(folder, status)
    if stat.S_IMODE(folder.stat().st_mode) & _OTHERS:
        mode = f"{stat.S_IMODE(folder.stat().st_mode):04o}"
        legal = f"a folder that its owner alone may look into (mode 0700, and it has {mode})"
        remedy = f"Look whether others put or changed something there, then run: chmod 700 {quote(str(folder))}"
        raise ParameterError("folder", str(folder), legal, remedy)


def require_own_file(file: Path) -> None:
    """Raise :class:`ParameterError` if there is something of this name that is no file of ours, such as a link."""
    try:
        status = file.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        legal = "a file, neither a symbolic link nor anything else"
        raise ParameterError("file", str(file), legal, "Put the file itself there, if it is yours, or remove this.")
    if sys.platform != "win32":
        _require_owner(file, status)


def _require_owner(path: Path, status: os.stat_result) -> None:
    if sys.platform == "win32" or status.st_uid in (os.geteuid(), 0):
        return
    name = quote(str(path))
    raise ParameterError(
        "folder" if stat.S_ISDIR(status.st_mode) else "file",
        str(path),
        f"owned by user {os.geteuid()}, who runs this, or by root (user {status.st_uid} owns it)",
        f"Run this as its owner, or, if you trust what is there: chown -hR {os.geteuid()} {name}",
    )


@dataclass(frozen=True)
class PrivateFiles:
    """A folder of keys, one file each, as hexadecimal digits."""

    folder: Path

    def require_private(self) -> None:
        """Raise :class:`ParameterError` unless folder and keys, if there are any, are ours alone."""
        if self.folder.is_symlink():
            raise ParameterError("folder", str(self.folder), "no symbolic link", "Put the folder itself there.")
        if self.folder.exists():
            require_private_folder(self.folder)
            for name in self.names():
                require_own_file(self.folder / name)

    def keep(self, name: str, key: bytes) -> None:
        """Keep a key: on the disk when this returns, whole or not at all."""
        self._write(name, key, os.replace)

    def _write(self, name: str, key: bytes, put: Callable[[Path, Path], None]) -> None:
        """Write a key beside its target and put it there."""
        self.require_private()
        make_private(self.folder)
        partial = self.folder / f".{name}.{secrets.token_hex(4)}"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(key.hex() + "\n")
                file.flush()
                os.fsync(descriptor)
            put(partial, self.folder / name)
        finally:
            partial.unlink(missing_ok=True)
        self._sync_folder()

    def new(self, name: str) -> bytes:
        """A new key of 32 bytes, kept."""
        key = secrets.token_bytes(KEY_BYTES)
        self.keep(name, key)
        return key

    def ensure(self, name: str) -> bytes:
        """The key of this name, made if there is none; whoever asks at the same time is given the same."""
        if (key := self.get(name)) is None:
            with suppress(FileExistsError):
                self._write(name, secrets.token_bytes(KEY_BYTES), os.link)
            key = self.get(name)
        if key is None:
            raise ParameterError("file", str(self.folder / name), f"a key of {KEY_BYTES} bytes", "Put it back.")
        return key

    def get(self, name: str) -> bytes | None:
        """The key of this name, or None if it was, or is just being, destroyed."""
        try:
            descriptor = os.open(self.folder / name, os.O_RDONLY | _NO_LINKS)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, encoding="ascii") as file:
            key = bytes.fromhex(file.read(_MAX_FILE_BYTES))
        return key if len(key) == KEY_BYTES else None

    def destroy(self, name: str) -> None:
        """Overwrite and remove a key; nothing if it is gone already."""
        path = self.folder / name
        with suppress(FileNotFoundError):
            with path.open("r+b") as file:
                file.write(b" " * path.stat().st_size)
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
            self._sync_folder()

    def names(self) -> list[str]:
        """Which keys there are."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))

    def _sync_folder(self) -> None:
        with suppress(OSError):
            descriptor = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
