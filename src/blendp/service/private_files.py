"""Secrets in files of their own, readable by their owner alone: never in the database, so never in its backups."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KEY_BYTES = 32


def make_private(folder: Path) -> None:
    """A folder that only its owner can look into; one that exists stays as it is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def touch_private(file: Path) -> None:
    """An empty file that only its owner can read and write; one that exists stays as it is."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


@dataclass(frozen=True)
class PrivateFiles:
    """A folder of keys, one file each, as hexadecimal digits."""

    folder: Path

    def keep(self, name: str, key: bytes) -> None:
        """Keep a key: on the disk when this returns, whole or not at all."""
        make_private(self.folder)
        target, made = self.folder / name, self.folder / f".{name}.{secrets.token_hex(4)}"
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(key.hex() + "\n")
                file.flush()
                os.fsync(descriptor)
            made.replace(target)
        except OSError:
            made.unlink(missing_ok=True)
            raise
        self._sync_folder()

    def new(self, name: str) -> bytes:
        """A new key of 32 bytes, kept."""
        key = secrets.token_bytes(KEY_BYTES)
        self.keep(name, key)
        return key

    def get(self, name: str) -> bytes | None:
        """The key of this name, or None if it was, or is just being, destroyed."""
        try:
            key = bytes.fromhex((self.folder / name).read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
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
