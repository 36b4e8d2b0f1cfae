"""What is said of how a list was made, and when another way would have served better."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blendp.canonical import canonical_json
from blendp.curator import OptInCounts
from blendp.errors import ParameterError
from blendp.evaluation.holding_people import SyntheticPeople
from blendp.logs.synthetic import Population
from blendp.methods import GroupSizes, Listed, Parameters, Simulation, make_list, simulate_people
from blendp.methods.blendp import _variance_of_sum
from blendp.methods.listed import _digest
from blendp.randomness import SimulationRandom
from blendp.render.release.document import release_card, release_document, release_of_document
from tests.support import KnownKey
from tests.unit.methods.test_published import small_log


def simulated(mean: float, people: int = 40_000, **settings: Any) -> Simulation:
    """A run on people who have so many records on average."""
    drawn = SyntheticPeople(Population("yandex", people, mean)).draw(people, 0.2, SimulationRandom(5))
    parameters = Parameters(**settings)
    return simulate_people(drawn.ask(parameters, SimulationRandom(6)), parameters, random=SimulationRandom(7))


def cautions_of_records(outcome: Simulation) -> list[str]:
    return [caution for caution in outcome.cautions if "opt_in_records" in caution]


def test_a_noisy_mean_is_told() -> None:
    outcome = simulated(8.0)
    assert outcome.many_records
    assert outcome.mean_records is not None
    assert outcome.how_listed == (
        f"The list was made of all records (at most 100 different ones) of each opt-in person, since they have about "
        f"{outcome.mean_records:.3g} different ones on average (with noise; at most 20 of a person counted). "
        f"The objective was balanced."
    )
    card = release_card(outcome)["head_list"]
    assert (card["many_records"], card["mean_records"]) == (True, outcome.mean_records)
    assert card["statement"] == outcome.how_listed
    assert cautions_of_records(outcome) == []


@pytest.mark.parametrize("records", [1, "many"])
def test_what_is_listed_nowhere_is_what_both_groups_say_of_it(records: int | str) -> None:
    """Its variance is that of both groups' own answers, put together: not that of cells as if they were independent."""
    outcome = simulated(8.0, opt_in_records=records)
    own, both = outcome.opt_in.queries.variance[-1], outcome.queries.variance[-1]
    clients = outcome.client.queries.variance[-1]
    assert 0.95 / (1 / own + 1 / clients) < both < 1.05 * clients
    assert outcome.cells.variance[-1] == both


def test_half_of_what_the_prior_moves_the_sum_by_is_in_its_error() -> None:
    listed = make_list(small_log(), Parameters(), opt_in=0.3, random=KnownKey(1))
    moved = 1 - listed.opt_in.queries.probability[-1] - listed.posterior.mean.sum()
    assert moved != 0
    assert _variance_of_sum(listed) == pytest.approx(listed.opt_in.queries.variance[-1] + moved**2 / 4)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"opt_in_records": 1}, "one record of each opt-in person. The objective was balanced."),
        (
            {"records_per_person": 1.5, "objective": "trends"},
            "one record of each opt-in person, since they were said to have 2 on average. The objective was trends.",
        ),
        ({"method": "published"}, "one record of each opt-in person."),
        ({"method": "published", "opt_in_records": 3}, "3 records of each opt-in person."),
    ],
)
def test_one_record_is_told(settings: dict[str, Any], sentence: str) -> None:
    outcome = simulated(1.5, 2_000, **settings)
    assert outcome.how_listed == f"The list was made of {sentence}"
    assert not outcome.many_records
    assert outcome.mean_records is None


@pytest.mark.parametrize(
    ("settings", "caution"),
    [
        ({"opt_in_records": 1, "records_per_person": 20.0}, "all of them serve better than one (opt_in_records auto)."),
        ({"opt_in_records": "many", "records_per_person": 2.0}, "one of each serves better than all of them"),
        ({"opt_in_records": 1, "records_per_person": 2.0}, None),
        ({"opt_in_records": "many", "records_per_person": 20.0}, None),
        ({"opt_in_records": "auto", "records_per_person": 20.0}, None),
        ({"opt_in_records": 1}, None),
        ({"opt_in_records": 1, "records_per_person": 20.0, "head_list_share": 0.6}, None),
        ({"opt_in_records": 1, "records_per_person": 20.0, "epsilon": 0.05}, None),
    ],
)
def test_what_was_said_of_people_speaks_for_another_way(settings: dict[str, Any], caution: str | None) -> None:
    better = Parameters(**settings).better_otherwise
    assert (better is None) if caution is None else (caution in (better or ""))


@pytest.mark.parametrize("mean", [64.2, 9.0, 0.7, -8.0])
def test_a_mean_of_noise_alone_is_not_told(mean: float) -> None:
    outcome = replace(simulated(1.5, 2_000, epsilon=0.5), mean_records=mean, groups=GroupSizes(20, 0, 980))
    assert outcome.how_listed == (
        "The list was made of one record of each opt-in person, since there was too much noise to tell how many "
        "different ones they have. The objective was balanced."
    )


