"""Outputs that appear whole or not at all, and never over an earlier result by accident."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from blendp.errors import OutputExistsError

_REMEDY = "name another, or ask to overwrite it (--overwrite)."


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
        raise OutputExistsError(f"{target} exists already: {_REMEDY}")


def _refuse_directory(target: Path, overwrite: bool, own_files: Collection[str]) -> None:
    if target.absolute() == Path.cwd():
        raise OutputExistsError(f"{target} is the current directory: name a new one for the results.")
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputExistsError(f"{target} is a file: name a directory.")
    held = {path.name for path in target.iterdir()}
    if foreign := sorted(held - set(own_files)):
        raise OutputExistsError(f"{target} holds files that blendp did not write ({foreign[0]}): name another.")
    if held and not overwrite:
        raise OutputExistsError(f"{target} holds an earlier result: {_REMEDY}")


@contextmanager
def whole(target: Path, *, overwrite: bool, own_files: Collection[str] = ()) -> Iterator[Path]:
    """A path beside ``target`` to make the output at; it takes the target's place at the end, or vanishes.

    With ``own_files`` the output is a directory, which exists already; without, a file. Missing parents are made.
    """
    refuse_existing(target, overwrite=overwrite, own_files=own_files)
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    mark = secrets.token_hex(4)
    made = target.with_name(f".{target.name}.{mark}.partial")
    old = target.with_name(f".{target.name}.{mark}.old")
    try:
        if own_files:
            made.mkdir()
        yield made
        refuse_existing(target, overwrite=overwrite, own_files=own_files)
        if target.exists():
            target.rename(old)
        made.rename(target)
    except BaseException:
        _remove(made)
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
