"""What a device says on the terminal."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from blendp.cli.console import results
from blendp.client import Item, Ledger, Summary
from blendp.client.ledger import Amount
from blendp.privacy import Budget
from blendp.render.text import visible
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


def remaining_sentence(ledger: Ledger) -> str:
    """What may still be spent."""
    year, life = amount_words(ledger.remaining_this_year), amount_words(ledger.remaining)
    return f"Remaining: {year} this year, {life} for life."


def amount_words(amount: Amount) -> str:
    """Epsilon and delta."""
    return f"ε = {float(amount[0]):g}, δ = {float(amount[1]):g}"


def remaining_plain(ledger: Ledger) -> dict[str, dict[str, float]]:
    """What may still be spent, for programs."""
    return {"remaining_this_year": plain(ledger.remaining_this_year), "remaining": plain(ledger.remaining)}


def plain(amount: Amount | Budget) -> dict[str, float]:
    """Epsilon and delta by their names."""
    epsilon, delta = (amount.epsilon, amount.delta) if isinstance(amount, Budget) else amount
    return {"epsilon": float(epsilon), "delta": float(delta)}


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
    own_items = [item for item in items if item.campaign == campaign and item.kind == kind]
    state, reason = (own_items[-1].state, own_items[-1].reason) if own_items else ("dropped", "gone")
    if state == "waiting":
        return "See what will be sent: blendp client show; send it: blendp client send."
    if state == "dropped":
        return f"It was dropped ({reason}): nothing will be sent."
    deleted = any(item.campaign == campaign and item.kind.endswith("deletion") for item in items)
    asked = ", and its deletion was asked for" if deleted else ""
    was = "sent" if state == "sent" else f"refused ({reason_words(own_items[-1])})"
    return f"It was {was}{asked}: nothing more will be sent."
