"""The benchmark of many records, small: its jobs run, and its table says whether the goal is met."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import many_records_speed as speed
from benchmarks.run_against_floor import make_log


@pytest.mark.parametrize("seeded", [False, True])
def test_every_job_runs_on_the_embedded_engine(tmp_path: Path, seeded: bool) -> None:
    log = tmp_path / "log.parquet"
    assert make_log(log, 3_000, speed.ROWS_PER_USER) > 1_000
    for job in speed.JOBS:
        assert speed.work("embedded", job, log, seeded=seeded) > 0


def test_memory_is_that_of_all_processes() -> None:
    child = "x = bytearray(100 << 20); import time; time.sleep(1); print(2.5)"
    parent = f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {child!r}], text=True))"
    seconds, megabytes = speed.watched([sys.executable, "-c", parent])
    assert seconds == 2.5
    assert megabytes > 110
    with pytest.raises(RuntimeError, match="failed"):
        speed.watched([sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.parametrize(("ratio", "megabytes", "said"), [(2.9, 1_999, ": met"), (3.1, 10, "NOT"), (1, 2_001, "NOT")])
def test_the_goal(ratio: float, megabytes: float, said: str) -> None:
    rows = [speed.JobRow("spark", 10, "many", 1.0, ratio, megabytes), speed.JobRow("spark", 10, "bare", 9.0, 9.0, 9e9)]
    console = Console(record=True, width=120)
    console.print(speed.render(rows))
    assert said in console.export_text()
