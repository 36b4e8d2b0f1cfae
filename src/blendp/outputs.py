"""Outputs that appear whole or not at all, and never over an earlier result by accident.

An output is made in a hidden folder beside its target and takes the target's place in one step: whenever the process
is killed, the target is the earlier output or the new one. The hidden folder is then removed, if need be by the next
output to the same target.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blendp.errors import OutputExistsError
from blendp.leftovers import FolderName, hold_folder, sweep
from blendp.spelling import option

_OLD = "earlier-output-"
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
_TURNS = 100


def refuse_existing(target: Path, *, overwrite: bool, own_files: Collection[str] = ()) -> None:
    """Raise if writing ``target`` would destroy an earlier result, or anything that blendp did not write.

    With ``own_files`` the target is a directory, which may hold files of these names only; without, a file. A folder
    that cannot be written to is refused too, so that no work is done in vain.
    """
    folder = next(parent for parent in target.absolute().parents if parent.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "this folder cannot be written to, name another", str(folder))
    if own_files:
        _refuse_directory(target, overwrite, own_files)
    elif target.is_dir():
        raise OutputExistsError(f"{target} is a directory: name a file.")
    elif target.exists() and not overwrite:
        raise OutputExistsError(f"{target} exists already: {_remedy()}")


def _remedy() -> str:
    return f"name another, or ask to overwrite it ({option('overwrite')})."


def _refuse_directory(target: Path, overwrite: bool, own_files: Collection[str]) -> None:
    if target.absolute() == Path.cwd():
        raise OutputExistsError(f"{target} is the current directory: name a new one for the results.")
    try:
        file_names = {path.name for path in target.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise OutputExistsError(f"{target} is a file: name a directory.") from None
    if foreign := sorted(file_names - set(own_files)):
        raise OutputExistsError(f"{target} holds files that blendp did not write ({foreign[0]}): name another.")
    if file_names and not overwrite:
        raise OutputExistsError(f"{target} holds an earlier result: {_remedy()}")


@contextmanager
def whole(target: Path, *, overwrite: bool, own_files: Collection[str] = ()) -> Iterator[Path]:
    """A path near ``target`` to make the output at; it takes the target's place at the end, or vanishes.

    With ``own_files`` the output is a directory, which exists already; without, a file. Missing parents are made.
    """
    destination = Path(os.path.realpath(target))
    name = FolderName(f".{destination.name}.", ".partial")
    sweep(destination.parent, name, lambda leftover: _restore(leftover, destination))
    refuse_existing(target, overwrite=overwrite, own_files=own_files)
    with _blamed_on(target, name):
        destination.parent.mkdir(parents=True, exist_ok=True)
        folder = hold_folder(destination.parent, name)
        try:
            output = folder.path / destination.name
            if own_files:
                output.mkdir()
            yield output
            _to_disk(output)
            for turn in range(_TURNS):
                refuse_existing(target, overwrite=overwrite, own_files=own_files)
                if _put(output, destination, folder.path / f"{_OLD}{turn:02}", overwrite):
                    break
            else:
                raise OutputExistsError(f"{target} is written to by others all the time: name another.")
            _folder_to_disk(destination.parent)
        finally:
            _restore(folder.path, destination)
            folder.remove()


@contextmanager
def _blamed_on(target: Path, name: FolderName) -> Iterator[None]:
    """Let errors of the system name the target, where they name a hidden folder or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno and (error.filename is None or any(map(name.fits, Path(error.filename).parts))):
            error.filename, error.filename2 = str(target), None
        raise


def _put(output: Path, target: Path, old: Path, overwrite: bool) -> bool:
    """Put what was made in the target's place; False if another look at the target is due."""
    try:
        if output.is_dir():
            output.rename(target)
        elif overwrite:
            output.replace(target)
        else:
            _put_new_file(output, target)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        if not overwrite:
            return False
        if not _exchange(output, target):
            with suppress(FileNotFoundError):
                target.rename(old)
            return False
    return True


def _put_new_file(output: Path, target: Path) -> None:
    """Give a file its name unless something has it: a link can do that in one step, where there are links."""
    try:
        target.hardlink_to(output)
    except FileExistsError:
        raise
    except OSError:
        output.replace(target)


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths exchange what they name, in one step; False where the system or the file system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    swap, at_cwd = 2, -100
    with suppress(AttributeError, OSError):
        system = ctypes.CDLL(None)
        if sys.platform == "linux":
            return bool(system.renameat2(at_cwd, names[0], at_cwd, names[1], swap) == 0)
        if sys.platform == "darwin":
            return bool(system.renamex_np(*names, swap) == 0)
    return False


def _restore(leftover: Path, target: Path) -> None:
    """Where exchanging took two steps and only the first was made, give the earlier output its place again."""
    olds = sorted(leftover.glob(f"{_OLD}*"))
    if olds and not target.exists():
        olds[-1].rename(target)


def _to_disk(output: Path) -> None:
    """Have the system write an output to the disk, so that a power cut finds it whole too."""
    if not output.is_dir():
        _sync(output)
    for folder, _, files in os.walk(output):
        for file in files:
            _sync(Path(folder) / file)
        _folder_to_disk(Path(folder))


def _folder_to_disk(path: Path) -> None:
    """The same for the names in a folder, where the system lets a folder be written."""
    with suppress(OSError):
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
