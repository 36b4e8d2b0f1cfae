"""``blendp key list``: the public keys, to be put into clients."""

from __future__ import annotations

from typing import Annotated

from blendp.cli.console import print_json, results
from blendp.cli.panels import output
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, opened, stored

EXAMPLES = """Examples:

- `blendp key list`
- `blendp key list --json`
"""


def list(
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show the public keys, the newest last, and until when each is good."""
    with opened(stored(data, database)) as collector:
        known = collector.keys.known()
    if as_json:
        keys = [{"id": key.id, "key": key.public, "since": key.since, "until": key.until} for key in known]
        print_json({"keys": keys})
        return
    lines = [f"{'id':16}  {'since':10}  until"]
    for key in known:
        lines += [f"{key.id}  {key.since}  {key.until or 'further notice'}", f"  {key.public}"]
    results.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
