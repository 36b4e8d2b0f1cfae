"""Running a method several times on a log whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blendp.engines import Truth
from blendp.errors import require_count
from blendp.evaluation.metrics import Scores, TrueHead, score, true_head
from blendp.headlist import HeadList
from blendp.methods import Parameters, Simulation, simulate
from blendp.methods.log import Log, OptIn
from blendp.methods.objectives import top_named
from blendp.methods.progress import Progress
from blendp.randomness import SimulationRandom
from blendp.shown import Shown
from blendp.spelling import counted


class TrueLog(Log, Protocol):
    """A log that also tells its truth."""

    def truth(self) -> Truth:
        """The probability of every record: a uniformly drawn record of a uniformly drawn user."""

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record, and last that of no record."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One run, with the scores of the blend and of each group alone."""

    outcome: Simulation
    head: TrueHead
    blended: Scores
    opt_in: Scores
    client: Scores


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown):
    """Several independent runs. Computed from the raw log without protection: not private."""

    parameters: Parameters
    opt_in: float | None
    """The share of users who opted in; None where marks said who."""

    seed: int
    trials: tuple[Trial, ...]
    reading: Mapping[str, Any] | None = None
    """How the log was read, and which of its rows count, if that is known."""

    @property
    def records(self) -> int:
        """How many records all lists have together."""
        return sum(trial.outcome.head_list.records for trial in self.trials)

    def runs(self) -> list[dict[str, Any]]:
        """The figures of every run."""
        return [_figures(trial) for trial in self.trials]

    def to_dict(self) -> dict[str, Any]:
        """Means over the runs, with their standard errors beside them under ``std_error``."""
        runs = self.runs()
        means, errors = _summary(runs)
        return {
            "private": False,
            "method": self.parameters.method,
            "epsilon": self.parameters.epsilon,
            "delta": self.parameters.budget.delta,
            **means,
            "std_error": errors,
            "repeat": len(runs),
            "seed": self.seed,
            "parameters": {**self.parameters.to_dict(), "opt_in": self.opt_in},
            "users": self.trials[0].outcome.groups.to_dict(),
            **({} if self.reading is None else {"reading": dict(self.reading)}),
        }

    def _brief(self) -> str:
        figures = self.to_dict()
        named = (("top error", "top_error"), ("L1", "l1"), ("NDCG", "ndcg"))
        shown = (f"{name} {figures[key]:.3f}" for name, key in named if figures[key] is not None)
        return ", ".join(["not private", *shown, str(self.parameters.budget), counted(len(self.trials), "run")])

    def __str__(self) -> str:
        """The means in two lines, for people."""
        figures = self.to_dict()
        shown = ", ".join(
            f"{name}: {'unknown' if figures[key] is None else format(figures[key], '.4f')}"
            for name, key in (
                (top_named(self.parameters.size), "top_error"),
                ("L1", "l1"),
                ("NDCG", "ndcg"),
                ("of a random order", "ndcg_random"),
            )
        )
        return (
            f"{self.parameters}, {counted(len(self.trials), 'run')}: {shown}\nNot private: computed from the raw log."
        )


def evaluate(
    log: TrueLog,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    repeat: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Run the method ``repeat`` times with independent randomness and compare each result with the log's truth."""
    require_count("repeat", repeat, min_value=1, remedy="Ask for at least one run.")
    parameters = parameters or Parameters()
    truth = log.truth()
    random = SimulationRandom(seed)
    trials = []
    for run in range(repeat):
        if progress is not None:
            progress(f"run {run + 1} of {repeat}")
        trials.append(_trial(log, truth, parameters, opt_in, random.spawn()))
    fitted = parameters.fitted(trials[0].outcome.groups.people)
    share = opt_in if isinstance(opt_in, float) else None
    return Evaluation(fitted, share, seed, tuple(trials), getattr(log, "reading", None))


def _trial(log: TrueLog, truth: Truth, parameters: Parameters, opt_in: OptIn, random: SimulationRandom) -> Trial:
    outcome = simulate(log, parameters, opt_in=opt_in, random=random)
    head_list = outcome.head_list
    head = true_head(head_list, log.locate(head_list), truth, parameters.size, parameters.trim_unit)
    opt_in_scores, client_scores = (
        score(head_list, group.cells.probability, group.queries.probability, head)
        for group in (outcome.opt_in, outcome.client)
    )
    blended = score(head_list, outcome.cell_probability, outcome.query_probability, head)
    return Trial(outcome, head, blended, opt_in_scores, client_scores)


def _figures(trial: Trial) -> dict[str, Any]:
    head_list = trial.outcome.head_list
    return {
        **asdict(trial.blended),
        "head_list_records": head_list.records,
        "head_list_queries": head_list.queries,
        "candidate_records": trial.outcome.candidates,
        "wildcard_mass": float(trial.outcome.query_probability[-1]),
        "groups": {
            name: {key: getattr(scores, key) for key in ("top_error", "l1", "ndcg", "ndcg_list")}
            for name, scores in (("opt_in", trial.opt_in), ("client", trial.client))
        },
    }


def _summary(runs: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Means and standard errors, value by value, of equally shaped dictionaries of numbers."""
    means: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    for key, first in runs[0].items():
        values = [run[key] for run in runs]
        if isinstance(first, dict):
            means[key], errors[key] = _summary(values)
            continue
        known = np.array(values, dtype=np.float64)
        fine = bool(np.isfinite(known).all())
        means[key] = float(known.mean()) if fine else None
        errors[key] = float(known.std(ddof=1) / math.sqrt(len(known))) if fine and len(known) > 1 else None
    return means, errors
