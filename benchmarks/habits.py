"""How concentrated the people of a synthetic population are on what is listed, with habits and without.

    python -m benchmarks.habits [--people 200000] [--seed 1] [--quick]

Prints, for lists of the most probable records and for several means of records a person, the dispersion

    sum over people of sum_j y_j^2  /  sum over people of sum_j y_j

and the error that is left when everybody's shares are clipped to norm C and one common factor mends the sums:

    sum_j |c Z_j - Y_j| / sum_j Y_j,    Y = sum of y,   Z = sum of y min(1, C/|y|),   c = sum_j Y_j / sum_j Z_j

where:
    y_j  is the share of a person's records that are the listed record j.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from blendp.logs.synthetic import Population, law

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Concentration of synthetic people.")
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    users = 2_000 if options.quick else options.people
    table = Table(title=f"{users:,} people like AOL's")
    heads = ("habits", "mean records", "listed", "dispersion", *(f"clipped to {clip:g}" for clip in CLIPS))
    for head in heads:
        table.add_column(head, justify="right")
    cases = [
        (habits, mean, length)
        for habits in (False, True)
        for mean in MEANS
        for length in (LENGTHS if mean == MEANS[-2] else LENGTHS[1:2])
    ]
    for habits, mean, length in track(cases, "measuring", transient=True):
        row = measure(Population("aol", users, mean, habits=habits), length, options.seed)
        errors = (f"{error:.3f}" for error in row.clipped)
        table.add_row("yes" if habits else "no", f"{mean:g}", f"{length}", f"{row.dispersion:.3f}", *errors)
    Console().print(table)


if __name__ == "__main__":
    main()
