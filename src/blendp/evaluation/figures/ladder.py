"""From the published method to blendp, one improvement at a time, and what full trust would give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blendp.estimate import project_on_simplex
from blendp.evaluation.figures.figure import Figure, Line, Panel, Recipe, Table, pm
from blendp.evaluation.figures.laboratory import Experiment, Laboratory, Mean, Played, Point
from blendp.evaluation.figures.populations import Grid, Setting
from blendp.evaluation.metrics import score
from blendp.mechanisms import DiscreteLaplace

EPSILONS = (4.0, 1.0)

RUNGS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("published method", {"method": "published"}),
    ("+ asymmetric list", {"method": "blendp", "randomiser": "two-stage", "head_list_share": 0.95}),
    ("+ counts of all opt-in users", {"method": "blendp", "randomiser": "two-stage"}),
    ("+ tight two-stage reports", {"method": "blendp", "randomiser": "two-stage-tight"}),
    ("+ split subset selection", {"method": "blendp", "randomiser": "split", "prior": "none"}),
    ("+ prior (blendp)", {"method": "blendp", "randomiser": "split"}),
)
"""Each keeps what those before it brought."""

BOUND = "everybody trusts the curator"


@dataclass(frozen=True)
class Ladder(Recipe):
    """The scores of every rung, at two budgets, on every population."""

    def steps(self, settings: Sequence[Setting], grid: Grid) -> set[object]:
        """What has to be played."""
        del grid
        return {
            (self.name, experiment)
            for setting in settings
            for epsilon in EPSILONS
            for _, experiment in _experiments(setting, epsilon)
        }

    def make(self, settings: Sequence[Setting], grid: Grid, laboratory: Laboratory) -> Figure:
        """Play every rung; the bound is played on the lists of the last."""
        del grid
        points = [
            point for setting in settings for epsilon in EPSILONS for point in _climb(laboratory, setting, epsilon)
        ]
        names = (*(name for name, _ in RUNGS), BOUND)
        panels = tuple(
            Panel(title, "", title, _lines(points, measure), rows=names, log=True)
            for title, measure in (
                ("L1 of query probabilities", "l1"),
                ("1 − NDCG of the list", "ndcg_loss"),
                ("records that pass the threshold", "candidates"),
            )
        )
        header = ("Step", "Population", "ε", "L1", "step of L1", "1 − NDCG of the list", "NDCG", "List", "Candidates")
        return self.figure((panels,), points, [Table(header, tuple(_row(point) for point in points))])


def _experiments(setting: Setting, epsilon: float) -> Iterator[tuple[str, Experiment]]:
    for name, changes in RUNGS:
        yield name, Experiment(setting.name, setting.opt_in, setting.parameters(epsilon=epsilon, **changes))


def _climb(laboratory: Laboratory, setting: Setting, epsilon: float) -> Iterator[Point]:
    """The points of all rungs and of the bound.

    All rungs take their randomness from one seed, so that those with the same list makers have the same opt-in people
    and the same lists, and a step is known better than the rungs.
    """
    rungs = list(_experiments(setting, epsilon))
    seed = rungs[-1][1].seed(laboratory.seed)
    before: list[dict[str, float]] = []
    for name, experiment in rungs:
        runs, bound = [], []
        for played in laboratory.play(experiment, seed):
            runs.append(_measures(played, played.outcome.cell_probability, played.outcome.query_probability))
            if name == rungs[-1][0]:
                cells = counted_by_all(played, epsilon)
                queries = np.bincount(played.outcome.head_list.query_of_cell, weights=cells).astype(np.float64)
                bound.append(_measures(played, cells, queries))
        for step, values in ((name, runs), (BOUND, bound)):
            if values:
                about = {"step": step, "title": setting.title, **laboratory.about(experiment, seed)}
                yield Point(about, _means(values, before))
                before = values


def _means(runs: Sequence[Mapping[str, float]], before: Sequence[Mapping[str, float]]) -> dict[str, Mean]:
    """The means of a rung, and of how far L1 is from that of the rung before, run by run."""
    means = {name: Mean.of([values[name] for values in runs]) for name in runs[0]}
    if before:
        means["l1_step"] = Mean.of([own["l1"] - other["l1"] for own, other in zip(runs, before, strict=True)])
    return means


def counted_by_all(played: Played, epsilon: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The cells' probabilities if everybody trusted the curator: all people's counts with discrete Laplace noise.

    It gets the list for nothing, and the whole budget for the counts, so it is kinder than any real curator's lot.
    """
    groups = played.outcome.groups
    users = groups.opt_in + groups.client
    truth = np.maximum(played.head.cells, 0.0)
    counts = played.random.generator.multinomial(users, truth / truth.sum())
    noisy = counts + DiscreteLaplace.for_counts(epsilon, 1).draw(len(counts), played.random)
    return project_on_simplex(noisy / users)


def _measures(played: Played, cells: Any, queries: Any) -> dict[str, float]:
    head_list = played.outcome.head_list
    scores = score(head_list, cells, queries, played.head)
    return {
        "l1": scores.l1,
        "ndcg_loss": 1 - scores.ndcg_list,
        "ndcg": scores.ndcg,
        "records": head_list.records,
        "candidates": played.outcome.candidates,
    }


def _lines(points: Sequence[Point], measure: str) -> tuple[Line, ...]:
    """A line for every population and budget, from the first rung to the bound."""
    series: dict[tuple[str, float], list[Mean]] = {}
    for point in points:
        series.setdefault((point.about["title"], point.about["epsilon"]), []).append(point.means[measure])
    return tuple(
        Line(f"{title}, ε = {epsilon:g}", str(number), tuple(float(i) for i in range(len(means))), tuple(means))
        for number, ((title, epsilon), means) in enumerate(series.items())
    )


def _row(point: Point) -> tuple[str, ...]:
    about, means = point.about, point.means
    digits = {"l1": 4, "l1_step": 4, "ndcg_loss": 4, "ndcg": 4, "records": 1, "candidates": 1}
    numbers = (pm(means[name], places) if name in means else "" for name, places in digits.items())
    return (about["step"], about["title"], f"{about['epsilon']:g}", *numbers)
