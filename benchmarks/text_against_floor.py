"""`blendp run` on text files against the least that any such job costs: plain, quoted, gzip, and Parquet beside them.

    python -m benchmarks.text_against_floor [--millions 1 5 20] [--kinds csv quoted csv.gz csv.zst parquet] [--repeat 3]

The log is the AOL population with 20 records a person, its rows in no order. The *floor* is the bare engine with its
own reader of the same file: it takes one record of each user by its native hash and counts the records, and does
nothing else. It does not notice a file that is cut short, and follows quotes across lines. Each runs as a process of
its own, from the start of Python to the last output, in turns. The table has the medians of seconds by the clock and
of the processors' seconds, which depend less on what else the machine does, and the largest peaks of memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.installed import environment
from benchmarks.peers.environment import cache
from benchmarks.run_against_floor import FLOORS, make_log

ROWS_PER_USER, REPEAT, GOAL = 20, 3, 2.0
KINDS = ("csv", "quoted", "csv.gz", "csv.zst", "parquet")

_WATCH = """
import os, sys, time
started = time.perf_counter()
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(bool(status))
"""


@dataclass(frozen=True)
class ProcessCost:
    """What one process took."""

    seconds: float
    processor_seconds: float
    megabytes: float


@dataclass(frozen=True)
class TextRow:
    """One file: the floor, blendp, and their ratios."""

    kind: str
    rows: int
    floor: ProcessCost
    own: ProcessCost
    ratio: float
    processor_ratio: float


def cost(command: Sequence[str]) -> ProcessCost:
    """What a process takes; it is started by a process that is small itself."""
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WATCH, *command],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)[:100]} failed: {process.stderr[-500:]}")
    seconds, processor_seconds, kilobytes = map(float, process.stdout.split())
    return ProcessCost(seconds, processor_seconds, kilobytes / 1000)


def typical(costs: Sequence[ProcessCost]) -> ProcessCost:
    """Medians of times, the peak of memory."""
    return ProcessCost(
        median(one.seconds for one in costs),
        median(one.processor_seconds for one in costs),
        max(one.megabytes for one in costs),
    )


def write_kind(source: Path, kind: str) -> Path:
    """The log of a Parquet file as a file of another kind."""
    if kind == "parquet":
        return source
    path = source.with_name("quoted.csv" if kind == "quoted" else f"log.{kind}")
    compression = {"csv.gz": "gzip", "csv.zst": "zstd"}.get(kind, "none")
    force = ", FORCE_QUOTE *" if kind == "quoted" else ""
    with duckdb.connect(config={"preserve_insertion_order": False}) as database:
        database.execute("SET enable_progress_bar = false")
        database.execute(f"COPY (FROM '{source}') TO '{path}' (FORMAT csv, HEADER, COMPRESSION {compression}{force})")
    return path


def measure(millions: int, kinds: Sequence[str], repeat: int) -> list[TextRow]:
    """Floor and blendp in turns on each kind of one log."""
    measured = []
    with TemporaryDirectory(dir=cache()) as folder:
        source = Path(folder) / "log.parquet"
        rows = make_log(source, millions * 1_000_000, ROWS_PER_USER)
        for kind in kinds:
            log = write_kind(source, kind)
            asked = f"import duckdb; duckdb.connect().execute({FLOORS[0].format(log=log)!r}).fetchall()"
            run = ["-m", "blendp", "run", str(log), "--out", f"{folder}/release", "--overwrite"]
            pairs = [(cost([sys.executable, "-c", asked]), cost([sys.executable, *run])) for _ in range(repeat)]
            floor, own = (typical(costs) for costs in zip(*pairs, strict=True))
            ratios = own.seconds / floor.seconds, own.processor_seconds / floor.processor_seconds
            measured.append(TextRow(kind, rows, floor, own, *ratios))
            if log != source:
                log.unlink()
    return measured


def render(rows: Sequence[TextRow]) -> Table:
    """The rows for a terminal."""
    large = [row.ratio <= GOAL for row in rows if row.kind == "csv" and row.rows > 15_000_000]
    verdict = ("met" if all(large) else "NOT met") if large else "not measured"
    caption = f"goal for CSV of 20 million rows, at most {GOAL:g} times the floor: {verdict}"
    table = Table(title="blendp run against the bare engine, by kind of file", caption=caption)
    headings = ("kind", "rows", "floor, s", "blendp, s", "ratio", "floor, CPU s", "blendp, CPU s", "ratio")
    for heading in (*headings, "floor, MB", "blendp, MB"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for row in rows:
        table.add_row(
            row.kind,
            f"{row.rows:,}",
            f"{row.floor.seconds:.1f}",
            f"{row.own.seconds:.1f}",
            f"{row.ratio:.2f}",
            f"{row.floor.processor_seconds:.1f}",
            f"{row.own.processor_seconds:.1f}",
            f"{row.processor_ratio:.2f}",
            f"{row.floor.megabytes:,.0f}",
            f"{row.own.megabytes:,.0f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 5, 20])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = [row for size in asked.millions for row in measure(size, asked.kinds, asked.repeat)]
    Console(width=130).print(render(rows))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
