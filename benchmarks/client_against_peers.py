"""The clients' reports against other libraries: the same items, the same epsilon, in one run.

    python -m benchmarks.client_against_peers [--rows 500000] [--items 51 1501] [--json FILE]

The items are invented, zipf-like. The clock runs from an array of held items to estimated frequencies: one report for
each client, counted, and the estimate; without starting, importing or compiling. Ours is the median of several runs,
with cryptographic randomness; the others' is one run. Each is compared with ours of the same oracle: k-ary randomised
response (GRR) or subset selection (SS), which is GRR where sets have size 1 (as with 51 items at epsilon 4). Where we
have not got the oracle, with SS.

Our SS counts reports in blocks as it draws them (``supports``); "a row each" keeps the reports of all clients as a
matrix first (``release``). The error is the mean squared error over all items of the estimate that the library gives,
and of the same after projection on the simplex (some libraries clip and rescale); "expected" is that of the
oracle's unbiased estimate, by its formula.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import blendp
from benchmarks.peers.environment import TIMEOUT, Peer, PeerError, attempt, cache
from blendp.arrays import Array
from blendp.estimate import project_on_simplex
from blendp.mechanisms import SubsetSelection, TwoStage
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom

CLIENTS, ITEMS = 500_000, (51, 1501)
EPSILON = 4.0
SEED, REPEAT = 4, 3
GOAL = 5.0

PEERS = (
    Peer("multi-freq-ldpy", "multi-freq-ldpy", "multi-freq-ldpy", "reports_multi_freq_ldpy", ("--oracle", "GRR")),
    Peer("multi-freq-ldpy", "multi-freq-ldpy", "multi-freq-ldpy", "reports_multi_freq_ldpy", ("--oracle", "SS")),
    Peer("pure-ldp", "pure-ldp", "pure-ldp", "reports_pure_ldp", ("--oracle", "GRR")),
    Peer("pure-ldp", "pure-ldp", "pure-ldp", "reports_pure_ldp", ("--oracle", "OUE")),
    Peer("diffprivlib", "diffprivlib", "diffprivlib", "reports_diffprivlib", ("--oracle", "GRR")),
    Peer("OpenDP", "opendp", "opendp", "reports_opendp", ("--oracle", "GRR")),
)
CRYPTOGRAPHIC = ("blendp", "diffprivlib", "OpenDP")
"""Whose random numbers are."""


@dataclass(frozen=True)
class ReportsRow:
    """One library's reports and estimate."""

    items: int
    tool: str
    version: str
    oracle: str
    cryptographic: bool
    expected_error: float
    seconds: float | None = None
    ratio: float | None = None
    """Its seconds over those of blendp with the same oracle."""
    error: float | None = None
    error_on_simplex: float | None = None
    failure: str | None = None
    """Why there is no result."""


def make_items(clients: int, items: int, seed: int = SEED) -> NDArray[np.int64]:
    """One item for each client, with probabilities as 1/rank."""
    law = np.cumsum(1 / np.arange(1, items + 1))
    drawn = np.searchsorted(law, np.random.default_rng(seed).random(clients) * law[-1], side="right")
    return np.asarray(np.minimum(drawn, items - 1), dtype=np.int64)


def channel(oracle: str, items: int) -> tuple[float, float]:
    """The probabilities that a report names the held item, and any other one."""
    odds = math.exp(EPSILON)
    if oracle == "GRR":
        return odds / (odds + items - 1), 1 / (odds + items - 1)
    if oracle == "OUE":
        return 0.5, 1 / (odds + 1)
    subsets = SubsetSelection(EPSILON, items)
    return subsets.hit, subsets.stray


def expected_error(oracle: str, truth: Array, clients: int) -> float:
    """The mean over items of the variance of the unbiased estimate, given the clients."""
    p, q = channel(oracle, len(truth))
    return float(np.mean(truth * p * (1 - p) + (1 - truth) * q * (1 - q)) / (clients * (p - q) ** 2))


def subset_selection(own_items: NDArray[np.int64], items: int) -> Array:
    """Our SS, counted while it is drawn."""
    oracle = SubsetSelection(EPSILON, items)
    return oracle.estimate(oracle.supports(own_items, ReleaseRandom()), len(own_items))


def subset_selection_rows(own_items: NDArray[np.int64], items: int) -> Array:
    """Our SS, with the reports of all clients as rows of a matrix."""
    oracle = SubsetSelection(EPSILON, items)
    return oracle.estimate(oracle.release(own_items, ReleaseRandom()).sum(axis=0), len(own_items))


def response(own_items: NDArray[np.int64], items: int) -> Array:
    """Our GRR: the published randomiser over queries without URLs."""
    oracle = TwoStage(Budget(EPSILON), np.ones(items, dtype=np.int64))
    counts = np.bincount(oracle.release(own_items, ReleaseRandom()), minlength=items)
    stray = (1 - oracle.query_truth) / (items - 1)
    return np.asarray((counts / len(own_items) - stray) / (oracle.query_truth - stray))


