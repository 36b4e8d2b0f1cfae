"""Reports as they are chosen, wildcard apart or not, against subset selection: the same people, lists and seeds.

    python -m benchmarks.report_schemes [--runs 40] [--seed 4401] [--only aol] [--schemes split,auto]

People are drawn from the law of a synthetic population that nothing was tuned on; the clients' reports are drawn from
the law of their sums. For each share of opt-in people and each epsilon it prints the L1 of queries and of records and
1 - NDCG with each scheme, and their ratios, as means over runs with standard errors of paired differences. "Long"
populations have the same law and so many people that 200 records are listed at the smallest shares. Not private.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blendp.arrays import Array
from blendp.evaluation.drawn_people import DrawnPeople
from blendp.evaluation.figures.populations import AOL, YANDEX, FigurePopulation
from blendp.evaluation.metrics import l1, score, true_head
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

SHARES = (0.002, 0.01, 0.02, 0.05)
EPSILONS = (4.0, 2.0, 1.0)
MEASURES = ("L1 of queries", "L1 of records", "1 - NDCG")


@dataclass(frozen=True)
class Case:
    """People, of whom a share opts in, and a length of the list."""

    population: str
    users: int | None
    """None for as many as the data set has."""

    opt_in: float
    size: int
    epsilon: float


def cases() -> Iterator[Case]:
    """All that is compared."""
    for epsilon in EPSILONS:
        for share in SHARES:
            yield Case("aol", None, share, 50, epsilon)
            yield Case("yandex", None, share, 500, epsilon)
        yield Case("aol", None, 0.05, 200, epsilon)  # with fewer opt-in people no list has more than 50 records
        yield Case("long", 25_000_000, 0.01, 200, epsilon)
        yield Case("long", 125_000_000, 0.002, 200, epsilon)


def measured(case: Case, people: FigurePopulation, schemes: list[str], runs: int, seed: int) -> tuple[Array, float]:
    """The measures of every run (run, scheme, measure), and the mean length of the list."""
    users = people.users if case.users is None else case.users
    values, records = np.empty((runs, len(schemes), len(MEASURES))), 0
    for run in range(runs):
        for number, scheme in enumerate(schemes):
            parameters = Parameters(
                case.epsilon, people.setting.delta, size=case.size, randomiser=scheme, opt_in_records=1
            )
            random = SimulationRandom(seed + run)
            drawn = DrawnPeople.draw(people.law, users, case.opt_in, parameters, random)
            outcome = simulate_people(drawn, parameters, random)
            head_list = outcome.head_list
            head = true_head(head_list, people.law.locate(head_list), people.law.truth, case.size)
            scores = score(head_list, outcome.cell_probability, outcome.query_probability, head)
            cells = head_list.record_cells
            of_records = l1(outcome.cell_probability[cells], head.cells[cells]) if len(cells) else 1.0
            values[run, number] = scores.l1, of_records, 1 - scores.ndcg
        records += head_list.records
    return values, records / runs


def line(case: Case, values: Array, records: float, users: int) -> str:
    """A row of the table: means of both, and the ratio of the second to the first."""
    cells = [case.population, f"{users:,}", f"{100 * case.opt_in:g} %", f"{case.epsilon:g}", f"{records:.0f}"]
    for measure in range(len(MEASURES)):
        first, second = values[:, 0, measure], values[:, 1, measure]
        error = (second - first).std(ddof=1) / math.sqrt(len(first)) / first.mean() if first.mean() else 0.0
        cells.append(f"{first.mean():.4f}")
        cells.append(f"{second.mean():.4f}")
        cells.append(f"{second.mean() / first.mean() if first.mean() else 1:.3f} ± {error:.3f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Wildcard-apart reports against subset selection.")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=4401)
    parser.add_argument("--only", choices=("aol", "yandex", "long"))
    parser.add_argument("--schemes", default="split,auto", help="two of them: the second is compared with the first")
    options = parser.parse_args()
    schemes = options.schemes.split(",")
    settings = {"aol": AOL, "long": AOL, "yandex": YANDEX}
    known: dict[str, FigurePopulation] = {}
    heads = ["people", "how many", "opt in", "epsilon", "records"]
    heads += [text for measure in MEASURES for text in (f"{measure}, {schemes[0]}", schemes[1], "ratio")]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for case in cases():
        if options.only in (None, case.population):
            setting = settings[case.population]
            if setting.name not in known:
                known[setting.name] = FigurePopulation.synthetic(setting, None, options.seed)
            people = known[setting.name]
            values, records = measured(case, people, schemes, options.runs, options.seed)
            print(line(case, values, records, case.users or people.users), flush=True)


if __name__ == "__main__":
    main()
