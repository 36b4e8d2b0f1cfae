"""Bars and spinners on the terminal, while a person waits. Where nobody looks, Rich is not loaded for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_ASKED_FOR = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""With one of these in the environment Rich decides whether somebody looks."""


class Steps:
    """A progress bar of named steps, or nothing where none is shown."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        """Show an empty bar."""
        self._progress = progress
        self._done = count()
        if progress is not None:
            self._task = progress.add_task("starting", total=total)

    def start(self, name: str) -> None:
        """The step of this name starts; the one before is done."""
        if self._progress is not None:
            self._progress.update(self._task, completed=next(self._done), description=name)

    def rows_read(self, rows: int) -> None:
        """So many rows have been read."""
        if self._progress is not None:
            self._progress.update(self._task, description=f"reading: {rows:,} rows")


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Show a bar while so many steps are taken."""
    if not _may_be_seen():
        yield Steps(None, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from blendp.cli.console import errors

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        yield Steps(progress, total)


@contextmanager
def spinner(description: str, *, shown: bool) -> Iterator[None]:
    """Show that something goes on, and for how long."""
    if not (shown and _may_be_seen()):
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from blendp.cli.console import errors

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        progress.add_task(description, total=None)
        yield


def _may_be_seen() -> bool:
    return sys.stderr.isatty() or any(name in os.environ for name in _ASKED_FOR)
