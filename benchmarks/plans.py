"""Plans of many records a person beside simulation.

    python -m benchmarks.plans [--people 519371] [--opt-in 0.05] [--runs 60] [--seed 1] [--quick]

For several means of records a person, with habits and without, people are drawn anew in every run and asked by the
method itself; beside the means stand the figures of one plan. Prints a table for docs/planning.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from blendp.arrays import Array
from blendp.evaluation.holding_people import SyntheticPeople
from blendp.evaluation.metrics import score, true_head
from blendp.evaluation.planner import HeadLaw, Plan, plan
from blendp.logs.synthetic import USERS, Population
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

MEANS = (20.0, 5.0)
EPSILONS = (4.0, 1.0)
FIGURES = ("candidates", "records", "top error", "L1", "NDCG")


@dataclass(frozen=True)
class Compared:
    """The figures of simulated releases, their standard errors, and the plan's."""

    simulated: Array
    error: Array
    planned: Array

    @property
    def off(self) -> Array:
        """How far the plan is from the simulation, as a share of it."""
        return np.asarray(self.planned / self.simulated - 1)


def compare(people: Population, opt_in: float, parameters: Parameters, runs: int, seed: int) -> Compared:
    """Simulate so many releases, and plan one."""
    random = SimulationRandom(seed)
    figures = np.array([simulated(people, opt_in, parameters, random.spawn()) for _ in range(runs)])
    law = HeadLaw.of_population(people.name, records_per_person=people.records_per_user, habits=people.habits)
    return Compared(
        figures.mean(axis=0),
        figures.std(axis=0, ddof=1) / np.sqrt(runs),
        np.array(_figures(plan(law, people.users, opt_in, parameters))),
    )


def simulated(source: Population, opt_in: float, parameters: Parameters, random: SimulationRandom) -> tuple[float, ...]:
    """The figures of one release about people who are drawn anew."""
    people = SyntheticPeople(source).draw(source.users, opt_in, random).ask(parameters, random)
    outcome = simulate_people(people, parameters, random)
    head_list = outcome.head_list
    head = true_head(head_list, people.locate(head_list), people.drawn.law.truth, parameters.size)
    scores = score(head_list, outcome.cell_probability, outcome.query_probability, head)
    return outcome.candidates, head_list.records, scores.top_error, scores.l1, scores.ndcg


def _figures(planned: Plan) -> tuple[float, ...]:
    scores = planned.scores
    return planned.candidates, planned.records, scores.top_error, scores.l1, scores.ndcg


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Plans of many records a person beside simulation.")
    parser.add_argument("--people", type=int, default=USERS["aol"])
    parser.add_argument("--opt-in", type=float, default=0.05)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    users, runs = (20_000, 2) if options.quick else (options.people, options.runs)
    table = Table(title=f"{users:,} people like AOL's, {runs} runs")
    for head in ("mean", "habits", "ε", *(f"{name}: {what}" for name in FIGURES for what in ("simulated", "planned"))):
        table.add_column(head, justify="right")
    cases = [(mean, habits, epsilon) for mean in MEANS for habits in (True, False) for epsilon in EPSILONS]
    for mean, habits, epsilon in track(cases, description="cases", console=Console(stderr=True)):
        people = Population("aol", users, mean, habits=habits)
        parameters = Parameters(epsilon=epsilon, delta=1e-5, opt_in_records="many")
        measured = compare(people, options.opt_in, parameters, runs, options.seed)
        cells = [
            text
            for i, digits in enumerate((1, 1, 4, 4, 4))
            for text in (
                f"{measured.simulated[i]:.{digits}f} ± {measured.error[i]:.{digits}f}",
                f"{measured.planned[i]:.{digits}f}",
            )
        ]
        table.add_row(f"{mean:g}", "yes" if habits else "no", f"{epsilon:g}", *cells)
    Console(width=180).print(table)


if __name__ == "__main__":
    main()
