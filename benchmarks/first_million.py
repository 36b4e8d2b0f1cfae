"""What `blendp run` takes beyond the bare engine on a log of a million rows, where starting and drawing cost most.

    python -m benchmarks.first_million [--rows 1000000] [--runs 5] [--before PATH/TO/ANOTHER/src]

The floor is that of ``benchmarks.run_against_floor``, on Parquet and on CSV. Everything runs as a process of its own,
in turns; shown are the least seconds, by the clock and of the processor: on a busy machine only the latter count.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.installed import environment
from benchmarks.run_against_floor import FLOORS, make_log

SOURCE = Path(__file__).resolve().parents[1] / "src"
ROWS, RUNS = 1_000_000, 5


def measured(command: list[str], source: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    env = environment(PYTHONPATH=str(source))
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, *command], env, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)[:80]} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--before", type=Path, help="another tree of sources, to compare with")
    options = parser.parse_args()
    sources = {"before": options.before, "now": SOURCE} if options.before else {"now": SOURCE}
    table = Table("log", "", "seconds", "of the processor", "above the floor", "of the processor", box=None)
    with TemporaryDirectory() as name:
        parquet = Path(name) / "log.parquet"
        rows = make_log(parquet, options.rows)
        duckdb.connect().execute(f"COPY (FROM '{parquet}') TO '{parquet.with_suffix('.csv')}' (HEADER)")
        for log in (parquet, parquet.with_suffix(".csv")):
            asked = f"import duckdb; duckdb.connect().execute({FLOORS[1].format(log=log)!r}).fetchall()"
            commands = {"floor": (["-c", asked], SOURCE)}
            run = ["-m", "blendp", "run", str(log), "--out", f"{name}/release", "--overwrite"]
            commands |= {label: (run, source) for label, source in sources.items()}
            for command in commands.values():
                measured(*command)  # compiles what is not compiled yet
            times: dict[str, list[tuple[float, float]]] = {label: [] for label in commands}
            for _ in range(options.runs):
                for label, command in commands.items():
                    times[label].append(measured(*command))
            best = {label: [min(column) for column in zip(*row, strict=True)] for label, row in times.items()}
            for label, (clock, worked) in best.items():
                above = (clock - best["floor"][0], worked - best["floor"][1])
                table.add_row(f"{rows:,} rows, {log.suffix[1:]}", label, *(f"{x:.2f}" for x in (clock, worked, *above)))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
