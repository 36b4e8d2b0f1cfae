"""What people with many records cost: one record of everybody and all records of the opt-in people, on both engines.

    python -m benchmarks.many_records_speed [--rows 4000000 20000000] [--engine embedded spark] [--seeded]

The log is the AOL population with 20 records a person, its rows in no order, in one Parquet file. Three jobs are timed,
in turns, each in a process of its own, from an engine that has started to the result:

    one    one record of everybody (``log.draw``; on Spark ``log.bound``, and the counts of 5 % of the people),
    many   the same, then every different record of 5 % of the people (``holdings``),
    bare   the bare engine chooses 20 records of each user by its native hash and counts them, and does nothing else.

The table has the medians of the seconds, and the highest memory that a job's processes had at one time (Spark's Java
included), looked at 20 times a second. Spark runs on this machine. Memory is limited as by ``--memory-limit``: 1.5GB on
the embedded engine, 640MB on Spark; bare DuckDB is not limited.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.environment import cache
from benchmarks.run_against_floor import make_log

ROWS, ROWS_PER_USER, REPEAT = (4_000_000, 20_000_000), 20, 3
ENGINES = ("embedded", "spark")
JOBS = ("one", "many", "bare")
OPT_IN = 0.05
MEMORY_LIMIT = {"embedded": "1.5GB", "spark": "640MB"}
GOAL, GOAL_MEGABYTES = 3.0, 2000

_BARE = {
    "embedded": """SELECT sum(len(r)) FROM (
        SELECT arg_min(struct_pack(query, url), hash(query, url), 20) AS r FROM '{log}' GROUP BY "user")""",
    "spark": """SELECT count(*), count(url) FROM (
        SELECT query, url, row_number() OVER (PARTITION BY user ORDER BY xxhash64(query, url)) AS turn
        FROM parquet.`{log}`) WHERE turn <= 20""",
}


@dataclass(frozen=True)
class JobRow:
    """One job on one log: seconds, peak memory in MB, and how often the seconds of one record of everybody."""

    engine: str
    rows: int
    job: str
    seconds: float
    ratio: float
    megabytes: float


def work(engine: str, job: str, log: Path, *, seeded: bool) -> float:
    """Do a job in this process; gives its seconds."""
    from blendp.engines.database import bytes_of
    from blendp.engines.spark import SparkSettings, spark_session
    from blendp.logs import open_log, open_spark_log

    limit = MEMORY_LIMIT[engine]
    settings = SparkSettings(memory_limit=f"{bytes_of(limit) >> 20}m")
    if engine == "spark":
        spark_session(settings)
    started = time.perf_counter()
    if job == "bare":
        sql = _BARE[engine].format(log=log)
        if engine == "spark":
            spark_session(settings).sql(sql).collect()
        else:
            import duckdb

            duckdb.connect().execute(sql).fetchall()
    elif engine == "spark":
        bounded = open_spark_log(str(log), settings).bound(1, 5, reproducible=seeded)
        opting = round(OPT_IN * bounded.users)
        groups = bounded.grouped(opting, opting)
        groups.record_counts(1)
        if job == "many":
            groups.holdings(9)
    else:
        drawn = open_log(log, memory_limit=limit).draw(1, 5, reproducible=seeded, holdings=job == "many")
        if job == "many":
            chosen = np.random.default_rng(7).permutation(drawn.users)[: round(OPT_IN * drawn.users)]
            drawn.holdings(np.sort(chosen), 9)
    return time.perf_counter() - started


def watched(command: Sequence[str]) -> tuple[float, float]:
    """The seconds that a process prints, and the peak of the memory of all processes of its session, in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(0.05)
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]} failed")
    return float(printed.split()[-1]), peak / 1e6


def _resident(session: int) -> int:
    """Bytes in memory of all processes of a session."""
    pages = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended
                continue
            pages += int(fields[21]) if int(fields[3]) == session else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(rows: int, engines: Sequence[str], repeat: int, *, seeded: bool) -> list[JobRow]:
    """All jobs in turns on one log."""
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {(e, job): [] for e in engines for job in JOBS}
    with TemporaryDirectory(dir=cache()) as folder:
        log = Path(folder) / "log.parquet"
        written = make_log(log, rows, ROWS_PER_USER)
        for _ in range(repeat):
            for (engine, job), times in taken.items():
                asked = ["--work", job, "--engine", engine, "--log", str(log), *(["--seeded"] if seeded else [])]
                times.append(watched([sys.executable, "-m", "benchmarks.many_records_speed", *asked]))
    seconds = {key: median(second for second, _ in times) for key, times in taken.items()}
    return [
        JobRow(engine, written, job, seconds[engine, job], seconds[engine, job] / seconds[engine, "one"], peak)
        for (engine, job), times in taken.items()
        for peak in [max(megabytes for _, megabytes in times)]
    ]


def render(rows: Sequence[JobRow]) -> Table:
    """The rows for a terminal."""
    many = [row for row in rows if row.job == "many"]
    met = all(row.ratio <= GOAL and row.megabytes <= GOAL_MEGABYTES for row in many)
    caption = f"goal, at most {GOAL:g} times one record, in {GOAL_MEGABYTES:,} MB: {'met' if met else 'NOT met'}"
    table = Table(title="All records of 5 % of the people", caption=caption)
    for heading in ("engine", "rows", "job", "seconds", "ratio", "MB"):
        table.add_column(heading, justify="left" if heading in ("engine", "job") else "right")
    for row in rows:
        figures = (f"{row.seconds:.2f}", f"{row.ratio:.2f}", f"{row.megabytes:,.0f}")
        table.add_row(row.engine, f"{row.rows:,}", row.job, *figures)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=ENGINES)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--seeded", action="store_true", help="draw reproducibly")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        print(work(asked.engine[0], asked.work, asked.log, seeded=asked.seeded))
        return
    rows = [row for size in asked.rows for row in measure(size, asked.engine, asked.repeat, seeded=asked.seeded)]
    Console().print(render(rows))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
