"""Experiments on the populations of the figures: each is made once, however many figures show it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blendp.errors import require_count
from blendp.evaluation.drawn_people import DrawnPeople
from blendp.evaluation.figures.populations import FigurePopulation
from blendp.evaluation.metrics import Scores, TrueHead, score, true_head
from blendp.methods import Parameters, Simulation, simulate_people
from blendp.methods.progress import Progress, silent
from blendp.randomness import SimulationRandom


@dataclass(frozen=True)
class Mean:
    """The mean of some runs and its standard error; nan where it is unknown."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of these values; unknown where one of them is."""
        many = len(values)
        if not np.isfinite(values).all():
            return cls(math.nan, math.nan)
        error = float(np.std(values, ddof=1)) / math.sqrt(many) if many > 1 else math.nan
        return cls(float(np.mean(values)) if many else math.nan, error)


@dataclass(frozen=True)
class Experiment:
    """One method with one set of parameters on people drawn from one population."""

    population: str
    opt_in: float
    parameters: Parameters

    def seed(self, seed: int) -> int:
        """The seed of this experiment under a seed for all: it does not depend on what else is made.

        Experiments that differ in the share for the query alone have the same seed, so the same opt-in people and list.
        """
        identity = f"{seed} {self.population} {self.opt_in!r} {replace(self.parameters, query_share=None)!r}"
        return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for data files."""
        return {"population": self.population, "opt_in": self.opt_in, **self.parameters.to_dict()}

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.population}: {self.parameters}, {100 * self.opt_in:.3g} % opt in"


@dataclass(frozen=True, eq=False)
class Played:
    """One run of an experiment, with the truth about its list."""

    outcome: Simulation
    head: TrueHead
    random: SimulationRandom
    """The rest of the run's randomness."""

    def score(self) -> Scores:
        """How good the blended estimates are."""
        return score(self.outcome.head_list, self.outcome.cell_probability, self.outcome.query_probability, self.head)

    def measures(self) -> dict[str, float]:
        """Everything that figures show of a run, by name."""
        head_list, blended = self.outcome.head_list, self.score()
        groups = {
            name: score(head_list, group.cells.probability, group.queries.probability, self.head)
            for name, group in (("opt_in", self.outcome.opt_in), ("client", self.outcome.client))
        }
        return {
            "l1": blended.l1,
            "ndcg": blended.ndcg,
            "ndcg_list": blended.ndcg_list,
            "ndcg_random": blended.ndcg_random,
            "ndcg_list_random": blended.ndcg_list_random,
            **{f"{name}_l1": scores.l1 for name, scores in groups.items()},
            **{f"{name}_ndcg": scores.ndcg for name, scores in groups.items()},
            **{f"{name}_ndcg_list": scores.ndcg_list for name, scores in groups.items()},
            "records": head_list.records,
            "queries": head_list.queries,
            "candidates": self.outcome.candidates,
            "reached": float(head_list.records >= (self.outcome.parameters.size or 0)),
        }


@dataclass(frozen=True)
class Point:
    """One line of a figure's data: what it is about, and means with their standard errors by name."""

    about: Mapping[str, Any]
    means: Mapping[str, Mean]


@dataclass(frozen=True, eq=False)
class Laboratory:
    """Makes experiments, each of so many runs, and remembers their means."""

    populations: Mapping[str, FigurePopulation]
    runs: int
    seed: int = 0
    progress: Progress = silent
    _done: dict[Experiment, Point] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse no runs, and seeds that are none."""
        require_count("runs", self.runs, min_value=1, remedy="Ask for at least one run, 2 for standard errors.")
        require_count("seed", self.seed, min_value=0, remedy="Use a whole number such as 0.")

    def measure(self, experiment: Experiment) -> Point:
        """The means of all measures of an experiment."""
        if experiment not in self._done:
            runs = [played.measures() for played in self.play(experiment)]
            means = {name: Mean.of([values[name] for values in runs]) for name in runs[0]}
            self._done[experiment] = Point(self.about(experiment), means)
        return self._done[experiment]

    def about(self, experiment: Experiment, seed: int | None = None) -> dict[str, Any]:
        """What a data file tells about an experiment."""
        users = self.populations[experiment.population].users
        used = experiment.seed(self.seed) if seed is None else seed
        return {**experiment.to_dict(), "users": users, "runs": self.runs, "seed": used}

    def play(self, experiment: Experiment, seed: int | None = None) -> Iterator[Played]:
        """The runs of an experiment, each with fresh people; with the seed of another, as far as it goes the same."""
        self.progress(str(experiment))
        people, parameters = self.populations[experiment.population], experiment.parameters
        law, stream = people.law, SimulationRandom(experiment.seed(self.seed) if seed is None else seed)
        for _ in range(self.runs):
            random = stream.spawn()
            drawn = DrawnPeople.draw(law, people.users, experiment.opt_in, parameters, random)
            outcome = simulate_people(drawn, parameters, random)
            head_list = outcome.head_list
            size = parameters.size or max(1, head_list.records)
            yield Played(outcome, true_head(head_list, law.locate(head_list), law.truth, size), random)
