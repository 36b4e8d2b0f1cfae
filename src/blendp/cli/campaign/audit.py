"""``blendp campaign audit``: which operator did what, and when."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

from msgspec.structs import astuple
from rich.table import Table
from rich.text import Text
from typer import Argument

from blendp.cli.campaign.options import AsJson, CollectorOptions, say
from blendp.cli.console import print_json, results
from blendp.cli.panels import output, takes_job
from blendp.errors import ParameterError
from blendp.outputs import refuse_existing, whole
from blendp.render.tables import write_table
from blendp.render.text import visible
from blendp.service.operator_client import OperatorClient
from blendp.wire.audit import AuditEntry, AuditTrail

EXAMPLES = """Examples:

- `blendp campaign audit`
- `blendp campaign audit trends-2026-11 --json`
- `blendp campaign audit --max-entries 100000 --csv audit.csv`
"""

_PAGE = 1000
_MAX_ENTRIES = 1_000_000


@takes_job
def audit(
    job: CollectorOptions,
    campaign: Annotated[str | None, Argument(help="Of this campaign alone.", metavar="[CAMPAIGN]")] = None,
    max_entries: Annotated[int, output(help="How many acts, the latest first.")] = 50,
    table: Annotated[Path | None, output("--csv", help="Write them to this CSV file.")] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier file of --csv.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what operators did: which token, what, when, with what outcome. Also of campaigns that are deleted.

    Acts of commands on the collector's own machine are those of `local`, acts of deadlines those of `itself`.
    """
    if not 1 <= max_entries <= _MAX_ENTRIES:
        raise ParameterError("max_entries", max_entries, f"from 1 to {_MAX_ENTRIES}", "50 is usual.")
    if table is not None:
        refuse_existing(table, overwrite=overwrite)
    with job.client() as client:
        entries = _entries(client, campaign, max_entries)
    if table is not None:
        _write(table, entries, overwrite=overwrite)
    if as_json:
        print_json(AuditTrail(entries).to_dict())
    elif table is not None:
        say(f"{len(entries):,} acts in {table}.")
    else:
        _show(entries)


def _entries(client: OperatorClient, campaign: str | None, max_entries: int) -> list[AuditEntry]:
    """So many entries, page after page."""
    entries: list[AuditEntry] = []
    before: int | None = None
    for _ in count():
        page = client.audit(campaign, before=before, max_entries=min(_PAGE, max_entries - len(entries)))
        entries += page
        if not page or len(entries) >= max_entries:
            return entries
        before = page[-1].number
        if before <= 1:
            return entries
    return entries


def _show(entries: list[AuditEntry]) -> None:
    if not entries:
        say("No operator did anything yet.")
        return
    shown = Table(header_style="bold", box=None, pad_edge=False)
    for column in ("time", "who", "act", "campaign", "outcome", "detail"):
        shown.add_column(column, overflow="fold")
    for entry in entries:
        who = entry.actor if entry.token is None else f"{entry.name or '?'} ({entry.token})"
        cells = (entry.time, who, entry.act, entry.campaign or "", entry.outcome, entry.detail)
        shown.add_row(*(Text(visible(cell)) for cell in cells))
    results.print(shown)


def _write(path: Path, entries: list[AuditEntry], *, overwrite: bool) -> None:
    """A table that no spreadsheet takes for formulas."""
    rows = ([None if cell is None else str(cell) for cell in astuple(entry)] for entry in entries)
    with whole(path, overwrite=overwrite) as draft:
        write_table(draft, AuditEntry.__struct_fields__, rows)
