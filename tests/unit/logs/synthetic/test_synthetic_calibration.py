"""The synthetic populations give head lists as long, and as heavy, as the paper's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, poisson

from blendp.arrays import Array
from blendp.logs.synthetic import USERS, Law, law, population
from blendp.mechanisms import ThresholdList
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom

LISTS = {"aol": ThresholdList(Budget(4, 1e-5)), "yandex": ThresholdList(Budget(4, 1e-7))}
"""How the paper makes its head lists."""


def opted_in(name: str, percent: float) -> int:
    """|S|: 95 % of the opt-in users build the list."""
    return round(0.95 * percent / 100 * USERS[name])


def kept(means: Array, list_maker: ThresholdList) -> Array:
    """P(a record is listed) = sum_n Poisson(n; mean) P(listed | n), the mean being |S| p."""
    grid = np.concatenate(([0.0], np.geomspace(1e-7, 300.0, 6_000)))
    counts = np.arange(1, 500)
    chances = poisson.pmf(counts[np.newaxis], grid[:, np.newaxis]) @ list_maker.listing_probability(counts)
    answer: Array = np.interp(means, grid, chances, right=1.0)
    return answer


def list_size(subject: Law, users: int, list_maker: ThresholdList) -> tuple[float, float]:
    """Mean and standard deviation of the head list's length when ``users`` build it.

    Beyond the first 20,000 queries, where the law is smooth, every 100th query stands for 100.
    """
    mean = variance = 0.0
    for ranks, weight in ((np.arange(1, 20_001), 1), (np.arange(20_050, subject.queries + 1, 100), 100)):
        shares = subject.url_shares[subject.profile_of(ranks)]
        chance = kept(users * subject.query_probabilities[ranks - 1, np.newaxis] * shares, list_maker)
        mean += weight * float(chance.sum())
        variance += weight * float((chance * (1 - chance)).sum())
    return mean, variance**0.5


def simulated_sizes(name: str, percent: float, runs: int) -> NDArray[np.int64]:
    """Lengths of simulated head lists, each from users of its own."""
    generator, random = np.random.default_rng([len(name), round(percent)]), SimulationRandom(round(percent))
    sizes = []
    for _ in range(runs):
        ranks, places = law(name).draw(generator, opted_in(name, percent))
        counts = np.unique(ranks * 10 + places, return_counts=True)[1]
        sizes.append(len(LISTS[name].draw(counts, random)))
    return np.array(sizes)


def numbered(texts: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for every text, the same for equal texts."""
    codes = texts.combine_chunks().dictionary_encode().indices
    return np.asarray(codes, dtype=np.int64)


def reached(name: str, percent: float, size: int) -> float:
    """P(the list has at least ``size`` records), by the normal approximation."""
    mean, deviation = list_size(law(name), opted_in(name, percent), LISTS[name])
    return float(norm.sf(size - 0.5, mean, deviation))


@pytest.mark.parametrize(("percent", "low", "high"), [(3, 28, 32), (4, 41, 46), (5, 56, 59), (6, 70, 78)])
def test_aol_expected_list_size(percent: int, low: float, high: float) -> None:
    mean, _ = list_size(law("aol"), opted_in("aol", percent), LISTS["aol"])
    assert low < mean < high


def test_aol_list_of_50_needs_5_percent() -> None:
    assert reached("aol", 5, 50) > 0.95
    assert reached("aol", 4, 50) < 0.05


@pytest.mark.parametrize(("percent", "low", "high"), [(1, 110, 130), (2, 300, 340), (3, 530, 570)])
def test_yandex_expected_list_size(percent: int, low: float, high: float) -> None:
    mean, _ = list_size(law("yandex"), opted_in("yandex", percent), LISTS["yandex"])
    assert low < mean < high


def test_yandex_list_of_500_needs_3_percent() -> None:
    assert reached("yandex", 3, 500) > 0.999
    assert reached("yandex", 2, 500) < 0.001


def test_aol_mass_outside_the_list_of_50() -> None:
    subject = law("aol")
    listed = np.unique(subject.top_records(50)[0])
    assert 35 <= len(listed) <= 40
    assert 1 - subject.query_probabilities[listed - 1].sum() == pytest.approx(0.911, abs=0.003)


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "percent"), [("aol", 4), ("aol", 5), ("yandex", 2), ("yandex", 3)])
def test_simulated_lists_agree(name: str, percent: int) -> None:
    runs = 100 if name == "aol" else 8
    mean, deviation = list_size(law(name), opted_in(name, percent), LISTS[name])
    sizes = simulated_sizes(name, percent, runs)
    assert sizes.mean() == pytest.approx(mean, abs=4 * deviation / runs**0.5)
    if name == "aol":
        assert sizes.std() == pytest.approx(deviation, rel=0.25)
        assert ((sizes >= 50) == (percent == 5)).mean() >= 0.9
    else:
        assert ((sizes >= 500) == (percent == 3)).all()


@pytest.mark.statistical
def test_the_default_aol_population_gives_such_lists() -> None:
    """Lists from random opt-in users of the very population people get."""
    table = population("aol").table()
    queries, urls = (numbered(table[column]) for column in ("query", "url"))
    records = queries * (urls.max() + 1) + urls
    generator, random = np.random.default_rng(5), SimulationRandom(5)
    for percent in (4, 5):
        right = 0
        for _ in range(20):
            chosen = generator.choice(records, opted_in("aol", percent), replace=False, shuffle=False)
            counts = np.unique(chosen, return_counts=True)[1]
            size = len(LISTS["aol"].draw(counts, random))
            right += (size >= 50) == (percent == 5)
        assert right >= 17
