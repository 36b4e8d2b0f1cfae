"""Where commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleDimensions
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from blendp.engines import EmbeddedLog, StagedLog
    from blendp.engines.spark import SparkLog

_EVERYTHING, _LINES = 1 << 20, 25
"""The size of what is no terminal."""


class WholeConsole(Console):
    """A console that cuts nothing: what goes to a file or a program is as wide as it is."""

    @property  # type: ignore[misc]  # Rich also lets it be set
    def size(self) -> ConsoleDimensions:
        """That of the terminal."""
        return super().size if self.is_terminal else ConsoleDimensions(_EVERYTHING, _LINES)

    def print(self, *objects: Any, crop: bool = False, **settings: Any) -> None:
        """A table that needs more room than there is goes on in the next line, as the terminal wraps it."""
        super().print(*objects, crop=crop, **settings)


results = WholeConsole()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """Print a value for programs."""
    only_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=only_ascii, indent=2, allow_nan=False) + "\n")


class Steps:
    """A progress bar of named steps."""

    def __init__(self, progress: Progress, total: int) -> None:
        """Show an empty bar."""
        self._progress = progress
        self._task = progress.add_task("starting", total=total)
        self._done = count()

    def start(self, name: str) -> None:
        """The step of this name starts; the one before is done."""
        self._progress.update(self._task, completed=next(self._done), description=name)

    def rows_read(self, rows: int) -> None:
        """So many rows have been read."""
        self._progress.update(self._task, description=f"reading: {rows:,} rows")


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Show a bar while so many steps are taken."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        yield Steps(progress, total)


@contextmanager
def spinner(description: str, *, shown: bool) -> Iterator[None]:
    """Show that something goes on, and for how long."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not (shown and errors.is_terminal)) as progress:
        progress.add_task(description, total=None)
        yield


def tell_quality(log: EmbeddedLog | StagedLog | SparkLog, levels_asked: int | None) -> None:
    """Say how the log was read, to the person who holds it: not part of any release."""
    errors.print(str(log.quality), style="dim", markup=False, highlight=False)
    if log.levels == 1 and levels_asked is None:
        errors.print("The log has no URL column: queries alone are counted (--url-column names one).", style="yellow")
