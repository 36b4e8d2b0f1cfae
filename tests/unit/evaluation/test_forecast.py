"""The forecast of a list, held against draws of people, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.evaluation.holding_people import SyntheticPeople
from blendp.evaluation.planner import HeadLaw, forecast_list
from blendp.evaluation.planner.forecast import ASSUMED_RECORDS, _folded, _sum_of
from blendp.logs.synthetic import population
from blendp.mechanisms import AsymmetricList, FilteredUnion
from blendp.methods import Parameters
from blendp.methods.listed import blendp_list_maker, published_list_maker
from blendp.randomness import SimulationRandom
from blendp.render.plan.forecast import forecast_caution, forecast_words
from blendp.wire.forecast import ListForecast

MIN_RECORDS = 10


def lengths(parameters: Parameters, levels: int, people: int, runs: int) -> np.ndarray:
    """How long lists of people of the aol population are, one record each, by the mechanisms themselves."""
    law = HeadLaw.of_population("aol", levels)
    makers = round(parameters.list_makers * people)
    random, lengths = SimulationRandom(3), []
    beside = np.clip(law.query_mass - np.bincount(law.query, weights=law.probability), 0, None)
    for _ in range(runs):
        counts, bare = random.generator.poisson(makers * law.probability), 0
        if parameters.method == "published":
            listed = published_list_maker(parameters).draw(counts, random)
        else:
            maker = blendp_list_maker(parameters, levels, many=False)
            assert isinstance(maker, AsymmetricList)
            listed, _ = maker.draw(counts, random)
            if maker.wildcards:
                people_of = np.bincount(law.query, weights=counts) + random.generator.poisson(makers * beside)
                queries, _ = maker.draw_queries(people_of.astype(np.int64), random)
                bare = len(np.setdiff1d(queries, law.query[listed]))
        length = len(listed) + bare
        lengths.append(min(length, parameters.size or length))
    return np.array(lengths)


@pytest.mark.parametrize(
    ("parameters", "levels", "people"),
    [
        (Parameters(delta=1e-6, opt_in_records=1), 2, 4000),
        (Parameters(delta=1e-6, records_per_person=2), 1, 3000),
        (Parameters(delta=1e-6, opt_in_records=1, size=8), 2, 4000),
        (Parameters(delta=1e-5, method="published"), 2, 6000),
    ],
    ids=["two levels", "one level", "cut", "published"],
)
def test_lists_are_as_long_as_forecast(parameters: Parameters, levels: int, people: int) -> None:
    forecast = forecast_list(parameters, levels, people, "aol", MIN_RECORDS)
    drawn = lengths(parameters, levels, people, 300)
    error = drawn.std() / np.sqrt(len(drawn)) + 0.02
    assert abs(drawn.mean() - forecast.expected) < 4 * error
    share = float((drawn < MIN_RECORDS).mean())
    assert abs(share - forecast.below) < 4 * np.sqrt(forecast.below * (1 - forecast.below) / len(drawn)) + 0.02
    assert ((drawn >= forecast.low) & (drawn <= forecast.high)).mean() > 0.85


def test_the_law_of_a_sum() -> None:
    """Against all outcomes of three coins and a Poisson number."""
    chances, rest = np.array([0.5, 0.25, 0.75]), 0.3
    coins = np.ones(1)
    for chance in chances:
        coins = np.convolve(coins, [1 - chance, chance])
    poisson = np.exp(-rest) * np.array([rest**k / np.prod(np.arange(1, k + 1)) for k in range(30)])
    due = np.convolve(coins, poisson)
    assert np.allclose(_sum_of(chances, rest, 20)[:12], due[:12], atol=1e-9)
    assert np.allclose(_sum_of(chances, 0.0, 20)[:4], coins)
    cut = _folded(due, 2)
    assert np.allclose(cut, [due[0], due[1], 1 - due[0] - due[1]])


@pytest.mark.parametrize("records", [1, "auto"])
def test_more_people_make_longer_lists_and_the_number_that_is_needed_is_enough(records: int | str) -> None:
    parameters = Parameters(delta=1e-6, opt_in_records=records)
    forecasts = [forecast_list(parameters, 2, people, "aol", MIN_RECORDS) for people in (0, 1, 600, 5000, 50_000)]
    assert [one.expected for one in forecasts] == sorted(one.expected for one in forecasts)
    assert forecasts[0].expected == 0
    assert (forecasts[0].below, forecasts[0].low, forecasts[0].high) == (1.0, 0, 0)
    needed = forecasts[0].people_needed
    assert needed is not None
    assert {one.people_needed for one in forecasts} == {needed}
    assert forecast_list(parameters, 2, needed, "aol", MIN_RECORDS).below <= 0.05
    assert forecast_list(parameters, 2, round(0.9 * needed), "aol", MIN_RECORDS).below > 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("records_per_person", [8.0, 30.0])
def test_lists_of_many_records_a_person_are_as_long_as_forecast(records_per_person: float) -> None:
    """Against the filtered union itself, on people drawn anew."""
    people, runs, random = 2_000, 60, SimulationRandom(5)
    parameters = Parameters(delta=1e-6, records_per_person=records_per_person, size=None)
    forecast = forecast_list(parameters, 2, people, "aol", MIN_RECORDS)
    maker = blendp_list_maker(parameters, 2, many=True)
    assert isinstance(maker, FilteredUnion)
    source = SyntheticPeople(population("aol", people, records_per_person, habits=True))
    drawn = np.array(
        [len(maker.draw(source.draw(2 * people, 0.5, random).holdings, random).records) for _ in range(runs)]
    )
    assert abs(drawn.mean() - forecast.expected) < 0.04 * drawn.mean() + 3 * drawn.std() / np.sqrt(runs)
    assert ((drawn >= forecast.low) & (drawn <= forecast.high)).mean() > 0.75
    assert (forecast.records_per_person, forecast.with_one_record) == (records_per_person, None)


def test_how_many_records_people_have_is_assumed_where_nobody_says() -> None:
    one, auto, many, few = (
        forecast_list(Parameters(delta=1e-6, size=None, **ways), 2, 20_000, "aol", MIN_RECORDS)
        for ways in ({"opt_in_records": 1}, {}, {"opt_in_records": "many"}, {"records_per_person": 2})
    )
    assert auto.expected > one.expected
    assert auto.records_per_person == many.records_per_person == ASSUMED_RECORDS
    assert auto.with_one_record is not None
    assert auto.with_one_record == pytest.approx(one.expected, rel=0.05)
    assert (auto.with_one_record or 0) < one.expected, "the noisy mean costs something"
    assert many.with_one_record is None
    assert (few.records_per_person, few.expected) == (None, one.expected)
    assert "people like those of aol make a list" in forecast_words(few)
    assert "like those of aol, with 20 records each on average, make a list" in forecast_words(auto)
    assert "Nobody has said how many records they have: with one each, the list has about" in forecast_words(auto)
    published = Parameters(method="published", opt_in_records=5)
    assert forecast_list(published, 2, 20_000, "aol", MIN_RECORDS).records_per_person is None


def test_what_is_said_follows_from_the_forecast() -> None:
    short = ListForecast(600, "aol", 8.6, 4, 14, 0.9, 10, 0.62, True, 1200, None, None)
    caution = forecast_caution(short)
    assert caution is not None
    assert "will probably be too short, if records are spread like those of aol: about 8.6," in caution
    assert "Wait until about 1,200 people" in caution
    assert "about 8.6 records, 4 to 14 in 90 % of cases; fewer than 10, which devices refuse, in 62 %" in (
        forecast_words(short)
    )
    risky = ListForecast(1000, "aol", 14.2, 9, 19, 0.9, 10, 0.06, False, 1100, None, None)
    assert "In 6 % of cases the list has fewer than 10 records" in (forecast_caution(risky) or "")
    assert forecast_caution(ListForecast(2000, "aol", 40.0, 40, 40, 0.9, 10, 0.001, False, 1200, None, None)) is None
    never = forecast_list(Parameters(delta=1e-6, size=5), 2, 100_000, "aol", MIN_RECORDS)
    assert never.people_needed is None
    assert "(--size)" in (forecast_caution(never) or "")


def test_only_populations_are_assumed() -> None:
    with pytest.raises(ParameterError, match=r"like = 'log\.csv'"):
        forecast_list(Parameters(), 2, 100, "log.csv", MIN_RECORDS)
