"""Parameters and groups are validated at birth and print well."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from blendp.curator.mean_records import mean_noise
from blendp.errors import ParameterError
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters, run
from blendp.methods.groups import draw_groups
from blendp.randomness import SimulationRandom


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", -0.5),
        ("method", "other"),
        ("size", 0),
        ("size", 2.5),
        ("trim_unit", "url"),
        ("opt_in_records", 0),
        ("client_records", 0),
        ("head_list_share", 0.0),
        ("head_list_share", 1.1),
        ("query_share", -0.1),
        ("query_share", 1.0),
        ("variance", "wrong"),
        ("wildcard", "wrong"),
        ("randomiser", "wrong"),
        ("prior", "wrong"),
        ("influence_cap", 0.0),
        ("opt_in_records", 20),
        ("opt_in_records", True),
        ("opt_in_records", "few"),
        ("records_per_person", 0.0),
        ("records_per_person", float("inf")),
        ("objective", "wrong"),
        # what belongs to the other method
        ("client_records", 2),
        ("variance", "journal"),
        ("wildcard", "figure-4"),
    ],
)
def test_wrong_values_are_named(name: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Parameters(**{name: value})  # type: ignore[arg-type]
    assert caught.value.parameter == name
    assert caught.value.value == value
    for part in (name, repr(value), caught.value.legal, caught.value.remedy):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("head_list_share", 1.0),
        ("query_share", 0.0),
        ("randomiser", "two-stage"),
        ("prior", "none"),
        ("influence_cap", None),
        ("opt_in_records", "many"),
        ("records_per_person", 3.0),
        ("objective", "trends"),
        ("variance", "wrong"),
        ("wildcard", "wrong"),
    ],
)
def test_the_published_method_takes_no_other_values(name: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Parameters(method="published", **{name: value})  # type: ignore[arg-type]
    assert caught.value.parameter == name


def test_budgets_without_a_proof_are_refused_at_once() -> None:
    with pytest.raises(ParameterError, match=r"delta = 0\.5"):
        Parameters(method="published", epsilon=0.01, delta=0.5)
    with pytest.raises(ParameterError, match="noise scale"):
        Parameters(method="published", epsilon=1e-5)
    with pytest.raises(ParameterError):
        Parameters(epsilon=1e-9)


def test_parameters_are_values() -> None:
    assert Parameters(size=None) == Parameters(size=None)
    assert str(Parameters()) == "blendp (ε = 4, δ by the number of people), list of 50 records"
    assert str(Parameters().fitted(100)) == "blendp (ε = 4, δ = 1e-05), list of 50 records"
    several = str(Parameters(opt_in_records="many", size=None))
    assert several.endswith("list of all records, many records of an opt-in user")
    fields = Parameters(method="published").to_dict()
    assert (fields["head_list_share"], fields["query_share"]) == (0.95, 0.85)
    fields = Parameters().to_dict()
    assert (fields["head_list_share"], fields["query_share"]) == (1.0, None)


@pytest.mark.parametrize(
    ("given", "many"),
    [
        ({}, None),
        ({"opt_in_records": 1}, False),
        ({"opt_in_records": 1, "records_per_person": 30}, False),
        ({"opt_in_records": "many", "records_per_person": 1}, True),
        ({"records_per_person": 2.0}, False),
        ({"records_per_person": 20}, True),
        ({"records_per_person": 3}, False),
        ({"records_per_person": 4.6}, True),
        ({"records_per_person": 4.6, "objective": "long-list"}, True),
        ({"records_per_person": 4, "size": 20}, True),
        ({"records_per_person": 3, "size": None}, False),
        ({"records_per_person": 4.6, "size": None}, True),
        ({"records_per_person": 4.6, "size": 1_000}, False),
        ({"records_per_person": 6, "size": 1_000}, True),
        ({"records_per_person": 4.6, "epsilon": 0.3}, False),
        ({"records_per_person": 6, "trim_unit": "query"}, False),
        ({"records_per_person": 7, "trim_unit": "query"}, True),
        ({"records_per_person": 7, "trim_unit": "query", "size": 200}, False),
        ({"records_per_person": 4, "trim_unit": "query", "size": 10}, True),
        ({"head_list_share": 0.9}, False),
        ({"epsilon": 0.03}, False),
        ({"epsilon": 0.1, "delta": 1e-12}, False),
        ({"delta": 1e-99}, None),
        ({"delta": 1e-101}, False),
        ({"method": "published"}, False),
    ],
)
def test_what_decides_is_public(given: dict[str, Any], many: bool | None) -> None:
    """None where nothing is told: then a noisy mean decides, for 2 % of epsilon, and only then is it paid."""
    parameters = Parameters(**given).fitted(100)
    assert parameters.many_records is many
    assert Parameters(**given).many_records is many
    paid = 0.98 if many is None else 1.0
    assert parameters.list_budget.epsilon == pytest.approx(parameters.epsilon * paid)
    assert parameters.mean_epsilon == Fraction(parameters.epsilon) - Fraction(parameters.list_budget.epsilon)
    assert parameters.uses_many(100.0, 10**6) == (many is not False)
    assert parameters.uses_many(1.0, 10**6) == (many is True)
    assert parameters.uses_many(100.0, 3) == (many is True), "a mean of three people is noise"


@pytest.mark.parametrize(
    ("people", "size", "unit", "least"),
    [
        (3_000, 50, "record", 2.8),
        (2_000, 50, "record", 3.7),
        (100_000, 50, "record", 2.2),
        (100_000, 500, "record", 2.8),
        (100_000, None, "record", 2.2),
        (100_000, 500, "query", 7.0),
        (25_000, 50, "query", 4.5),
    ],
)
def test_what_takes_many_records_depends_on_what_one_of_each_reaches(
    people: int, size: int | None, unit: str, least: float
) -> None:
    """The more people opt in and the less is published, the fewer records of each it takes."""
    parameters = Parameters(size=size, trim_unit=unit)
    error = 2 * np.sqrt(mean_noise(parameters.mean_epsilon).variance) / people
    assert parameters.uses_many(least + error + 1e-9, people)
    assert not parameters.uses_many(least + error - 1e-9, people)


@pytest.mark.parametrize("objective", ["balanced", "long-list", "trends"])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, None])
def test_a_mean_decides_only_where_it_can_be_drawn(delta: float | None, objective: str) -> None:
    """Nothing is refused once rows were read: where its noise would be too wide, one record of each person counts."""
    decided = set()
    for epsilon in np.geomspace(0.01, 200.0, 60).tolist():
        try:
            parameters = Parameters(epsilon=epsilon, delta=delta, objective=objective)
        except ParameterError:
            continue
        decided.add(parameters.many_records)
        if parameters.many_records is None:
            assert mean_noise(parameters.mean_epsilon).variance > 0
    assert decided == {False, None}


def test_a_run_with_little_epsilon_is_a_run_with_one_record_each() -> None:
    log = log_of_table(population("aol", 2_000, 3.0).table())
    release = run(log, Parameters(epsilon=0.045, delta=1e-3), opt_in=0.2)
    assert release.mean_records is None


def test_many_records_and_people_held_out_do_not_go_together() -> None:
    with pytest.raises(ParameterError, match="head_list_share"):
        Parameters(opt_in_records="many", head_list_share=0.9)


def test_groups_are_a_partition_of_the_asked_sizes() -> None:
    groups = draw_groups(1_000, 0.1, 0.95, SimulationRandom(1))
    everyone = np.concatenate([groups.head_list, groups.estimate, groups.client])
    assert np.array_equal(np.sort(everyone), np.arange(1_000))
    assert (groups.sizes.head_list, groups.sizes.estimate, groups.sizes.client) == (95, 5, 900)
    assert groups.sizes.opt_in == 100
    assert str(groups.sizes) == "100 opt-in (95 list + 5 estimate), 900 clients"


def test_marked_users_opt_in() -> None:
    marks = np.arange(10) % 2 == 0
    groups = draw_groups(10, marks, 0.5, SimulationRandom(1))
    assert set(groups.client) == {1, 3, 5, 7, 9}
    for wrong in (marks[1:], np.full(10, 0.05), marks.astype(int)):
        with pytest.raises(ParameterError, match="10 times True or False"):
            draw_groups(10, wrong, 0.5, SimulationRandom(1))
    with pytest.raises(ParameterError, match="a share above 0 and below 1"):
        draw_groups(10, [True] * 10, 0.5, SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, math.nan])
def test_shares_out_of_range_are_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="opt_in"):
        draw_groups(10, share, 0.5, SimulationRandom(1))


@pytest.mark.statistical
def test_everybody_is_as_likely_in_every_group() -> None:
    random, hits = SimulationRandom(2), np.zeros((2, 20))
    for _ in range(5_000):
        groups = draw_groups(20, 0.25, 0.6, random)
        hits[0, groups.head_list] += 1
        hits[1, groups.estimate] += 1
    for row, p in zip(hits, (3 / 20, 2 / 20), strict=True):
        assert np.abs((row - 5_000 * p) / np.sqrt(5_000 * p * (1 - p))).max() < 4.5


def test_what_one_level_could_not_be_drawn_with_is_refused_at_once() -> None:
    """The list of one level has no wildcards, and another bound on delta: nothing is drawn before that is known."""
    with pytest.raises(ParameterError, match="delta"):
        Parameters(epsilon=0.8025664323245728, delta=0.2792324687830025)


@pytest.mark.parametrize("people", [0, 1, 9_999, 10_000, 99_999, 100_000, 521_693, 10**9, 10**12])
def test_a_delta_that_is_not_said_fits_the_people(people: int) -> None:
    """The largest round number below a tenth of one over their number; few people are promised no less than many."""
    fitted = Parameters(epsilon=2.0).fitted(people)
    assert fitted == Parameters(epsilon=2.0, delta=fitted.budget.delta)
    exact = Fraction(str(fitted.delta))
    assert exact * 10 * people < 1
    assert exact == Fraction(1, 10**5) or exact * 25 * people >= 1
    assert fitted.fitted(10 * people) is fitted


@pytest.mark.parametrize(
    ("said", "rounded", "many"), [(3.4, 3.0, False), (3.6, 4.0, True), (12.345, 10.0, True), (0.0371, 0.04, False)]
)
def test_a_mean_that_is_said_counts_as_it_is_published(said: float, rounded: float, many: bool) -> None:
    """Parameters are published; 4 records are enough for many, and 3.6 that are said count as 4."""
    parameters = Parameters(records_per_person=said)
    assert parameters.records_per_person == parameters.to_dict()["records_per_person"] == rounded
    assert parameters.many_records is many


def test_a_delta_that_was_said_is_kept_and_none_is_not_taken_for_a_number() -> None:
    assert Parameters(delta=0.01).fitted(10**9).delta == 0.01
    with pytest.raises(ParameterError, match=r"Parameters\.fitted"):
        _ = Parameters().budget
    with pytest.raises(ParameterError, match="people"):
        Parameters().fitted(-1)
