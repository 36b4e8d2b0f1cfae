"""Repeated trials: means, standard errors, and what is printed."""

import pyarrow as pa
import pytest

from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError
from blendp.evaluation import evaluate
from blendp.logs import log_of_table
from blendp.methods import Parameters


def small_log(users: int = 3_000) -> EmbeddedLog:
    names = [f"q{i % 7}" for i in range(users)]
    return log_of_table(pa.table({"user": [str(i) for i in range(users)], "query": names, "url": names}))


def test_means_and_standard_errors_are_those_of_the_trials() -> None:
    started: list[str] = []
    done = evaluate(small_log(), opt_in=0.2, repeat=3, seed=1, progress=started.append)
    figures = done.to_dict()
    values = [trial.blended.l1 for trial in done.trials]
    assert figures["l1"] == pytest.approx(sum(values) / 3)
    spread = sum((value - figures["l1"]) ** 2 for value in values) / 2
    assert figures["std_error"]["l1"] == pytest.approx((spread / 3) ** 0.5)
    assert figures["users"] == {"opt_in": 600, "opt_in_head_list": 600, "opt_in_estimate": 0, "client": 2_400}
    assert len(set(values)) == 3
    assert started == ["run 1 of 3", "run 2 of 3", "run 3 of 3"]
    assert str(done).endswith("Not private: computed from the raw log.")


def test_one_run_has_no_standard_error_and_an_empty_list_scores_nothing() -> None:
    figures = evaluate(small_log(60), Parameters(delta=1e-12), opt_in=0.2, seed=1).to_dict()
    assert figures["head_list_records"] == 0
    assert figures["l1"] == 1
    assert figures["ndcg"] == 0
    assert figures["std_error"]["ndcg"] is None


def test_at_least_one_run() -> None:
    with pytest.raises(ParameterError, match="repeat"):
        evaluate(small_log(60), opt_in=0.2, repeat=0)
