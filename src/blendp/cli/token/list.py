"""``blendp token list``: the tokens there are, and those there were."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from rich.table import Table
from rich.text import Text

from blendp.cli.console import print_json, results
from blendp.cli.panels import output
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, opened, stored
from blendp.render.text import visible

EXAMPLES = """Examples:

- `blendp token list`
- `blendp token list --data /var/lib/blendp --json`
"""


def list(
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show every token by its id: whose it is, what it may do, since when, and whether it was revoked."""
    with opened(stored(data, database)) as collector:
        tokens = collector.tokens.all()
    if as_json:
        print_json({"tokens": [asdict(token) for token in tokens]})
        return
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in ("id", "name", "scopes", "created", "revoked"):
        table.add_column(column)
    for token in tokens:
        table.add_row(
            token.id, Text(visible(token.name)), ", ".join(token.scopes), token.created, token.revoked or "no"
        )
    results.print(table)
