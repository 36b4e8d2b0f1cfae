"""``blendp client ledger``: what taking part has cost."""

from __future__ import annotations

from typing import Annotated

from rich.table import Table

from blendp.cli.client.options import FOLDER, AsJson, DeviceFolder, opened
from blendp.cli.client.words import tell
from blendp.cli.console import print_json, results
from blendp.cli.options import privacy
from blendp.client import Ledger
from blendp.errors import ParameterError
from blendp.privacy import Budget

EXAMPLES = """Examples:

- `blendp client ledger`
- `blendp client ledger --lower-cap 5`
- `blendp client ledger --lower-cap 5 --lower-delta 1e-6 --json`
"""


def ledger(
    lower_cap: Annotated[
        float | None, privacy(help="Lower the lifetime cap to this epsilon; it can never be raised again.")
    ] = None,
    lower_delta: Annotated[float | None, privacy(help="With --lower-cap: lower delta too.")] = None,
    device: DeviceFolder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Show what every participation cost, and what remains of the cap for life."""
    if lower_delta is not None and lower_cap is None:
        raise ParameterError("lower_delta", lower_delta, "left out without --lower-cap", "Give both.")
    with opened(device) as held:
        if lower_cap is not None:
            held.lower_cap(Budget(lower_cap, held.ledger.cap.delta if lower_delta is None else lower_delta))
        kept = held.ledger
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
    epsilon, delta = (tuple(map(float, pair)) for pair in zip(kept.spent, kept.remaining, strict=True))
    tell(f"Spent ε = {epsilon[0]:g}, δ = {delta[0]:g} of {kept.cap}; ε = {epsilon[1]:g}, δ = {delta[1]:g} remain.")


def _plain(kept: Ledger) -> dict[str, object]:
    return {
        "cap": {"epsilon": kept.cap.epsilon, "delta": kept.cap.delta},
        "spent": dict(zip(("epsilon", "delta"), map(float, kept.spent), strict=True)),
        "remaining": dict(zip(("epsilon", "delta"), map(float, kept.remaining), strict=True)),
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