def test_few_records_show_in_what_was_released() -> None:
    """Where nobody said how many records people have, the dispersion does, if there are people enough."""
    few = simulated(1.2, opt_in_records="many")
    assert few.dispersion is not None
    assert few.dispersion > 0.75
    (caution,) = cautions_of_records(few)
    assert "people seem to have few records each" in caution
    assert cautions_of_records(simulated(12.0, opt_in_records="many")) == []
    assert simulated(1.2, 1_000, opt_in_records="many").dispersion is None, "too noisy to speak of"
    assert simulated(1.2, 2_000, opt_in_records=1).dispersion is None


def test_it_comes_back_from_a_document() -> None:
    outcome = simulated(8.0, objective="long-list")
    document = json.loads(release_document(outcome, campaign="c", manifest_sha256="ab" * 32, released="2026-11-17"))
    read = release_of_document(document, outcome.head_list)
    assert (read.how_listed, read.dispersion, read.cautions) == (
        outcome.how_listed,
        outcome.dispersion,
        outcome.cautions,
    )


@pytest.mark.parametrize(("records", "many"), [(1, False), (3, True)])
def test_cards_from_before_are_read(records: int, many: bool) -> None:
    outcome = simulated(1.5, 2_000, opt_in_records=1)
    document = json.loads(release_document(outcome, campaign="c", manifest_sha256="ab" * 32, released="2026-11-17"))
    card = document["card"]
    for name in ("objective", "records_per_person"):
        del card["parameters"][name]
    for name in ("many_records", "mean_records", "dispersion", "statement"):
        del card["head_list"][name]
    card["parameters"] |= {"list_budget": 0.5, "opt_in_records": records}
    assert release_of_document(document, outcome.head_list).many_records is many


def before(listed: Listed, **parameters: Any) -> bytes:
    """What the first format had for this list."""
    value = json.loads(listed.to_bytes())
    del value["sha256"], value["mean_records"]
    for name in ("prediction", "list_noise", "rest_noise", "queries_above", "common_noise"):
        value["released"].pop(name, None)
    for name in ("objective", "records_per_person"):
        del value["parameters"][name]
    value["parameters"] |= {"list_budget": 0.5, **parameters}
    value["format"] = "blendp/listed/1"
    return canonical_json({**value, "sha256": _digest(value)})


@pytest.mark.parametrize("settings", [{"opt_in_records": 1}, {"method": "published", "opt_in_records": 2}], ids=str)
def test_lists_from_before_are_read(settings: dict[str, Any]) -> None:
    listed = make_list(small_log(), Parameters(**settings), opt_in=0.3, random=KnownKey(1))
    read = Listed.from_bytes(before(listed))
    expected = json.loads(listed.to_bytes())
    if "rest_noise" in expected["released"]:
        expected["released"] |= {"list_noise": None, "rest_noise": None, "queries_above": None}
        expected["sha256"] = _digest({key: value for key, value in expected.items() if key != "sha256"})
    assert read.to_bytes() == canonical_json(expected)


@pytest.mark.parametrize(("said", "way"), [(7.4, "many"), (6.8, 1)])
def test_a_list_stays_what_it_was_though_its_mean_is_rounded_now(said: float, way: int | str) -> None:
    """7.4 was enough for many records and 7 is not; 6.8 was not, and 7 is not either."""
    listed = make_list(small_log(), Parameters(opt_in_records=way), opt_in=0.3, random=KnownKey(1))
    value = json.loads(listed.to_bytes())
    del value["sha256"]
    for name in ("list_noise", "rest_noise", "queries_above", "common_noise"):
        del value["released"][name]
    if value["released"]["prediction"] is not None:
        del value["released"]["prediction"]["seen_spread"]
    value["parameters"] |= {"opt_in_records": "auto", "records_per_person": said}
    value["format"] = "blendp/listed/2"
    read = Listed.from_bytes(canonical_json({**value, "sha256": _digest(value)}))
    assert read.parameters == replace(listed.parameters, records_per_person=7.0)
    assert read.head_list == listed.head_list


def test_a_list_of_many_records_from_before_is_read() -> None:
    """Of it nothing is known that noises share, nor how far records seem to be from what their weights predict."""
    listed = make_list(small_log(), Parameters(opt_in_records="many"), opt_in=0.3, random=KnownKey(1))
    value = json.loads(listed.to_bytes())
    del value["sha256"]
    for name in ("list_noise", "rest_noise", "queries_above", "common_noise"):
        del value["released"][name]
    del value["released"]["prediction"]["seen_spread"]
    value["format"] = "blendp/listed/2"
    released = Listed.from_bytes(canonical_json({**value, "sha256": _digest(value)})).released
    assert isinstance(released, OptInCounts)
    assert released.common_noise is None
    assert released.prediction is not None
    assert np.array_equal(released.prediction.seen_spread, released.prediction.spread, equal_nan=True)


def test_lists_of_several_records_from_before_are_refused() -> None:
    listed = make_list(small_log(), Parameters(opt_in_records=1), opt_in=0.3, random=KnownKey(1))
    with pytest.raises(ParameterError, match="Have the version of blendp release it that made its list"):
        Listed.from_bytes(before(listed, opt_in_records=3))
    damaged = before(listed).replace(b'"list_budget":0.5', b'"list_budget":0.6')
    with pytest.raises(ParameterError, match="undamaged"):
        Listed.from_bytes(damaged)
