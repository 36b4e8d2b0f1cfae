"""The client stage beside a bare vectorised k-ary randomised response, in one run.

    python -m benchmarks.client_stage [--clients 500000] [--repeats 15] [--json]

Both take an array of cells to an array of reports and count them. The bare one draws from NumPy's fast
non-cryptographic generator and does one stage; ours draws two stages from AES in counter mode.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from blendp.estimate import Tally
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom

QUERIES = (38, 380)
GOAL = 3.0


def bare_response(cells: NDArray[np.int64], k: int, truth: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """k-ary randomised response with as few NumPy passes as it can have."""
    keep = generator.random(len(cells)) < truth
    other = generator.integers(0, k - 1, len(cells))
    other += other >= cells
    return np.where(keep, cells, other)


def seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def measure(queries: int, clients: int, repeats: int) -> dict[str, float]:
    """The best times of both, taken in turns so that a noisy machine disturbs both alike."""
    per_query = np.append(np.full(queries, 3), 1)
    k = int(per_query.sum())
    generator, release = np.random.default_rng(0), ReleaseRandom()
    cells = generator.integers(0, k, clients)
    randomiser = TwoStage(Budget(4, 1e-5), per_query)

    def bare() -> object:
        return np.bincount(bare_response(cells, k, 0.33, generator), minlength=k)

    def ours() -> object:
        return Tally.of_reports(randomiser.release(cells, release).reshape(-1, 1), per_query)

    bare(), ours()
    times = [(seconds(bare), seconds(ours)) for _ in range(repeats)]
    floor, stage = (min(column) for column in zip(*times, strict=True))
    return {"clients": clients, "cells": k, "bare_seconds": floor, "blendp_seconds": stage, "ratio": stage / floor}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Client stage against bare k-ary randomised response.")
    parser.add_argument("--clients", type=int, default=500_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(queries, options.clients, options.repeats) for queries in QUERIES]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'clients':>9} {'cells':>6} {'bare k-RR':>10} {'blendp':>10} {'ratio':>6}   (goal: at most {GOAL:g})")
    for row in rows:
        print(
            f"{row['clients']:>9,.0f} {row['cells']:>6.0f} {row['bare_seconds'] * 1e3:>7.1f} ms "
            f"{row['blendp_seconds'] * 1e3:>7.1f} ms {row['ratio']:>6.2f}"
        )


if __name__ == "__main__":
    main()
