"""``blendp client list``: the campaigns of a collector, and what this device did in them."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from blendp.cli.client.options import AsJson, DeviceOptions
from blendp.cli.client.sentences import tell
from blendp.cli.console import print_json, results
from blendp.cli.panels import takes_job
from blendp.client import Listing, Participation
from blendp.render.text import visible

EXAMPLES = """Examples:

- `blendp client list --server https://collector.example.org --key 8f0c...`
- `blendp client list --json`
"""

_COLUMNS = ("campaign", "title", "organisation", "state", "until", "you")


@takes_job
def list(job: DeviceOptions, as_json: AsJson = False) -> None:
    """Show the latest campaigns of a collector: what is asked, by whom, until when, and whether you took part.

    Works before consent. The signed terms of all of them are fetched and verified, so the collector does not learn
    which one you mean; the states are its word alone.
    """
    with job.opened() as device:
        rows = [_row(listing, device.participation(listing.campaign)) for listing in device.campaigns()]
    if as_json:
        print_json({"campaigns": rows})
        return
    if not rows:
        tell("There is no campaign yet.")
        return
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in _COLUMNS:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(row[column] or "-"))) for column in _COLUMNS))
    results.print(table)
    for row in rows:
        if row["problem"]:
            tell(f"{row['campaign']} is not believed: {row['problem']}")


def _row(listing: Listing, done: Participation | None) -> dict[str, Any]:
    terms = None if listing.offer is None else listing.offer.terms
    return {
        "campaign": listing.campaign,
        "title": None if terms is None else terms.title,
        "organisation": None if terms is None else terms.organisation,
        "state": listing.state,
        "until": None if terms is None else terms.opt_in_until if listing.state == "opt-in" else terms.reports_until,
        "you": _part(done),
        "problem": listing.problem or None,
    }


def _part(done: Participation | None) -> str | None:
    """What this device did."""
    if done is None:
        return None
    what = "not drawn" if done.silent else "reported" if done.group == "client" else "opted in"
    return f"{what} {done.day}"
