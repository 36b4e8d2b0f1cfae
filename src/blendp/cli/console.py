"""Where commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from blendp.engines import EmbeddedLog

results = Console()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """Print a value for programs."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar of named steps: call with the name of the step that starts."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("starting", total=total)
        done = count()

        def start(name: str) -> None:
            progress.update(task, completed=next(done), description=name)

        yield start


def tell_quality(log: EmbeddedLog) -> None:
    """Say how the log was read, to the person who holds it: not part of any release."""
    errors.print(str(log.quality), style="dim", markup=False, highlight=False)
    if log.levels == 1:
        errors.print("The log has no URL column: queries alone are counted (--url-column names one).", style="yellow")
