"""Advice after an empty list never fails, whatever was asked: the release is already made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from blendp.evaluation.planner import EmptyListAdvice
from blendp.methods import GroupSizes, Outcome, Parameters


@pytest.mark.parametrize(
    ("people", "mean", "options"),
    [
        (120, None, {}),
        (0, -3.0, {}),
        (1, 40.0, {}),
        (120, 1.5, {"epsilon": 0.01}),
        (120, None, {"epsilon": 50.0, "delta": 1e-12}),
        (120, None, {"opt_in_records": "many"}),
        (1, None, {"opt_in_records": 1, "records_per_person": 1e6}),
        (120, None, {"method": "published", "opt_in_records": 5}),
        (120, 0.2, {"size": 3, "objective": "trends"}),
        (0, None, {"size": None, "objective": "long-list", "records_per_person": 0.3}),
        (120, None, {"head_list_share": 0.5}),
    ],
)
def test_there_is_advice_for_everything_that_can_be_asked(
    people: int, mean: float | None, options: dict[str, Any]
) -> None:
    parameters = Parameters(**options).fitted(people + 900)
    outcome = SimpleNamespace(
        parameters=parameters,
        mean_records=mean if parameters.many_records is None else None,
        many_records=parameters.uses_many(mean, people),
        groups=GroupSizes(people, 0, 900),
        head_list=SimpleNamespace(levels=2),
        how_filtered=None,
    )
    advice = EmptyListAdvice.of(cast(Outcome, outcome))
    assert {"--epsilon", "--levels"} <= {one.option.split()[0] for one in advice.remedies}
    assert all(one.expected_records >= 0 for one in advice.remedies)
    assert "AOL" in advice.statement
