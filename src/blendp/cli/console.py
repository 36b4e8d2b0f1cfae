"""Where commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleDimensions

from blendp.cli.lost_output import printing

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
        with printing():
            super().print(*objects, crop=crop, **settings)


results = WholeConsole(emoji=False)
errors = Console(stderr=True, emoji=False)


def print_json(value: Any) -> None:
    """Print a value for programs."""
    only_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=only_ascii, indent=2, allow_nan=False)
    with printing():
        sys.stdout.write(f"{text}\n")


def tell_quality(log: EmbeddedLog | StagedLog | SparkLog, levels_asked: int | None) -> None:
    """Say how the log was read, to the person who holds it: not part of any release."""
    errors.print(str(log.quality), style="dim", markup=False, highlight=False)
    if log.levels == 1 and levels_asked is None:
        errors.print("The log has no URL column: queries alone are counted (--url-column names one).", style="yellow")