OURS: tuple[tuple[str, str, Callable[[NDArray[np.int64], int], Array]], ...] = (
    ("blendp", "SS", subset_selection),
    ("blendp, a row each", "SS", subset_selection_rows),
    ("blendp", "GRR", response),
)


def measure(
    clients: int = CLIENTS,
    items: Sequence[int] = ITEMS,
    repeat: int = REPEAT,
    timeout: float = TIMEOUT,
    peers: Sequence[Peer] = PEERS,
) -> list[ReportsRow]:
    """For every number of items, ours first, then the peers, one at a time."""
    return [row for many in items for row in _measure(clients, many, repeat, timeout, peers)]


def _measure(clients: int, items: int, repeat: int, timeout: float, peers: Sequence[Peer]) -> list[ReportsRow]:
    own_items = make_items(clients, items)
    truth = np.bincount(own_items, minlength=items) / clients

    def empty(tool: str, version: str, oracle: str, failure: str | None = None) -> ReportsRow:
        cryptographic = tool.startswith(CRYPTOGRAPHIC)
        error = expected_error(oracle, truth, clients)
        return ReportsRow(items, tool, version, oracle, cryptographic, error, failure=failure)

    def filled(row: ReportsRow, seconds: float, ours: float, estimates: Sequence[Array]) -> ReportsRow:
        error = np.mean([np.mean((estimate - truth) ** 2) for estimate in estimates])
        projected = np.mean([np.mean((project_on_simplex(estimate) - truth) ** 2) for estimate in estimates])
        return dataclasses.replace(
            row, seconds=seconds, ratio=seconds / ours, error=float(error), error_on_simplex=float(projected)
        )

    rows: list[ReportsRow] = []
    ours: dict[str, float] = {}
    for tool, oracle, job in OURS:
        times, estimates = [], []
        for _ in range(repeat):
            start = time.perf_counter()
            estimates.append(job(own_items, items))
            times.append(time.perf_counter() - start)
        seconds = statistics.median(times)
        ours.setdefault(oracle, seconds)
        rows.append(filled(empty(tool, blendp.__version__, oracle), seconds, ours[oracle], estimates))
    with TemporaryDirectory(dir=cache()) as folder:
        path = Path(folder) / "own_items.npy"
        np.save(path, own_items)
        for peer in peers:
            oracle = peer.options[-1]
            answer = attempt(peer, (str(path), "--items", str(items), "--epsilon", repr(EPSILON)), timeout)
            if isinstance(answer, PeerError):
                rows.append(empty(peer.name, peer.version, oracle, str(answer)))
                continue
            estimate = np.array(answer.result["estimate"])
            row = empty(peer.name, peer.version, oracle)
            rows.append(filled(row, answer.seconds, ours.get(oracle, ours["SS"]), [estimate]))
    return rows


def faster(rows: Sequence[ReportsRow]) -> bool:
    """Whether every peer with a result takes at least five times as long as ours of the same oracle, and one has."""
    ratios = [row.ratio for row in rows if row.ratio is not None and not row.tool.startswith("blendp")]
    return min(ratios, default=0.0) >= GOAL


def closer(rows: Sequence[ReportsRow]) -> bool:
    """Whether no oracle of a peer has a lower expected error than ours."""
    ours = {row.items: row.expected_error for row in rows if row.tool == "blendp" and row.oracle == "SS"}
    return all(row.expected_error >= ours[row.items] * (1 - 1e-9) for row in rows)


def render(rows: Sequence[ReportsRow], clients: int) -> Table:
    """The rows for a terminal."""
    goals = (
        (f"at least {GOAL:g} times faster on the same oracle, by the clock", faster(rows)),
        ("lowest error", closer(rows)),
    )
    table = Table(
        title=f"Reports of {clients:,} clients, epsilon {EPSILON:g}; mean squared errors in units of 1e-7",
        caption="goals: " + "; ".join(f"{goal}: {'met' if met else 'NOT met'}" for goal, met in goals),
    )
    headings = "items", "tool", "version", "oracle", "seconds", "ratio", "error", "on simplex", "expected", "crypto"
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("tool", "version", "oracle") else "right")
    last = rows[0].items
    for row in rows:
        if row.items != last:
            table.add_section()
            last = row.items
        expected, crypto = f"{row.expected_error * 1e7:.3f}", "yes" if row.cryptographic else "no"
        start = str(row.items), row.tool, row.version, row.oracle
        if row.seconds is None or row.error is None or row.error_on_simplex is None:
            table.add_row(*start, row.failure, "", "", "", expected, crypto)
            continue
        errors = f"{row.error * 1e7:.3f}", f"{row.error_on_simplex * 1e7:.3f}"
        table.add_row(*start, f"{row.seconds:.3f}", f"{row.ratio:.1f}", *errors, expected, crypto)
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="The clients' reports against other libraries.")
    parser.add_argument("--rows", type=int, default=CLIENTS, help="clients, one row each")
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS)
    parser.add_argument("--repeat", type=int, default=REPEAT, help="runs of ours")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds that a peer is given")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    rows = measure(options.rows, options.items, options.repeat, options.timeout)
    Console().print(render(rows, options.rows))
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
