"""`blendp tally` from end to end against the least that counting reports at most once costs, on both engines.

    python -m benchmarks.tally_against_floor [--reports 20000000] [--records 50] [--repeated 0.01] [--repeat 3]
        [--engine embedded spark] [--json FILE]

Half of the reports are about queries and half about records of a list; a share of them came twice. The *floor* is the
bare engine: it counts the different ids, and how many rows contain each item, and does nothing else, so it neither
judges a row nor takes away what came twice. Each runs as a process of its own, from the start of Python to the last
output, in turns; the table has the medians. Peak memory is that of the process, with Spark's Java beside it where there
is one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.peers.environment import cache
from benchmarks.run_against_floor import timed
from blendp.engines.spool import spool_of_subsets, write_spool
from blendp.headlist import HeadList
from blendp.reports import ListQuestions

REPORTS, RECORDS, REPEATED, REPEAT, EPSILON, SEED = 20_000_000, 50, 0.01, 3, 4.0, 12
BLOCK = 500_000

FLOORS = {
    "embedded": """
import duckdb
ask = duckdb.connect().execute
ask("SELECT count(DISTINCT report_id) FROM read_parquet('{spool}')").fetchall()
ask('''SELECT question, item, count(*) FROM (SELECT question, unnest(items) AS item FROM read_parquet('{spool}'))
    GROUP BY ALL''').fetchall()
""",
    "spark": """
from blendp.engines.spark import SparkSettings, spark_session
spool = spark_session(SparkSettings()).read.parquet('file://{folder}')
spool.select("report_id").distinct().count()
spool.selectExpr("question", "explode(items) AS item").groupBy("question", "item").count().collect()
""",
}


@dataclass(frozen=True)
class TallyRow:
    """One spool on one engine: seconds and peak memory of the floor and of blendp."""

    engine: str
    reports: int
    floor_seconds: float
    seconds: float
    ratio: float
    floor_megabytes: float
    megabytes: float


def a_list(records: int) -> HeadList:
    """A list with two URLs for every query."""
    return HeadList.of_records([(f"query {i // 2}", f"site{i}.example/") for i in range(records)])


def make_spool(folder: Path, reports: int, records: int, repeated: float) -> int:
    """Write a spool of so many reports, and of a share of them once more; gives how many rows it has."""
    generator = np.random.default_rng(SEED)
    questions = ListQuestions(a_list(records), EPSILON)
    rows = 0
    for number, start in enumerate(range(0, reports, BLOCK)):
        for name in ("query", "record"):
            form = questions.questions[name]
            count = min(BLOCK, reports - start) // 2
            chosen = np.argsort(generator.random((count, form.items)), axis=1) < form.size
            ids = np.frombuffer(generator.bytes(16 * count), dtype=np.uint8).reshape(count, 16)
            table = spool_of_subsets(ids, name, chosen, questions.head_list)
            table = pa.concat_tables([table, table.slice(0, round(repeated * count))])
            write_spool(folder / f"{number}-{name}.parquet", table)
            rows += table.num_rows
    return rows


def measure(
    engine: str, reports: int = REPORTS, records: int = RECORDS, repeated: float = REPEATED, repeat: int = REPEAT
) -> TallyRow:
    """Floor and blendp in turns on one spool."""
    with TemporaryDirectory(dir=cache()) as name:
        folder = Path(name) / "spool"
        folder.mkdir()
        rows = make_spool(folder, reports, records, repeated)
        listed = Path(name) / "head_list.json"
        listed.write_bytes(a_list(records).to_bytes())
        floor_code = FLOORS[engine].format(spool=folder / "*.parquet", folder=folder)
        tally = ["tally", str(folder), "--list", str(listed), "--epsilon", str(EPSILON), "--engine", engine, "--json"]
        floors, ours = [], []
        for _ in range(repeat):
            floors.append(timed([sys.executable, "-c", floor_code]))
            ours.append(timed([sys.executable, "-m", "blendp", *tally]))
    at_floor, own = (median(seconds for seconds, _ in times) for times in (floors, ours))
    return TallyRow(engine, rows, at_floor, own, own / at_floor, max(mb for _, mb in floors), max(mb for _, mb in ours))


def render(rows: Sequence[TallyRow]) -> Table:
    """The rows for a terminal."""
    table = Table(title="blendp tally against the bare engine")
    for heading in ("engine", "rows", "floor, s", "blendp tally, s", "ratio", "floor, MB", "blendp, MB"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.engine,
            f"{row.reports:,}",
            f"{row.floor_seconds:.2f}",
            f"{row.seconds:.2f}",
            f"{row.ratio:.2f}",
            f"{row.floor_megabytes:,.0f}",
            f"{row.megabytes:,.0f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=REPORTS)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--repeated", type=float, default=REPEATED)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--engine", nargs="+", default=list(FLOORS), choices=list(FLOORS))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = [measure(engine, asked.reports, asked.records, asked.repeated, asked.repeat) for engine in asked.engine]
    Console().print(render(rows))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
