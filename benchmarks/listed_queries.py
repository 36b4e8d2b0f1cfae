"""How many records and queries one record a person lists, and the noise of their totals, on a synthetic log.

    python -m benchmarks.listed_queries [--like aol] [--users 519371] [--opt-in 0.05] [--runs 20] [--seed 1]

Opt-in people are drawn anew in each run; noise has a stream of its own, so another version of blendp sees the same
people. Printed are means with their standard errors, the standard deviation of the noise of a record's total, and that
of a rest.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blendp.evaluation.drawn_people import DrawnPeople, RecordLaw
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.mechanisms import AsymmetricList
from blendp.methods import Parameters
from blendp.methods.blendp import publish
from blendp.randomness import SimulationRandom

HEAD = ("ε", "δ", "records", "queries", "without a URL", "of the true 50 queries", "sd of totals", "sd of rests")
TOP = 50


@dataclass(frozen=True)
class Lists:
    """What some runs list: a row of numbers for each."""

    epsilon: float
    delta: float
    numbers: np.ndarray
    total_noise: float
    rest_noise: float

    def __str__(self) -> str:
        """A row of the table."""
        error = self.numbers.std(axis=0, ddof=1) / math.sqrt(len(self.numbers))
        cells = [f"{mean:.1f} ± {e:.1f}" for mean, e in zip(self.numbers.mean(axis=0), error, strict=True)]
        noise = (f"{self.total_noise:.2f}", f"{self.rest_noise:.2f}")
        return f"| {' | '.join((f'{self.epsilon:g}', f'{self.delta:g}', *cells, *noise))} |"


def measure(law: RecordLaw, users: int, opt_in: float, parameters: Parameters, runs: int, seed: int) -> Lists:
    """The lists of so many runs, each of people drawn anew."""
    truth, maker = law.truth, parameters.list_maker(2)
    assert isinstance(maker, AsymmetricList)
    assert maker.wildcard_noise is not None
    best = np.argsort(-truth.query, kind="stable")[:TOP]
    first = np.searchsorted(truth.query_id, best)
    true_queries = {query for query, _ in law.texts(first)}
    numbers = []
    for run in range(runs):
        people = DrawnPeople.draw(law, users, opt_in, parameters, SimulationRandom(1_000 * seed + run))
        listed = publish(people, parameters, SimulationRandom(1_000 * seed + run + 500), lambda _: None)
        labels = listed.released.head_list.labels[:-1]
        queries, with_url = {query for query, _ in labels}, {query for query, url in labels if url is not None}
        records = sum(url is not None for _, url in labels)
        numbers.append((records, len(queries), len(queries - with_url), len(queries & true_queries)))
    deviations = (math.sqrt(noise.variance) for noise in (maker.noise, maker.wildcard_noise))
    return Lists(float(parameters.epsilon), float(maker.budget.delta), np.array(numbers), *deviations)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", choices=("aol", "aol-sparse"), default="aol")
    parser.add_argument("--users", type=int, default=519_371)
    parser.add_argument("--opt-in", type=float, default=0.05)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    law = RecordLaw(log_of_table(population(options.like, options.users, seed=options.seed).table()))
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for delta in (1e-6, 1e-5):
        for epsilon in (1.0, 4.0):
            parameters = Parameters(epsilon=epsilon, delta=delta, opt_in_records=1, size=None)
            print(measure(law, options.users, options.opt_in, parameters, options.runs, options.seed), flush=True)


if __name__ == "__main__":
    main()
