"""Temporary folders that a killed process leaves behind, and the next one removes.

A process that is killed cannot tidy up after itself. So whoever makes a temporary folder holds a lock on it as long as
it is needed, which the system lets go however the process ends: a folder that can be locked has lost its maker. Where
folders cannot be locked (some network file systems, Windows) leftovers stay, since they cannot be told from folders in
use.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex


@dataclass(frozen=True)
class FolderName:
    """How the temporary folders for one purpose are called: a random token between ``before`` and ``after``."""

    before: str
    after: str = ""

    def new(self) -> str:
        """A name that no other folder has."""
        return f"{self.before}{token_hex(8)}{self.after}"

    def fits(self, name: str) -> bool:
        """Whether a folder is for this purpose."""
        return re.fullmatch(f"{re.escape(self.before)}[0-9a-f]{{16}}{re.escape(self.after)}", name) is not None


@dataclass(frozen=True)
class HeldFolder:
    """A folder that this process made and holds."""

    path: Path
    _lock: int | None
    _process: int

    def remove(self) -> None:
        """Remove the folder with all that is in it; a copy of the process (a fork) leaves it to its maker."""
        if os.getpid() != self._process:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        _let_go(self._lock)


def hold_folder(parent: Path, name: FolderName) -> HeldFolder:
    """Make a folder that only this user can look into, and hold it; an interrupt meanwhile leaves none."""
    while True:
        path = parent / name.new()
        try:
            path.mkdir(mode=0o700)
            lock = _locked(path, wait=True)
            # between the two steps another process may have taken it for a leftover
            if path.is_dir():
                return HeldFolder(path, lock, os.getpid())
            _let_go(lock)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise


def sweep(parent: Path, name: FolderName, rescue: Callable[[Path], None] = lambda _: None) -> None:
    """Remove this user's folders of that name that nobody holds, after ``rescue`` has taken out what is worth keeping.

    Nothing here can fail: what cannot be read or removed stays.
    """
    with suppress(OSError), os.scandir(parent) as entries:
        for path in [Path(entry.path) for entry in entries if name.fits(entry.name) and _is_own(entry)]:
            lock = _locked(path, wait=False)
            if lock is not None:
                with suppress(OSError):
                    rescue(path)
                    shutil.rmtree(path)
                _let_go(lock)


def _is_own(entry: os.DirEntry[str]) -> bool:
    return sys.platform != "win32" and entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == os.getuid()


def _locked(folder: Path, *, wait: bool) -> int | None:
    """The descriptor that locks the folder until it is closed; None if another holds it, or it cannot be locked."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        _let_go(descriptor)
        return None
    return descriptor


def _let_go(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
