"""``blendp campaign list``: the campaigns there are."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from blendp.cli.campaign.options import AsJson, Server, say
from blendp.cli.console import print_json, results
from blendp.render.text import visible
from blendp.service.operator_client import DEFAULT_SERVER, OperatorClient

EXAMPLES = """Examples:

- `blendp campaign list`
- `blendp campaign list --server https://collector.example.org --json`
"""


def list(server: Server = DEFAULT_SERVER, as_json: AsJson = False) -> None:
    """Show every campaign of a collector: name, title, state. That is public, so no token is needed."""
    with OperatorClient(server, None) as client:
        answer = client.campaigns()
    if as_json:
        print_json(answer.to_dict())
        return
    if not answer.campaigns:
        say("There is no campaign yet.")
        return
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in ("name", "title", "state"):
        table.add_column(column, overflow="fold")
    for one in answer.campaigns:
        table.add_row(*(Text(visible(cell)) for cell in (one.campaign, one.title, one.state)))
    results.print(table)
