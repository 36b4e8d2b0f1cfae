"""What a device says on the terminal."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from blendp.cli.console import results
from blendp.client import Item, Summary
from blendp.report.text import visible
from blendp.wire.problems import PROBLEMS


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


def moment(seconds: float) -> str:
    """A moment of UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def reason_words(item: Item) -> str:
    """Why something was refused, dropped or still waits."""
    if item.reason == "network":
        return "its collector cannot be reached"
    problem = PROBLEMS.get(item.reason)
    return f"{item.reason}: {problem.title}" if problem is not None else item.reason or "not answered yet"


def future(items: Sequence[Item], campaign: str, kind: str) -> str:
    """What becomes of what this device made for a campaign."""
    made = [item for item in items if item.campaign == campaign and item.kind == kind]
    state, reason = (made[-1].state, made[-1].reason) if made else ("dropped", "gone")
    if state == "waiting":
        return "See what will be sent: blendp client show; send it: blendp client send."
    if state == "dropped":
        return f"It was dropped ({reason}): nothing will be sent."
    deleted = any(item.campaign == campaign and item.kind.endswith("deletion") for item in items)
    asked = ", and its deletion was asked for" if deleted else ""
    was = "sent" if state == "sent" else f"refused ({reason_words(made[-1])})"
    return f"It was {was}{asked}: nothing more will be sent."
