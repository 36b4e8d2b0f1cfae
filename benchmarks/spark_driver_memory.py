"""How much memory the driver of a run on Spark takes, and how it grows with the people.

    python -m benchmarks.spark_driver_memory [--people 1000000 3000000 10000000] [--records one many]

The log is the AOL population with three rows a person, in one Parquet file; 5 % of the people opt in. Each run is a
process of its own, on a master that runs executors in processes of their own (``local-cluster``, two executors of 1.5
GB unless ``--master`` says otherwise; it needs ``JAVA_HOME`` to name a whole Java). The table has the highest memory of
the driver's Python and of its Java, looked at 20 times a second: together they are what the driver needs. Java's is
bounded by ``--memory-limit``, here 480MB (Spark takes hardly less), and collected by one thread
(``-XX:+UseSerialGC``): it takes what it is given before it clears up.
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
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.peers.environment import cache
from benchmarks.run_against_floor import make_log

PEOPLE, RECORDS, ROWS_PER_PERSON, OPT_IN = (1_000_000, 3_000_000, 10_000_000), ("one", "many"), 3, 0.05
MASTER, MEMORY_LIMIT = "local-cluster[2,1,1536]", "480m"
GOAL_MEGABYTES = 1000


@dataclass(frozen=True)
class MemoryRow:
    """One run: the peaks of the driver's Python and of its Java, in MB, the list's length, and the seconds."""

    people: int
    records: str
    python: float
    java: float
    listed: int
    seconds: float


def work(log: Path, records: str, master: str) -> tuple[int, int, float]:
    """A whole run in this process: how many people, how long a list, and the seconds after Spark has started."""
    from blendp.engines.spark import SparkSettings, spark_session
    from blendp.logs import open_spark_log
    from blendp.methods import Parameters, run

    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "32",
    }
    settings = SparkSettings(master, MEMORY_LIMIT, conf)
    spark_session(settings)
    started = time.perf_counter()
    parameters = Parameters(opt_in_records=1 if records == "one" else "many", size=None)
    release = run(open_spark_log(str(log), settings), parameters, opt_in=OPT_IN)
    people = release.groups.opt_in + release.groups.client
    return people, release.head_list.records, time.perf_counter() - started


def watched(command: Sequence[str]) -> tuple[dict[str, float], str]:
    """The highest memory of a process, and of the Java that it started itself, in MB, and what it prints."""
    import pyspark

    spark = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13"}
    environment = os.environ | spark | {"SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    peaks = {"python": 0.0, "java": 0.0}
    while process.poll() is None:
        for name, pid in {"python": process.pid, "java": _child(process.pid, "java")}.items():
            peaks[name] = max(peaks[name], _resident(pid))
        time.sleep(0.05)
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]} failed")
    return peaks, printed.splitlines()[-1]


def _child(parent: int, name: str) -> int | None:
    """The first child of a process with this name."""
    try:
        children = (Path("/proc") / str(parent) / "task" / str(parent) / "children").read_text().split()
        named = [int(pid) for pid in children if (Path("/proc") / pid / "comm").read_text().strip() == name]
    except OSError:
        return None
    return named[0] if named else None


def _resident(pid: int | None) -> float:
    """MB in memory of a process; 0 if there is none."""
    try:
        pages = int((Path("/proc") / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(people: int, records: Sequence[str], master: str) -> list[MemoryRow]:
    """The runs on one log."""
    with TemporaryDirectory(dir=cache()) as folder:
        log = Path(folder) / "log.parquet"
        make_log(log, people * ROWS_PER_PERSON, ROWS_PER_PERSON)
        rows = []
        for each in records:
            asked = ["--work", each, "--log", str(log), "--master", master]
            peaks, printed = watched([sys.executable, "-m", "benchmarks.spark_driver_memory", *asked])
            users, listed, seconds = json.loads(printed)
            rows.append(MemoryRow(users, each, peaks["python"], peaks["java"], listed, seconds))
        return rows


def render(rows: Sequence[MemoryRow]) -> Table:
    """The rows for a terminal."""
    met = all(row.python + row.java <= GOAL_MEGABYTES for row in rows)
    caption = f"goal, at most {GOAL_MEGABYTES:,} MB together: {'met' if met else 'NOT met'}"
    table = Table(title="Memory of the driver of a run on Spark", caption=caption)
    for heading in ("people", "records", "Python MB", "Java MB", "listed", "seconds"):
        table.add_column(heading, justify="left" if heading == "records" else "right")
    for row in rows:
        figures = (f"{row.python:,.0f}", f"{row.java:,.0f}", f"{row.listed:,}", f"{row.seconds:.0f}")
        table.add_row(f"{row.people:,}", row.records, *figures)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE)
    parser.add_argument("--records", choices=RECORDS, nargs="+", default=RECORDS)
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", choices=RECORDS, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        print(json.dumps(work(asked.log, asked.work, asked.master)))
        return
    rows = [row for people in asked.people for row in measure(people, asked.records, asked.master)]
    Console().print(render(rows))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
