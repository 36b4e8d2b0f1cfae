"""The blendp method at the size of the AOL log: intervals that hold, also near the threshold, and its lead over the
published method.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.engines import EmbeddedLog
from blendp.evaluation import Evaluation, evaluate
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters

pytestmark = pytest.mark.statistical

RUNS, FEW = 20, 8


@pytest.fixture(scope="module")
def log() -> EmbeddedLog:
    return log_of_table(population("aol", seed=314).table())


@dataclass(frozen=True)
class Scores:
    """Which intervals hold the truth, how many standard errors off the estimates are, and both."""

    covers: NDArray[np.bool_]
    z: NDArray[np.float64]
    estimates: NDArray[np.float64]
    truth: NDArray[np.float64]

    def fine(self, low: float, high: float, centre: float) -> bool:
        covered, bias, spread = float(self.covers.mean()), float(self.z.mean()), float(self.z.std())
        return low < covered < high and abs(bias) < centre and 0.75 < spread < 1.1

    @property
    def off(self) -> float:
        """By how much of the truth the sum of the estimates is too large. Of rests this counts, not z: their laws are
        lopsided, so standard errors are small where estimates come out small.
        """
        return float(self.estimates.sum() / self.truth.sum() - 1)


def scores_of(done: Evaluation) -> dict[str, Scores]:
    """Of all records, of the quarter of each list with the smallest estimates, of wildcards, and of queries."""
    parts: dict[str, list[tuple[NDArray[Any], ...]]] = {}
    for trial in done.trials:
        outcome, head = trial.outcome, trial.head
        for blend, truth, level in ((outcome.cells, head.cells, "cells"), (outcome.queries, head.queries, "queries")):
            covers = (blend.low <= truth) & (truth <= blend.high)
            z = (blend.probability - truth) / blend.std_error
            which = {"queries": np.arange(len(truth) - 1)}
            if level == "cells":
                listed = outcome.head_list.record_cells
                rising = listed[np.argsort(blend.probability[listed])]
                wild = np.setdiff1d(np.arange(len(truth) - 1), listed)
                which = {"records": listed, "lowest": rising[: len(listed) // 4], "wildcards": wild}
            for name, cells in which.items():
                parts.setdefault(name, []).append((covers[cells], z[cells], blend.probability[cells], truth[cells]))
    return {name: Scores(*map(np.concatenate, zip(*runs, strict=True))) for name, runs in parts.items()}


def test_intervals_hold_and_estimates_are_centred(log: EmbeddedLog) -> None:
    """The lowest quarter is 240 records only, so its limits are wider."""
    done = evaluate(log, Parameters(delta=1e-5), opt_in=0.05, repeat=RUNS, seed=2718)
    scores = scores_of(done)
    assert scores["records"].fine(0.93, 0.975, 0.2), scores["records"].covers.mean()
    assert scores["lowest"].fine(0.91, 0.99, 0.3), scores["lowest"].covers.mean()
    assert scores["queries"].fine(0.93, 0.98, 0.3), scores["queries"].covers.mean()
    assert 0.93 < scores["wildcards"].covers.mean() < 0.985
    assert abs(scores["wildcards"].off) < 0.08

    p_values = [trial.outcome.check.p_value or 0.0 for trial in done.trials if trial.outcome.check]
    assert len(p_values) == RUNS
    assert 0.25 < np.mean(p_values) < 0.75
    assert min(p_values) > 0.001
    for trial in done.trials:
        outcome = trial.outcome
        sums = np.bincount(outcome.head_list.query_of_cell, weights=outcome.cells.probability)
        assert np.abs(sums - outcome.queries.probability).max() < 1e-12
        assert ((outcome.cells.weight_opt_in >= 0) & (outcome.cells.weight_opt_in <= 1)).all()
        assert outcome.guarantee.client_epsilon_exact <= 4


def test_they_hold_for_what_just_passed_the_threshold(log: EmbeddedLog) -> None:
    """Nothing is trimmed: the lowest quarter of the list passed because of its noise as often as not."""
    scores = scores_of(evaluate(log, Parameters(delta=1e-5, size=None), opt_in=0.05, repeat=RUNS, seed=1618))
    assert scores["records"].fine(0.93, 0.975, 0.2), scores["records"].covers.mean()
    assert scores["lowest"].fine(0.92, 0.985, 0.25), scores["lowest"].covers.mean()
    assert scores["queries"].fine(0.93, 0.985, 0.35), scores["queries"].covers.mean()


def test_without_the_prior_they_do_not_hold_there(log: EmbeddedLog) -> None:
    """Power: the raw numbers of what just passed are too large, and the clients alone do not make up for it."""
    scores = scores_of(
        evaluate(log, Parameters(delta=1e-5, size=None, prior="none"), opt_in=0.05, repeat=FEW, seed=1618)
    )
    assert scores["records"].covers.mean() < 0.92
    assert scores["lowest"].covers.mean() < 0.92
    assert scores["lowest"].z.mean() > 0.5


@pytest.mark.parametrize(
    ("epsilon", "top", "l1", "longer", "disorder"), [(4.0, 0.42, 0.55, 1.35, 0.2), (1.0, 0.52, 0.36, 1.2, 0.2)]
)
def test_it_beats_the_published_method(
    log: EmbeddedLog, epsilon: float, top: float, l1: float, longer: float, disorder: float
) -> None:
    """Ratios of the mean error on the true top, of L1, of the records that pass, and of 1 - NDCG on the list."""
    ours, theirs = (
        evaluate(
            log, Parameters(epsilon=epsilon, delta=1e-5, method=method), opt_in=0.05, repeat=FEW, seed=99
        ).to_dict()
        for method in ("blendp", "published")
    )
    assert ours["top_error"] < top * theirs["top_error"]
    assert ours["l1"] < l1 * theirs["l1"]
    assert ours["candidate_records"] > longer * theirs["candidate_records"]
    assert 1 - ours["ndcg_list"] < disorder * (1 - theirs["ndcg_list"])
    assert ours["ndcg"] > theirs["ndcg"]
    for group in ("opt_in", "client"):
        assert ours["l1"] < ours["groups"][group]["l1"]
