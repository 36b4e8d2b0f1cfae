"""The benchmark of the driver's memory: whose memory it looks at, and whether its table says that the goal is met."""

from __future__ import annotations

import sys

import pytest
from rich.console import Console

from benchmarks import spark_driver_memory as memory


def test_memory_is_that_of_the_process_alone() -> None:
    child = "x = bytearray(100 << 20); import time; time.sleep(1)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print('[3]')"
    peaks, printed = memory.watched([sys.executable, "-c", parent])
    assert printed == "[3]"
    assert 0 < peaks["python"] < 100
    assert peaks["java"] == 0
    with pytest.raises(RuntimeError, match="failed"):
        memory.watched([sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.parametrize(("java", "said"), [(799.0, ": met"), (801.0, "NOT")])
def test_the_goal(java: float, said: str) -> None:
    console = Console(record=True, width=120)
    console.print(memory.render([memory.MemoryRow(10, "many", 200.0, java, 5, 1.0)]))
    assert said in console.export_text()
