"""Advice after an empty list never fails, whatever was asked: the release is already made."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from blendp.evaluation.planner import EmptyListAdvice
from blendp.methods import GroupSizes, Outcome, Parameters


def advice_for(people: int, mean: float | None, **options: Any) -> EmptyListAdvice:
    """The advice after a release about so many opt-in people, and 900 clients."""
    parameters = Parameters(**options).fitted(people + 900)
    outcome = SimpleNamespace(
        parameters=parameters,
        mean_records=mean if parameters.many_records is None else None,
        many_records=parameters.uses_many(mean, people),
        groups=GroupSizes(people, 0, 900),
        head_list=SimpleNamespace(levels=2),
        how_filtered=None,
    )
    return EmptyListAdvice.of(cast(Outcome, outcome))


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
    advice = advice_for(people, mean, **options)
    assert {"--epsilon", "--levels"} <= {one.option.split()[0] for one in advice.remedies}
    assert all(one.expected_records >= 0 for one in advice.remedies)
    assert "AOL" in advice.statement


@pytest.mark.parametrize("mean", [64.2, 3.0, 0.7, -8.0])
def test_a_mean_that_is_noise_is_not_taken_for_one(mean: float) -> None:
    """20 people at epsilon 0.5: the noise on the mean is about 140 records, whatever it happens to be."""
    advice = advice_for(20, mean, epsilon=0.5)
    assert advice.records_per_person == 1
    assert "one record each (there was too much noise to tell how many they have)" in advice.statement
    assert "--records-per-person 20, if people have so many" in [one.option for one in advice.remedies]


def test_a_mean_counts_no_more_of_a_person_than_was_counted() -> None:
    advice = advice_for(20_000, 24.0, epsilon=4.0)
    assert advice.records_per_person == 20
    assert "20 records each on average" in advice.statement


def test_only_what_lists_more_helps() -> None:
    nothing = advice_for(20, None, epsilon=0.5, records_per_person=1.0)
    assert (nothing.helpful, nothing.people_are_here) == ((), False)
    some = advice_for(1_000, None, records_per_person=1.0)
    assert {one.option for one in some.helpful} == {"--epsilon 8", "--levels 1"}
    fewer = advice_for(1_000, None, opt_in_records=1, records_per_person=2.0)
    assert "--opt-in-records" in {one.option.split()[0] for one in fewer.remedies}
    assert "--opt-in-records" not in {one.option.split()[0] for one in fewer.helpful}


def test_somebody_has_to_be_a_client() -> None:
    advice = advice_for(100, None, epsilon=1.0, records_per_person=1.0)
    needed = advice.opt_in_people_needed
    assert needed is not None
    assert not replace(advice, people=needed).people_are_here
    assert replace(advice, people=needed + 1).people_are_here
