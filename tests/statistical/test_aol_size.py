"""The whole method at the size of the AOL log: what the paper and the theory say must come out."""

import numpy as np
import pytest

from blendp.engines import EmbeddedLog
from blendp.evaluation import Evaluation, evaluate
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters

pytestmark = pytest.mark.statistical


@pytest.fixture(scope="module")
def log() -> EmbeddedLog:
    return log_of_table(population("aol", seed=1).table())


@pytest.fixture(scope="module")
def done(log: EmbeddedLog) -> Evaluation:
    return evaluate(log, Parameters(method="published", delta=1e-5), opt_in=0.05, repeat=30, seed=9)


def test_the_groups_have_the_published_sizes(done: Evaluation) -> None:
    groups = done.trials[0].outcome.groups
    assert (groups.opt_in, groups.head_list, groups.estimate, groups.client) == (25_969, 24_671, 1_298, 493_402)


def test_a_list_of_50_is_reached_with_its_mass(done: Evaluation) -> None:
    figures = done.to_dict()
    assert figures["head_list_records"] > 49
    assert figures["candidate_records"] == pytest.approx(57.4, abs=3)
    assert figures["wildcard_mass"] == pytest.approx(0.911, abs=0.004)
    true_star = np.mean([trial.head.queries[-1] for trial in done.trials])
    assert true_star == pytest.approx(0.911, abs=0.004)


def test_a_list_of_50_is_not_reached_with_4_percent(log: EmbeddedLog) -> None:
    fewer = evaluate(log, Parameters(method="published", delta=1e-5), opt_in=0.04, repeat=10, seed=9).to_dict()
    assert fewer["head_list_records"] < 47


def test_blending_beats_both_groups(done: Evaluation) -> None:
    figures = done.to_dict()
    for group in ("opt_in", "client"):
        assert figures["l1"] < figures["groups"][group]["l1"]
        assert figures["ndcg"] > figures["groups"][group]["ndcg"]
    assert figures["ndcg"] > 0.95
    assert figures["ndcg_list"] > 0.98
    assert figures["ndcg_random"] < 0.55


def test_the_identity_holds_in_every_run(done: Evaluation) -> None:
    assert max(trial.outcome.identity_gap for trial in done.trials) < 1e-12


def test_estimates_are_centred_and_their_intervals_hold(done: Evaluation) -> None:
    """Limits hold for any seed: records are a little too wide on purpose (small counts), queries are exact."""
    scores: dict[str, list[np.ndarray]] = {"records": [], "queries": [], "rest": []}
    for trial in done.trials:
        outcome, head = trial.outcome, trial.head
        z = (outcome.cells.probability - head.cells) / outcome.cells.std_error
        listed = outcome.head_list.record_cells
        scores["records"].append(z[listed])
        scores["rest"].append(np.delete(z, listed))
        scores["queries"].append(((outcome.queries.probability - head.queries) / outcome.queries.std_error)[:-1])
    limits = {"records": (0.93, 0.99, 0.2), "rest": (0.92, 0.98, 0.2), "queries": (0.93, 0.97, 0.12)}
    for name, (low, high, centre) in limits.items():
        z = np.concatenate(scores[name])
        assert low < (np.abs(z) < 1.96).mean() < high, name
        assert abs(z.mean()) < centre, name
        assert 0.75 < z.std() < 1.1, name


def test_the_conference_variances_are_negative_at_this_size(log: EmbeddedLog) -> None:
    outcome = (
        evaluate(log, Parameters(method="published", variance="conference", delta=1e-5), opt_in=0.05, seed=9)
        .trials[0]
        .outcome
    )
    real = outcome.head_list.cells_per_query[outcome.head_list.query_of_cell] > 1
    assert (outcome.client.cells.variance[real] < 0).all()
    assert (np.abs(outcome.cells.weight_opt_in[real] - 1) < 1e-3).all()
