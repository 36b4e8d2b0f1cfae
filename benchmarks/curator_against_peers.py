"""The curator's private list against other libraries: from the same Parquet file, with the same promise, in one run.

    python -m benchmarks.curator_against_peers [--rows 5000000] [--unit replace] [--json FILE]

The log is invented: a tenth as many different queries as rows, zipf-like, and 40 rows a user. Every library reads it,
takes one row of each user and lists queries with (epsilon, delta) = (4, 1e-5) for each user. The promise of blendp is
about the replacement of all rows of a user, OpenDP can be asked for the same, and libraries that protect only whether
a user is there get half of epsilon and the delta that makes their two steps a replacement. ``--unit presence`` asks
all of them for the presence of a user instead.

The clock runs from the file to the texts of the list, without starting and importing, each in a process of its own;
ours is the median of several runs, the others' is one. "Planning" is the part of it that finds the noise for the
promise, and does not grow with the log. blendp and OpenDP release noisy counts as well; the other two spend everything
on the list.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.peers.environment import TIMEOUT, Answer, Peer, PeerError, ask, attempt, cache

ROWS, ROWS_PER_USER, ROWS_PER_KEY = 5_000_000, 40, 10
EPSILON, DELTA = 4.0, 1e-5
SEED, REPEAT = 4, 3
GOAL = 5.0
UNITS = ("replace", "presence")

OURS = Peer("blendp", None, "blendp", "list_blendp")
PEERS = (
    Peer("OpenDP, polars", "opendp", "opendp", "list_opendp"),
    Peer("PipelineDP, local", "pipelinedp", "pipeline-dp", "list_pipelinedp"),
    Peer("Tumult Analytics, Spark", "tumult", "tmlt.analytics", "list_tumult"),
)
WITH_TOTALS = (OURS, PEERS[0])
"""Who releases noisy counts with the list."""


@dataclass(frozen=True)
class ListRow:
    """One library's list."""

    tool: str
    version: str
    totals: bool
    """Whether noisy counts are released with the list."""
    seconds: float | None = None
    ratio: float | None = None
    """Its seconds over blendp's."""
    planning: float | None = None
    """How many of the seconds went into finding the noise, before any data was read; None where it cannot be told."""
    keys: int | None = None
    """The length of its list."""
    in_true_top: int | None = None
    """How many of its keys are among as many that are most frequent in truth."""
    failure: str | None = None
    """Why there is no result."""


@dataclass(frozen=True)
class Log:
    """A log in a file, and its queries by falling frequency."""

    path: Path
    by_frequency: Sequence[str]


def make_log(path: Path, rows: int, seed: int = SEED) -> Log:
    """Invent a log: every query occurs once, and the rest is drawn with probabilities as 1/rank."""
    generator = np.random.default_rng(seed)
    keys, users = max(1, rows // ROWS_PER_KEY), max(1, rows // ROWS_PER_USER)
    law = np.cumsum(1 / np.arange(1, keys + 1))
    drawn = np.searchsorted(law, generator.random(rows - keys) * law[-1], side="right")
    key = generator.permutation(np.concatenate([np.arange(keys), np.minimum(drawn, keys - 1)]))
    user = generator.permutation(np.arange(rows) % users)
    names = pa.array([f"query {code:06x}" for code in generator.permutation(keys).tolist()])
    people = pa.array([f"u{number:06d}" for number in range(users)])
    pq.write_table(pa.table({"user": people.take(pa.array(user)), "query": names.take(pa.array(key))}), path)
    order = np.argsort(-np.bincount(key, minlength=keys), kind="stable")
    return Log(path, names.take(pa.array(order)).to_pylist())


def measure(
    rows: int = ROWS,
    unit: str = "replace",
    repeat: int = REPEAT,
    timeout: float = TIMEOUT,
    peers: Sequence[Peer] = PEERS,
) -> list[ListRow]:
    """One at a time, with a run of ours before each peer's, so that a noisy machine disturbs both alike."""
    with TemporaryDirectory(dir=cache()) as folder:
        log = make_log(Path(folder) / "log.parquet", rows)
        arguments = (str(log.path), "--unit", unit, "--epsilon", repr(EPSILON), "--delta", repr(DELTA))
        runs: list[Answer] = []
        answers: list[Answer | PeerError] = []
        for turn in range(max(repeat, len(peers))):
            if turn < repeat:
                runs.append(ask(OURS, arguments, timeout))
            if turn < len(peers):
                answers.append(attempt(peers[turn], arguments, timeout))
    ours = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
    pairs = zip((OURS, *peers), (ours, *answers), strict=True)
    return [_row(peer, answer, ours.seconds, log.by_frequency) for peer, answer in pairs]


def _row(peer: Peer, answer: Answer | PeerError, ours: float, by_frequency: Sequence[str]) -> ListRow:
    totals = peer in WITH_TOTALS
    if isinstance(answer, PeerError):
        return ListRow(peer.name, peer.version, totals, failure=str(answer))
    keys = answer.result["keys"]
    return ListRow(
        tool=peer.name,
        version=peer.version,
        totals=totals,
        seconds=answer.seconds,
        ratio=answer.seconds / ours,
        planning=answer.result["planning"],
        keys=len(keys),
        in_true_top=len(set(by_frequency[: len(keys)]).intersection(keys)),
    )


def goal_met(rows: Sequence[ListRow]) -> bool:
    """Whether every peer that has a result takes at least five times as long as we do, and one has."""
    ratios = [row.ratio for row in rows[1:] if row.ratio is not None]
    return min(ratios, default=0.0) >= GOAL


def render(rows: Sequence[ListRow], many: int, unit: str) -> Table:
    """The rows for a terminal."""
    what = "replacement of a user's rows" if unit == "replace" else "presence of a user"
    met = "met" if goal_met(rows) else "NOT met"
    table = Table(
        title=f"A private list of {many:,} rows, ({EPSILON:g}, {DELTA:g}) for the {what}",
        caption=f"goal, at least {GOAL:g} times faster than every other, by the clock: {met}",
    )
    headings = "tool", "version", "seconds", "ratio", "planning", "keys", "of them in the true top", "totals too"
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("tool", "version") else "right")
    for row in rows:
        if row.seconds is None:
            table.add_row(row.tool, row.version, row.failure)
            continue
        planning = "" if row.planning is None else f"{row.planning:.2f}"
        figures = f"{row.seconds:.2f}", f"{row.ratio:.1f}", planning, f"{row.keys:,}", f"{row.in_true_top:,}"
        table.add_row(row.tool, row.version, *figures, "yes" if row.totals else "no")
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="The curator's private list against other libraries.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--unit", choices=UNITS, default="replace", help="what is protected")
    parser.add_argument("--repeat", type=int, default=REPEAT, help="runs of ours")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds that a peer is given")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    rows = measure(options.rows, options.unit, options.repeat, options.timeout)
    Console().print(render(rows, options.rows, options.unit))
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
