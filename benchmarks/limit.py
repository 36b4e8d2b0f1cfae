"""How far blendp is from the least L1 that any epsilon-LDP report could give, at AOL size.

    python -m benchmarks.limit [--repeat 100] [--seed 9401] [--opt-in 0.05] [--epsilon 1 2 4] [--groups 10]

People are drawn anew from the law of an AOL-sized population, 5 % opt in, M = 50. For each epsilon blendp runs
``--repeat`` times. For one of its lists, the one that is in the middle by the formula of the column "alone", the best
channel is computed with its certificate (:mod:`benchmarks.best_channel`): L1 as blendp measures it, over the listed
queries, both vectors rescaled. Not private.

The columns:
    L1        of blendp, with its standard error,
    counts    of the opt-in people's exact counts, without any client,
    alone     if every query had all clients answer about it alone: v = 1/(n_O/p + n_C/(V + p)), V = E/(E-1)^2. Each
              query by itself can be known so well, but not all of them by the same reports,
    channel   of the best channel that was found, with the opt-in people's exact counts,
    bound     below which no channel is; gap, how far it is from the channel's,
    prior     the bound if the listed queries are also known to follow a power law,
    ratio     of blendp's L1 to the bound.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.best_channel import NORMAL, Solution, Task, best_channel, exact_counts, power_law
from blendp.arrays import Array
from blendp.evaluation.drawn_people import DrawnPeople, RecordLaw
from blendp.evaluation.metrics import l1
from blendp.logs import log_of_table
from blendp.logs.synthetic import USERS, population
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

HEAD = ("eps", "records", "queries", "L1", "counts", "alone", "channel", "bound", "gap", "prior", "ratio")


class Limit(NamedTuple):
    """What blendp reaches with one epsilon, and what could be reached."""

    epsilon: float
    records: float
    errors: Array
    """blendp's L1 in every run."""

    p: Array
    """The probabilities of the queries of the list in the middle, the wildcard's last."""

    counts: float
    alone: float
    exact: Solution
    prior: Solution

    def __str__(self) -> str:
        """A line of the table."""
        mean, error = self.errors.mean(), self.errors.std(ddof=1) / math.sqrt(len(self.errors))
        ratio = f"{mean / self.exact.bound:.2f} ± {error / self.exact.bound:.2f}"
        gap = f"{100 * self.exact.gap / self.exact.value:.2f} %"
        figures = (f"{x:.4f}" for x in (self.counts, self.alone, self.exact.value, self.exact.bound))
        first = (f"{self.epsilon:g}", f"{self.records:.1f}", f"{len(self.p) - 1}", f"{mean:.4f} ± {error:.4f}")
        return " | ".join((*first, *figures, gap, f"{self.prior.bound:.4f}", ratio))


def alone(p: Array, epsilon: float, opt_in: int, clients: int) -> float:
    """The L1 if every query had all clients answer about it alone, and the errors were independent."""
    listed = p[:-1]
    noise = math.exp(epsilon) / math.expm1(epsilon) ** 2
    variances = 1 / (opt_in / listed + clients / (noise + listed))
    shares = listed / listed.sum()
    rescaled = variances * (1 - 2 * shares) + shares**2 * variances.sum()
    return NORMAL * float(np.sqrt(rescaled).sum()) / float(listed.sum())


def exponent(p: Array) -> float:
    """alpha of the density p^-alpha, by Hill's estimator from the listed queries themselves."""
    listed = p[:-1]
    return 1 + len(listed) / float(np.log(listed / listed.min()).sum())


def limit(
    law: RecordLaw, epsilon: float, *, users: int, share: float, repeat: int, seed: int, groups: int = 10
) -> Limit:
    """Run blendp, and find the best channel for the list in the middle."""
    parameters = Parameters(epsilon=epsilon, delta=1e-5, size=50, opt_in_records=1)
    opt_in = round(share * users)
    clients = users - opt_in
    errors, records, lists = [], [], []
    for run in range(repeat):
        random = SimulationRandom(1_000 * seed + run)
        outcome = simulate_people(DrawnPeople.draw(law, users, share, parameters, random), parameters, random)
        head_list = outcome.head_list
        p = np.bincount(head_list.query_of_cell, weights=law.cells(head_list)).astype(np.float64)
        errors.append(l1(outcome.query_probability[:-1], p[:-1]))
        records.append(head_list.records)
        lists.append(p)
    p = sorted(lists, key=lambda p: alone(p, epsilon, opt_in, clients))[repeat // 2]
    counted = exact_counts(p, opt_in)
    exact, prior = (
        best_channel(Task(p, epsilon, clients, known), groups)
        for known in (counted, counted + power_law(p, exponent(p)))
    )
    counts, _, _ = Task(p, epsilon, clients, counted).error(counted)
    single = alone(p, epsilon, opt_in, clients)
    return Limit(epsilon, float(np.mean(records)), np.array(errors), p, counts, single, exact, prior)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How far blendp is from the best report there is.")
    parser.add_argument("--repeat", type=int, default=100, help="runs of blendp")
    parser.add_argument("--seed", type=int, default=9401)
    parser.add_argument("--opt-in", type=float, default=0.05, help="the share of people who opt in")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--groups", type=int, default=10, help="more of them take longer and make the gap smaller")
    parser.add_argument("--users", type=int, default=USERS["aol"])
    options = parser.parse_args(arguments)
    law = RecordLaw(log_of_table(population("aol", options.users, seed=options.seed).table()))
    print(f"{options.users:,} people, {100 * options.opt_in:g} % opt in, M = 50, {options.repeat} runs")
    print(" | ".join(HEAD))
    for epsilon in options.epsilon:
        shown = limit(
            law,
            epsilon,
            users=options.users,
            share=options.opt_in,
            repeat=options.repeat,
            seed=options.seed,
            groups=options.groups,
        )
        print(shown, flush=True)


if __name__ == "__main__":
    main()
