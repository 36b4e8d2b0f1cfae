"""What a device says on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from blendp.cli.console import results
from blendp.client import Summary
from blendp.report.text import visible


def tell(sentence: str) -> None:
    """Print a sentence."""
    results.print(visible(sentence), highlight=False, markup=False, soft_wrap=True)


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and what they stand for."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name, style="bold"), Text(visible(value)))
    results.print(table)


def summary_words(summary: Summary) -> str:
    """What became of what was tried."""
    return (
        f"Sent {summary.sent}, refused {summary.refused}, dropped {summary.dropped}; {summary.waiting} still waiting."
    )
