"""How concentrated the people of a synthetic population are on what is listed, and what all their records are worth.

    python -m benchmarks.habits [--like aol] [--people 200000] [--seed 1] [--quick]
    python -m benchmarks.habits --gain [--like aol aol-sparse] [--people 519371] [--mean 19] [--epsilon 4]
                                [--delta 1e-5 1e-6] [--runs 20] [--seed 1] [--quick]

Prints, for lists of the most probable records and for several means of records a person, the dispersion

    sum over people of sum_j y_j^2  /  sum over people of sum_j y_j

and the error that is left when everybody's shares are clipped to norm C and one common factor mends the sums:

    sum_j |c Z_j - Y_j| / sum_j Y_j,    Y = sum of y,   Z = sum of y min(1, C/|y|),   c = sum_j Y_j / sum_j Z_j

where:
    y_j  is the share of a person's records that are the listed record j.

With ``--gain`` the same people with habits, of whom 5 % opt in, are asked for one record each and for all: how many
records with a URL and how many queries are listed, the L1 of a list of 50, and the ratios of their means. A standard
error is that of the mean over the runs; ratios are paired run by run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.many_records import mean, ratio, shown
from blendp.arrays import Array
from blendp.evaluation.holding_people import OptInHoldings, SyntheticPeople
from blendp.evaluation.metrics import l1
from blendp.logs.synthetic import NAMES, USERS, Population, law
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

MEANS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0)
LENGTHS = (50, 100, 300)
CLIPS = (0.3, 0.5, 0.7)


@dataclass(frozen=True)
class Concentration:
    """What is seen of one list."""

    length: int
    dispersion: float
    clipped: tuple[float, ...]
    """The error that is left, for each of the norms."""


def measure(people: Population, length: int, seed: int) -> Concentration:
    """The dispersion of a list of so many records, and what clipping does to it."""
    counts, ranks, places = people.draw(np.random.default_rng(seed), people.users)
    width = law(people.name).url_shares.shape[1]
    top_ranks, top_places, _ = law(people.name).top_records(length)
    listed = np.sort(top_ranks * width + top_places)
    codes = ranks * width + places
    cells = np.minimum(np.searchsorted(listed, codes), length - 1)
    seen = listed[cells] == codes
    owners = np.repeat(np.arange(people.users), counts)[seen]
    pairs, times = np.unique(owners * length + cells[seen], return_counts=True)
    owner, cell = np.divmod(pairs, length)
    share = times / counts[owner]
    norm = np.sqrt(np.bincount(owner, weights=share**2, minlength=people.users))[owner]
    total = np.bincount(cell, weights=share, minlength=length)
    errors = []
    for clip in CLIPS:
        kept = np.bincount(cell, weights=share * np.minimum(1, clip / norm), minlength=length)
        errors.append(float(np.abs(kept * (total.sum() / kept.sum()) - total).sum() / total.sum()))
    return Concentration(length, float((share**2).sum() / share.sum()), tuple(errors))


def listed_and_error(drawn: OptInHoldings, parameters: Parameters, seed: int) -> tuple[int, int, float]:
    """How many records with a URL and how many queries are listed, and the L1 of the queries if M is 50."""
    every, first = (
        simulate_people(drawn.ask(asked, random), asked, random)
        for size in (None, 50)
        for asked, random in [(replace(parameters, size=size), SimulationRandom(seed).spawn())]
    )
    records = every.head_list.records - len(every.head_list.bare_cells)
    cells = drawn.law.cells(first.head_list)
    truth = np.bincount(first.head_list.query_of_cell, weights=cells)[:-1].astype(np.float64)
    return records, every.head_list.queries, l1(first.query_probability[:-1], truth)


def one_and_all(people: Population, epsilon: float, delta: float, runs: int, seed: int) -> tuple[Array, Array]:
    """What :func:`listed_and_error` gives of one record each and of all records, a row a figure, a column a run."""
    ways: dict[int | str, list[tuple[int, int, float]]] = {1: [], "many": []}
    for run in track(range(runs), people.name, transient=True):
        drawn = SyntheticPeople(people).draw(people.users, 0.05, SimulationRandom(seed + run))
        for way, figures in ways.items():
            parameters = Parameters(epsilon=epsilon, delta=delta, opt_in_records=way)
            figures.append(listed_and_error(drawn, parameters, 10**9 + seed + run))
    one, every = (np.array(figures, dtype=np.float64).T for figures in ways.values())
    return one, every


def _print_gains(options: argparse.Namespace) -> None:
    runs, people = (2, 20_000) if options.quick else (options.runs, options.people or USERS["aol"])
    table = Table(title=f"{people:,} people with habits, {options.mean:g} records each, {runs} runs")
    for head in ("people", "ε", "δ", "asked for", "records with a URL", "queries", "L1 of 50"):
        table.add_column(head, justify="right")
    for name in options.like or ("aol", "aol-sparse"):
        for epsilon in options.epsilon:
            for delta in options.delta:
                some = Population(name, people, options.mean, habits=True)
                one, every = one_and_all(some, epsilon, delta, runs, options.seed)
                setting = (name, f"{epsilon:g}", f"{delta:g}")
                table.add_row(*setting, "one record", *(shown(mean(values)) for values in one))
                table.add_row(*setting, "all records", *(shown(mean(values)) for values in every))
                ratios = (shown(ratio(*pair)) for pair in zip(every, one, strict=True))
                table.add_row(*setting, "all / one", *ratios)
    Console(width=110).print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Concentration of synthetic people.")
    parser.add_argument("--like", choices=NAMES, nargs="+", help="whose people; aol if nothing is said")
    parser.add_argument("--people", type=int)
    parser.add_argument("--gain", action="store_true", help="what all records of each are worth beside one")
    parser.add_argument("--mean", type=float, default=19.0, help="records of a person on average, with --gain")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[4.0], help="with --gain")
    parser.add_argument("--delta", type=float, nargs="+", default=[1e-5, 1e-6], help="with --gain")
    parser.add_argument("--runs", type=int, default=20, help="with --gain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    if options.gain:
        _print_gains(options)
    else:
        for name in options.like or ("aol",):
            _print_concentration(name, 2_000 if options.quick else options.people or 200_000, options.seed)


def _print_concentration(name: str, users: int, seed: int) -> None:
    table = Table(title=f"{users:,} people like {name}")
    heads = ("habits", "mean records", "listed", "dispersion", *(f"clipped to {clip:g}" for clip in CLIPS))
    for head in heads:
        table.add_column(head, justify="right")
    cases = [
        (habits, records, length)
        for habits in (False, True)
        for records in MEANS
        for length in (LENGTHS if records == MEANS[-2] else LENGTHS[1:2])
    ]
    for habits, records, length in track(cases, "measuring", transient=True):
        row = measure(Population(name, users, records, habits=habits), length, seed)
        errors = (f"{error:.3f}" for error in row.clipped)
        table.add_row("yes" if habits else "no", f"{records:g}", f"{length}", f"{row.dispersion:.3f}", *errors)
    Console().print(table)


if __name__ == "__main__":
    main()
