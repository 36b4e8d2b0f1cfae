"""``blendp campaign release``: the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from rich.console import Console
from rich.table import Table
from rich.text import Text

from blendp.cli.campaign.options import AsJson, CampaignName, CollectorOptions, Yes, agreed, require_answer, say, warn
from blendp.cli.console import errors, print_json, results
from blendp.cli.panels import output, takes_job
from blendp.render.text import percent, plain_label
from blendp.spelling import counted
from blendp.wire.checks import Checks, FlaggedRecord, InfluenceLine

EXAMPLES = """Examples:

- `blendp campaign release trends-2026-11 --preview`
- `blendp campaign release trends-2026-11`
- `blendp campaign release trends-2026-11 --yes --json`
"""

_DIGITS = 2


@takes_job
def release(
    job: CollectorOptions,
    campaign: CampaignName,
    preview: Annotated[
        bool, output("--preview", help="Show the checks alone: nothing is signed, and clients keep reporting.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Compute the result, publish it, and delete reports and pseudonyms. No more reports are taken.

    Shows the checks first, and asks: the groups' sizes, whether they tell the same story, flagged records, what lying
    clients could have done, cautions. Refused below the campaign's minimum of clients.
    """
    if not (yes or preview):
        require_answer("It signs and publishes the result for good; --preview shows the checks alone.")
    with job.client() as client:
        if preview or not yes:
            _show(checks := client.preview(campaign), results if preview and not as_json else errors)
            if preview:
                if as_json:
                    print_json(checks.to_dict())
                return
            if not agreed(f"Sign and publish the result of {campaign} for good?", "Nothing was released."):
                return
        released = client.release(campaign)
    if yes:
        _show(released, errors)
    if as_json:
        print_json(released.to_dict())
        return
    clients = counted(released.clients, "client", "clients")
    say(f"{campaign}: the result of {clients} is public. Release {released.release_sha256}.")
    say(f"Next: blendp campaign export {campaign} --out {campaign}")


def _show(checks: Checks, console: Console) -> None:
    """The checks as a table, and every caution."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, sentence in check_rows(checks):
        table.add_row(Text(name, style="bold"), Text(sentence))
    console.print(table)
    for caution in checks.cautions:
        warn(f"Caution: {caution}")


def check_rows(checks: Checks) -> Iterator[tuple[str, str]]:
    """The checks, a name and a line each."""
    people = counted(checks.opt_in_people, "opt-in person", "opt-in people")
    clients = counted(checks.clients, "client", "clients")
    yield "people", f"{people}, {clients}; a list of {counted(checks.records, 'record', 'records')}"
    agreement = checks.agreement
    if agreement is None:
        yield "groups", "not compared: this method does not"
    else:
        yield "groups", agreement.statement
        for number, one in enumerate(agreement.flagged):
            yield "" if number else "flagged", _flagged(one)
        left = agreement.flagged_records - len(agreement.flagged)
        if left:
            yield "", f"and {left:,} more"
    for number, line in enumerate(checks.influence):
        yield "" if number else "liars", _liars(line)
    yield "cautions", f"{len(checks.cautions)}, below" if checks.cautions else "none"


def _flagged(one: FlaggedRecord) -> str:
    z = "unknown" if one.z is None else f"{one.z:+.1f}"
    label = plain_label(one.query, one.url, 60)
    return f"{label}: opt-in people say {_percent(one.opt_in)}, clients {_percent(one.client)} (z = {z})"


def _liars(line: InfluenceLine) -> str:
    share, own, capped = (f"{100 * value:.2g}" for value in (line.share, line.clients, line.capped))
    return f"{share} % of the clients, lying together, could raise a record by {capped} points ({own} by clients alone)"


def _percent(value: float | None) -> str:
    return "nothing" if value is None else f"{percent(value, _DIGITS)} %"
