"""``blendp client ledger``: what taking part has cost."""

from __future__ import annotations

from typing import Annotated

from rich.table import Table

from blendp.cli.client.options import FOLDER, AsJson, DeviceFolder, opened
from blendp.cli.client.sentences import amount_words, plain, remaining_plain, remaining_sentence, tell
from blendp.cli.console import print_json, results
from blendp.cli.panels import privacy
from blendp.client import Ledger
from blendp.client.ledger import PERIOD_DAYS
from blendp.errors import ParameterError
from blendp.privacy import Budget

EXAMPLES = """Examples:

- `blendp client ledger`
- `blendp client ledger --lower-cap 5`
- `blendp client ledger --lower-year 4 --lower-cap 20`
- `blendp client ledger --lower-cap 5 --lower-delta 1e-6 --json`
"""


def ledger(
    lower_cap: Annotated[
        float | None, privacy(help="Lower the cap for life to this epsilon; it can never be raised again.")
    ] = None,
    lower_delta: Annotated[float | None, privacy(help="With --lower-cap: lower delta too.")] = None,
    lower_year: Annotated[
        float | None, privacy(help="Lower the cap for a year to this epsilon; it can never be raised again.")
    ] = None,
    lower_year_delta: Annotated[float | None, privacy(help="With --lower-year: lower delta too.")] = None,
    device: DeviceFolder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Show what every participation cost, and what remains of the caps for a year and for life.

    A year is the last 365 days. Both caps can be lowered, never raised.
    """
    with opened(device) as known:
        before = known.ledger
        cap = _lower(before.cap, "lower_cap", lower_cap, "lower_delta", lower_delta)
        yearly = _lower(before.yearly, "lower_year", lower_year, "lower_year_delta", lower_year_delta)
        if cap is not None or yearly is not None:
            known.lower_cap(cap, yearly=yearly)
        kept = known.ledger
    if as_json:
        print_json(_plain(kept))
        return
    if kept.entries:
        table = Table(header_style="bold", box=None, pad_edge=False)
        for column in ("day", "campaign", "as", "ε", "δ"):
            table.add_column(column, justify="right" if column in "εδ" else "left")
        for entry in kept.entries:
            cost = (f"{entry.budget.epsilon:g}", f"{entry.budget.delta:g}")
            table.add_row(entry.day, entry.campaign, entry.group, *cost)
        results.print(table)
    tell(f"Spent {amount_words(kept.spent_this_year)} of {kept.yearly} in the last {PERIOD_DAYS} days.")
    tell(f"Spent {amount_words(kept.spent)} of {kept.cap} for life.")
    tell(remaining_sentence(kept))


def _lower(before: Budget, name: str, epsilon: float | None, delta_name: str, delta: float | None) -> Budget | None:
    """The cap that was asked for; None if none was."""
    if epsilon is None:
        if delta is not None:
            option = name.replace("_", "-")
            raise ParameterError(delta_name, delta, f"left out without --{option}", "Give both.")
        return None
    try:
        return Budget(epsilon, before.delta if delta is None else delta)
    except ParameterError as error:
        parameter = name if error.parameter == "epsilon" else delta_name
        raise ParameterError(parameter, error.value, error.legal, error.remedy) from None


def _plain(kept: Ledger) -> dict[str, object]:
    return {
        "cap": plain(kept.cap),
        "yearly": plain(kept.yearly),
        "spent": plain(kept.spent),
        "spent_this_year": plain(kept.spent_this_year),
        **remaining_plain(kept),
        "entries": [
            {
                "campaign": entry.campaign,
                "group": entry.group,
                "epsilon": entry.budget.epsilon,
                "delta": entry.budget.delta,
                "day": entry.day,
            }
            for entry in kept.entries
        ],
    }
