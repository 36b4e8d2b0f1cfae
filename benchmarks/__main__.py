"""All benchmarks against peers and floors, in one run: tables, one plot, and the page in docs.

    python -m benchmarks [--quick] [--skip-growth] [--out FOLDER]

Prints the tables and writes ``benchmarks.json`` and ``benchmarks.png`` into FOLDER (``.benchmarks`` unless said). With
``--docs`` the tables replace those of docs/benchmarks.md, and the plot docs/images/benchmarks.png. The first run makes
the environments of the peers, which takes some minutes; --quick measures everything small, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import client_against_peers as client
from benchmarks import curator_against_peers as curator
from benchmarks import run_against_floor as end_to_end
from benchmarks.peers.environment import ROOT, cache
from benchmarks.plot import draw

MILLIONS = (1, 3, 10, 30, 100)
_MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Measured:
    """Everything that one run of the benchmarks found."""

    cores: int
    floor: end_to_end.RunRow
    growth: Sequence[end_to_end.RunRow]
    lists: Sequence[curator.ListRow]
    reports: Sequence[client.ReportsRow]

    def tables(self, rows: int, clients: int) -> list[Table]:
        """For the terminal."""
        shown = [end_to_end.against_floor(self.floor)]
        if len(self.growth) > 1:
            shown.append(end_to_end.growing(self.growth))
        return [*shown, curator.render(self.lists, rows, "replace"), client.render(self.reports, clients)]

    def markdown(self, rows: int, clients: int) -> str:
        """The tables for the page."""
        return "\n".join(_markdown(table) for table in self.tables(rows, clients))


def _markdown(table: Table) -> str:
    """A table of the terminal as one of a page."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    heads = [str(column.header) for column in table.columns]
    marks = ["---:" if column.justify == "right" else "---" for column in table.columns]
    lines = [heads, marks, *(list(row) for row in zip(*columns, strict=True))]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    caption = str(table.caption)
    return f"**{table.title}**\n\n{body}\n\n{caption[0].upper()}{caption[1:]}.\n"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="everything small, to see that it works")
    parser.add_argument("--skip-growth", action="store_true", help="leave out the logs of up to 100 million rows")
    parser.add_argument("--docs", action="store_true", help="bring docs/benchmarks.md and its plot up to date")
    parser.add_argument("--out", type=Path, default=None, metavar="FOLDER")
    asked = parser.parse_args()
    out = asked.out or cache()
    out.mkdir(parents=True, exist_ok=True)
    rows, clients = (100_000, 20_000) if asked.quick else (curator.ROWS, client.CLIENTS)
    sizes = () if asked.skip_growth else (1, 2) if asked.quick else MILLIONS
    repeat = 1 if asked.quick else 3
    console = Console()
    with console.status("blendp run against the bare engine"):
        floor = end_to_end.measure(1_000_000 if asked.quick else end_to_end.ROWS, repeat)
    growth = []
    for size in sizes:
        with console.status(f"growth: {size} million rows"):
            growth += end_to_end.growth([size], 1)
    with console.status("the curator's list against peers"):
        lists = curator.measure(rows, repeat=repeat)
    with console.status("the clients' reports against peers"):
        reports = client.measure(clients, repeat=repeat)
    measured = Measured(os.cpu_count() or 1, floor, growth, lists, reports)
    for table in measured.tables(rows, clients):
        console.print(table)
    (out / "benchmarks.json").write_text(json.dumps(asdict(measured), indent=2) + "\n")
    draw(floor, growth, lists, reports, out / "benchmarks.png")
    if asked.docs:
        page = ROOT / "docs" / "benchmarks.md"
        tables = measured.markdown(rows, clients)
        page.write_text(_MEASURED.sub(lambda mark: f"{mark[1]}\n{tables}\n{mark[2]}", page.read_text()))
        draw(floor, growth, lists, reports, ROOT / "docs" / "images" / "benchmarks.png")


if __name__ == "__main__":
    main()
