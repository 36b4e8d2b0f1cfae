"""`blendp run` from end to end against the least that any such job costs, and how both grow with the log.

    python -m benchmarks.run_against_floor [--rows 20000000] [--growth 1 3 10 30 100] [--json FILE]

The log is the AOL population with 40 records a person, its rows in no order, in one Parquet file. The *floor* is the
bare engine: it takes one record of each user by its native hash and counts the records, and does nothing else; the
faster of two ways to say that. Each runs as a process of its own, from the start of Python to the last output, in
turns; the table has the medians. Peak memory is that of the process. With --growth both are measured at so many
million rows, and the exponent is that of the line through the logarithms of rows and seconds.
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
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.installed import environment
from benchmarks.peers.environment import cache
from blendp.logs.synthetic import population

ROWS, ROWS_PER_USER, REPEAT, SEED = 20_000_000, 40, 3, 11
GOAL, GOAL_EXPONENT = 2.0, 1.1
MEMORY_LIMIT = "3GB"

FLOORS = (
    """SELECT count(*), sum(n) FROM (SELECT r, count(*) AS n FROM (
        SELECT arg_min(struct_pack(query, url), hash(query, url)) AS r FROM '{log}' GROUP BY "user") GROUP BY r)""",
    """SELECT count(*), sum(n) FROM (SELECT q, u, count(*) AS n FROM (
        SELECT arg_min(query, hash(query, url)) AS q, arg_min(url, hash(query, url)) AS u FROM '{log}' GROUP BY "user")
        GROUP BY q, u)""",
)

_WATCH = """
import os, sys, time
started = time.perf_counter()
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - started, usage.ru_maxrss)
sys.exit(bool(status))
"""


@dataclass(frozen=True)
class RunRow:
    """One log: seconds and peak memory of the floor and of blendp."""

    rows: int
    floor_seconds: float
    seconds: float
    ratio: float
    floor_megabytes: float
    megabytes: float


def make_log(path: Path, rows: int, rows_per_user: int = ROWS_PER_USER) -> int:
    """Write a log of about so many rows, shuffled; gives how many."""
    ordered = path.with_suffix(".ordered.parquet")
    written = population("aol", max(100, rows // rows_per_user), rows_per_user, SEED).write(ordered, overwrite=True)
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(path.parent / "spill"),
        "memory_limit": "8GB",
    }
    shuffled = f"SELECT \"user\", query, url FROM '{ordered}' ORDER BY hash(file_row_number)"
    duckdb.connect(config=config).execute(f"COPY ({shuffled}) TO '{path}' (FORMAT parquet)")
    ordered.unlink()
    return written


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of a process from start to end, and its peak memory in MB.

    It is started by a process that is small itself: a new process counts what the one before it held.
    """
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WATCH, *command],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)[:100]} failed: {process.stderr[-500:]}")
    seconds, kilobytes = process.stdout.split()
    return float(seconds), float(kilobytes) / 1000


def measure(rows: int = ROWS, repeat: int = REPEAT, options: Sequence[str] = ()) -> RunRow:
    """Floor and blendp in turns on one log."""
    with TemporaryDirectory(dir=cache()) as folder:
        log = Path(folder) / "log.parquet"
        written = make_log(log, rows)
        ours: list[tuple[float, float]] = []
        floors: list[list[tuple[float, float]]] = [[] for _ in FLOORS]
        for _ in range(repeat):
            for query, times in zip(FLOORS, floors, strict=True):
                asked = f"import duckdb; duckdb.connect().execute({query.format(log=log)!r}).fetchall()"
                times.append(timed([sys.executable, "-c", asked]))
            release = str(Path(folder) / "release")
            ours.append(
                timed([sys.executable, "-m", "blendp", "run", str(log), "--out", release, "--overwrite", *options])
            )
    floor = min(floors, key=lambda times: median(seconds for seconds, _ in times))
    at_floor, own = (median(seconds for seconds, _ in times) for times in (floor, ours))
    return RunRow(written, at_floor, own, own / at_floor, max(mb for _, mb in floor), max(mb for _, mb in ours))


def growth(millions: Sequence[int], repeat: int) -> list[RunRow]:
    """The same at several sizes, blendp within a fixed memory limit."""
    return [measure(size * 1_000_000, repeat, ("--memory-limit", MEMORY_LIMIT)) for size in millions]


def exponent(rows: Sequence[RunRow]) -> float:
    """The slope of log seconds over log rows."""
    slope, _ = np.polyfit(np.log([row.rows for row in rows]), np.log([row.seconds for row in rows]), 1)
    return float(slope)


def render(rows: Sequence[RunRow], title: str, caption: str) -> Table:
    """The rows for a terminal."""
    table = Table(title=title, caption=caption)
    for heading in ("rows", "floor, s", "blendp run, s", "ratio", "floor, MB", "blendp, MB"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            f"{row.rows:,}",
            f"{row.floor_seconds:.2f}",
            f"{row.seconds:.2f}",
            f"{row.ratio:.2f}",
            f"{row.floor_megabytes:,.0f}",
            f"{row.megabytes:,.0f}",
        )
    return table


def against_floor(row: RunRow) -> Table:
    """One log's row for a terminal."""
    met = "met" if row.ratio <= GOAL else "NOT met"
    return render([row], "blendp run against the bare engine", f"goal, at most {GOAL:g} times the floor: {met}")


def growing(rows: Sequence[RunRow]) -> Table:
    """The rows of growth for a terminal."""
    slope = exponent(rows)
    met = "met" if slope <= GOAL_EXPONENT else "NOT met"
    caption = f"seconds grow as rows^{slope:.2f}; goal, at most {GOAL_EXPONENT:g}: {met}. Memory limit {MEMORY_LIMIT}"
    return render(rows, "How blendp run grows", caption)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--growth", type=int, nargs="*", default=[], metavar="MILLIONS")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = growth(asked.growth, asked.repeat) if asked.growth else [measure(asked.rows, asked.repeat)]
    Console().print(growing(rows) if asked.growth else against_floor(rows[0]))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
