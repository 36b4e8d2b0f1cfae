"""What lies beside the listed URLs of synthetic people: how many queries have one URL alone, and how large rests are.

    python -m benchmarks.rests [--like aol aol-sparse] [--people 519371] [--opt-in 0.05] [--epsilon 4] [--delta 1e-5]
                               [--runs 20] [--seed 1] [--quick]

Everybody has one record, and all that pass are listed. For each population: how many records and queries are listed,
how many of them by their rests, and of the queries with a listed URL, by their place among these,

    one URL    the share of queries that have one URL alone,
    no rest    the share of those with nothing beside their listed URLs,
    rest       1 - sum of w_u over listed u: its median and its .75 and .9 quantiles,
    main URL   the mean of the largest w_u,
    URLs       how many a query has: the .1 quantile, the median and the .9 quantile

where:
    w_u  is the share that the URL u has of its query, by the law.

Queries of all runs are taken together; a standard error is that of the mean over the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from blendp.arrays import Array, Ids, falling_order
from blendp.evaluation.drawn_people import DrawnPeople, RecordLaw
from blendp.evaluation.law_records import LawRecords
from blendp.logs.synthetic import NAMES, USERS, law
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

PLACES = (0, 50, 100, 200)


@dataclass(frozen=True, eq=False)
class Listed:
    """One list: its lengths, and the law of its queries with a listed URL, the most probable first."""

    records: int
    queries: int
    by_rest: int
    """How many queries are listed without a URL."""

    rest: Array = field(repr=False)
    main: Array = field(repr=False)
    urls: Ids = field(repr=False)


@dataclass(frozen=True)
class Rests:
    """What the queries at some places have in common, over all runs."""

    queries: float
    """How many there are in a list."""

    one_url: float
    no_rest: float
    rest: tuple[float, ...]
    main: float
    urls: tuple[float, ...]


def draw_list(people: RecordLaw, users: int, opt_in: float, parameters: Parameters, seed: int) -> Listed:
    """A list of people drawn from a law of :class:`LawRecords`."""
    random = SimulationRandom(seed)
    drawn = DrawnPeople.draw(people, users, opt_in, parameters, random)
    head_list = simulate_people(drawn, parameters, random).head_list
    cells = np.setdiff1d(head_list.record_cells, head_list.bare_cells)
    listed = np.isin(people.locate(head_list)[:-1], cells)
    query, many = np.unique(people.truth.query_id[listed], return_counts=True)
    inside = np.bincount(people.truth.query_id[listed], weights=people.truth.record[listed])[query]
    order = falling_order(people.truth.query[query])
    query, many, inside = query[order], many[order], inside[order]
    records = people.log
    assert isinstance(records, LawRecords)
    shares = records.law.url_shares[records.law.profile_of(records.ranks[query])]
    urls = np.count_nonzero(shares, axis=1)
    rest = np.where(many < urls, 1 - inside / people.truth.query[query], 0.0)
    return Listed(head_list.records, head_list.queries, len(head_list.bare_cells), rest, shares[:, 0], urls)


def rests_at(lists: Sequence[Listed], first: int, stop: int) -> Rests:
    """Those of the queries from one place to before another."""
    rest, main, urls = (
        np.concatenate([getattr(one, name)[first:stop] for one in lists]) for name in ("rest", "main", "urls")
    )
    return Rests(
        len(rest) / len(lists),
        float((urls == 1).mean()),
        float((rest == 0).mean()),
        tuple(np.quantile(rest, (0.5, 0.75, 0.9)).tolist()),
        float(main.mean()),
        tuple(np.quantile(urls, (0.1, 0.5, 0.9)).tolist()),
    )


def _with_error(values: Sequence[int]) -> str:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{np.mean(values):.1f} ± {error:.1f}"


def _table(title: str, lists: Sequence[Listed]) -> Table:
    table = Table(title=title)
    for head in (
        "places",
        "queries",
        "one URL",
        "no rest",
        "rest: p50 / p75 / p90",
        "main URL",
        "URLs: p10 / p50 / p90",
    ):
        table.add_column(head, justify="right")
    for first, stop in pairwise(PLACES):
        if not any(len(one.rest) > first for one in lists):
            break
        row = rests_at(lists, first, stop)
        table.add_row(
            f"{first + 1}-{stop}",
            f"{row.queries:.0f}",
            f"{row.one_url:.0%}",
            f"{row.no_rest:.0%}",
            " / ".join(f"{value:.3f}" for value in row.rest),
            f"{row.main:.2f}",
            " / ".join(f"{value:.0f}" for value in row.urls),
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Rests of listed queries of synthetic people.")
    parser.add_argument("--like", choices=NAMES, nargs="+", default=["aol", "aol-sparse"])
    parser.add_argument("--people", type=int, default=USERS["aol"])
    parser.add_argument("--opt-in", type=float, default=0.05)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    people, runs = (40_000, 2) if options.quick else (options.people, options.runs)
    parameters = Parameters(epsilon=options.epsilon, delta=options.delta, size=None, opt_in_records=1)
    for name in options.like:
        records = RecordLaw(LawRecords.of_ranks(law(name), np.array([], dtype=np.int64)))
        lists = [
            draw_list(records, people, options.opt_in, parameters, options.seed + run)
            for run in track(range(runs), name, transient=True)
        ]
        lengths = ", ".join(
            f"{_with_error([getattr(one, kind) for one in lists])} {said}"
            for kind, said in (("records", "records"), ("queries", "queries"), ("by_rest", "of them by their rests"))
        )
        Console().print(_table(f"{people:,} people like {name}: {lengths}", lists))


if __name__ == "__main__":
    main()
