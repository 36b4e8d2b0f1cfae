"""How long doors take to open: commands that only say something, and imports, beside an interpreter that does nothing.

    python -m benchmarks.doors [--runs 10] [--before PATH/TO/ANOTHER/src]

Every door is opened in turn, then again, so that a busy machine delays all of them alike; medians are shown, in seconds
and as multiples of ``python -c pass``. ``import typer`` is the floor of whatever Typer has to answer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
MAIN = "import sys; sys.argv[0] = 'blendp'; from blendp.cli import main; main()"
DOORS = {
    "blendp --version": ["-c", MAIN, "--version"],
    "blendp --help": ["-c", MAIN, "--help"],
    "blendp run --help": ["-c", MAIN, "run", "--help"],
    "import blendp": ["-c", "import blendp"],
    "import blendp.client": ["-c", "import blendp.client"],
}
FLOORS = {"python -c pass": ["-c", "pass"], "import typer": ["-c", "import typer"]}


def seconds(arguments: list[str], source: Path) -> float:
    env = {**os.environ, "PYTHONPATH": str(source)}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def medians(runs: int, sources: dict[str, Path]) -> dict[tuple[str, str], float]:
    doors = [(name, "", FLOORS[name], SOURCE) for name in FLOORS]
    doors += [(name, label, DOORS[name], source) for name in DOORS for label, source in sources.items()]
    for _, _, arguments, source in doors:  # so that compiled files are there
        seconds(arguments, source)
    taken: dict[tuple[str, str], list[float]] = {(name, label): [] for name, label, _, _ in doors}
    for _ in range(runs):
        for name, label, arguments, source in doors:
            taken[name, label].append(seconds(arguments, source))
    return {door: statistics.median(times) for door, times in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--before", type=Path, help="another tree of sources, to compare with")
    options = parser.parse_args()
    sources = {"before": options.before, "now": SOURCE} if options.before else {"now": SOURCE}
    result = medians(options.runs, sources)
    floor = result["python -c pass", ""]
    for (name, label), median in result.items():
        print(f"{name:22} {label:7} {median:6.3f} s {median / floor:6.1f} times python -c pass")


if __name__ == "__main__":
    main()
