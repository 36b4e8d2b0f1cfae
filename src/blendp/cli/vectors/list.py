"""``blendp vectors list``: which vectors there are."""

from __future__ import annotations

from typing import Annotated

from blendp.cli.console import print_json, results
from blendp.cli.panels import output
from blendp.cli.vectors.folder import VectorFolder, files_of

EXAMPLES = """Examples:

- `blendp vectors list`
- `blendp vectors list --json`
"""


def list(
    folder: VectorFolder = None, as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False
) -> None:
    """Show how many vectors there are of every kind, their call, and the rules of the specification that they test."""
    files = files_of(folder)
    if as_json:
        kinds = [
            {"group": one.group, "kind": one.kind, "call": one.call, "rules": one.rules, "vectors": len(one.vectors)}
            for one in files
        ]
        print_json({"kinds": kinds})
        return
    lines = [f"{'kind':24} {'vectors':>8}  {'call':18} rules"]
    lines += [
        f"{one.group + '/' + one.kind:24} {len(one.vectors):8}  {one.call:18} {' '.join(one.rules)}" for one in files
    ]
    for group in ("good", "bad"):
        lines.append(f"{group:24} {sum(len(one.vectors) for one in files if one.group == group):8}")
    results.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
