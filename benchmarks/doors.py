"""How long commands take to say something, and imports to be done, beside an interpreter that does nothing.

    python -m benchmarks.doors [--runs 10] [--before PATH/TO/ANOTHER/src] [--only WORD]

Every door is opened in turn, then again, so that a busy machine delays all of them alike. Shown are the seconds to the
first output and those that the processor worked until the end, the least of all runs, and the latter as a multiple of
``python -c pass``: on a busy machine only processor time means anything.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.installed import environment
from blendp.cli.table import COMMANDS, GROUPS

SOURCE = Path(__file__).resolve().parents[1] / "src"
MAIN = "import sys; sys.argv[0] = 'blendp'; import blendp.cli; getattr(blendp.cli, 'command', blendp.cli.main)()"
FLOORS = {"python -c pass": ["-c", "pass"], "import typer": ["-c", "import typer"]}
IMPORTS = {f"import {name}": ["-c", f"import {name}"] for name in ("blendp", "blendp.client")}
ASKED = ["--version", "--help", *(f"{name} --help" for name in COMMANDS)]
ASKED += [f"{group} {name} --help" for group in GROUPS for name in GROUPS[group].commands]
DONE = [
    "synthesise aol --users 1000 --out {folder}/made.csv --overwrite",
    "run {folder}/log.csv --opt-in 0.2 --out {folder}/release --overwrite",
    "evaluate {folder}/log.csv --opt-in 0.2 --repeat 1",
    "plan --users 50000",
    "survey plan --attributes 4 --correlation 0.1 --epsilon 1",
    "vectors list",
]
"""Small tasks, for what a command does besides saying what it is."""

TYPED = {"blendp run --eng<TAB>": "run --eng", "blendp ca<TAB>": "ca"}


class Door(NamedTuple):
    """What is opened, with which arguments and variables."""

    name: str
    arguments: Sequence[str]
    variables: dict[str, str]


class Opening(NamedTuple):
    """Seconds to the first output, and of the processor."""

    first: float
    worked: float


def doors(folder: Path) -> list[Door]:
    """All of them."""
    named = [Door(f"blendp {line}", ["-c", MAIN, *line.split()], {}) for line in ASKED]
    for line in DONE:
        name = line.partition(" {")[0].partition(" --")[0]
        named.append(Door(f"blendp {name} ...", ["-c", MAIN, *line.format(folder=folder).split()], {}))
    for name, typed in TYPED.items():
        line_typed = {"COMP_WORDS": f"blendp {typed}", "COMP_CWORD": str(len(typed.split()))}
        named.append(Door(name, ["-c", MAIN], {"_BLENDP_COMPLETE": "complete_bash", **line_typed}))
    return named + [Door(name, arguments, {}) for name, arguments in IMPORTS.items()]


def opened(door: Door, source: Path) -> Opening:
    """Open a door once, in a process of its own."""
    env = environment(PYTHONPATH=str(source), **door.variables)
    start = time.perf_counter()
    command = [sys.executable, *door.arguments]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.perf_counter() - start
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and source != SOURCE:  # an older tree may not have this door
        return Opening(math.nan, math.nan)
    if process.returncode:
        raise RuntimeError(f"{door.name} ended with {process.returncode}")
    return Opening(first, usage.ru_utime + usage.ru_stime)


def least(runs: int, sources: dict[str, Path], only: str) -> dict[str, dict[str, Opening]]:
    """Of every door and source the least seconds."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        floors = [Door(name, arguments, {}) for name, arguments in FLOORS.items()]
        wanted = floors + [door for door in doors(folder) if only in door.name]
        maker = Door("log", ["-c", MAIN, *f"synthesise aol --users 20000 --out {folder}/log.csv".split()], {})
        opened(maker, SOURCE)
        times: dict[tuple[str, str], list[Opening]] = {}
        for turn in range(runs + 1):
            for door in wanted:
                for label, source in sources.items():
                    opening = opened(door, source)
                    if turn:  # the first time compiled files are made
                        times.setdefault((door.name, label), []).append(opening)
    result: dict[str, dict[str, Opening]] = {}
    for (door_name, label), openings in times.items():
        result.setdefault(door_name, {})[label] = Opening(*map(min, zip(*openings, strict=True)))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--before", type=Path, help="another tree of sources, to compare with")
    parser.add_argument("--only", default="", help="doors whose name has this in it")
    options = parser.parse_args()
    sources = {"before": options.before, "now": SOURCE} if options.before else {"now": SOURCE}
    result = least(options.runs, sources, options.only)
    floor = result["python -c pass"]["now"].worked
    table = Table(title="Seconds to the first output, of the processor, and as a multiple of python -c pass", box=None)
    table.add_column("door", no_wrap=True)
    for label in sources:
        for heading in ("first", "worked", "multiple"):
            table.add_column(f"{label}, {heading}", justify="right")
    for name, by_label in result.items():
        cells = [(f"{one.first:.3f}", f"{one.worked:.3f}", f"{one.worked / floor:.1f}") for one in by_label.values()]
        table.add_row(name, *(cell for group in cells for cell in group))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
