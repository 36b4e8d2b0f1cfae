"""The synthetic populations give head lists as long, and as heavy, as the paper's."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, poisson

from blendp.logs.synthetic import USERS, Law, law, population

EPSILON = 4.0
ALPHA = math.exp(-EPSILON / 2)
LEAST = {"aol": 7, "yandex": 10}
"""The least noisy count above tau = 1 + (2/eps) ln(1/delta): 6.756 for AOL, 9.059 for Yandex."""

Floats = NDArray[np.float64]


def opted_in(name: str, percent: float) -> int:
    """|S|: 95 % of the opt-in users build the list."""
    return round(0.95 * percent / 100 * USERS[name])


def kept(means: Floats, least: int) -> Floats:
    """P(a record is listed) = sum_{n >= 1} Poisson(n; mean) P(n + X >= least), P(X >= j) = alpha^j / (1 + alpha).

    where:
        mean  is |S| p, the expected count of the record,
        X     is discrete Laplace noise with alpha = e^{-eps/2}; a record nobody holds gets no noise.
    """
    grid = np.concatenate(([0.0], np.geomspace(1e-7, 300.0, 6_000)))
    counts = np.arange(1, 500)
    needed = least - counts
    spare = 1 + ALPHA - ALPHA ** np.maximum(1 - needed, 0)
    passes = np.where(needed >= 1, ALPHA ** np.maximum(needed, 0), spare) / (1 + ALPHA)
    chances = poisson.pmf(counts[np.newaxis], grid[:, np.newaxis]) @ passes
    answer: Floats = np.interp(means, grid, chances, right=1.0)
    return answer


def list_size(subject: Law, users: int, least: int) -> tuple[float, float]:
    """Mean and standard deviation of the head list's length when ``users`` build it.

    Beyond the first 20,000 queries, where the law is smooth, every 100th query stands for 100.
    """
    mean = variance = 0.0
    for ranks, weight in ((np.arange(1, 20_001), 1), (np.arange(20_050, subject.queries + 1, 100), 100)):
        shares = subject.url_shares[subject.profile_of(ranks)]
        chance = kept(users * subject.query_probabilities[ranks - 1, np.newaxis] * shares, least)
        mean += weight * float(chance.sum())
        variance += weight * float((chance * (1 - chance)).sum())
    return mean, variance**0.5


def simulated_sizes(name: str, percent: float, runs: int) -> NDArray[np.int64]:
    """Lengths of simulated head lists, each from users of its own."""
    generator = np.random.default_rng([len(name), round(percent)])
    sizes = []
    for _ in range(runs):
        ranks, places = law(name).draw(generator, opted_in(name, percent))
        counts = np.unique(ranks * 10 + places, return_counts=True)[1]
        sizes.append((counts + noise(generator, len(counts)) >= LEAST[name]).sum())
    return np.array(sizes)


def noise(generator: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Discrete Laplace noise: the difference of two geometric numbers."""
    return generator.geometric(1 - ALPHA, size) - generator.geometric(1 - ALPHA, size)


def numbered(texts: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for every text, the same for equal texts."""
    codes = texts.combine_chunks().dictionary_encode().indices
    return np.asarray(codes, dtype=np.int64)


def reached(name: str, percent: float, size: int) -> float:
    """P(the list has at least ``size`` records), by the normal approximation."""
    mean, deviation = list_size(law(name), opted_in(name, percent), LEAST[name])
    return float(norm.sf(size - 0.5, mean, deviation))


def test_thresholds() -> None:
    for name, delta in (("aol", 1e-5), ("yandex", 1e-7)):
        assert LEAST[name] == math.floor(1 + 2 / EPSILON * math.log(1 / delta)) + 1


def test_noise_has_the_stated_tail() -> None:
    draws = noise(np.random.default_rng(3), 400_000)
    for j in (1, 2, 3):
        assert (draws >= j).mean() == pytest.approx(ALPHA**j / (1 + ALPHA), abs=0.002)


def test_kept_agrees_with_a_direct_sum() -> None:
    expected = sum(
        poisson.pmf(n, 6.0) * (ALPHA ** (7 - n) if n < 7 else 1 + ALPHA - ALPHA ** (n - 6)) / (1 + ALPHA)
        for n in range(1, 60)
    )
    assert kept(np.array([6.0]), 7)[0] == pytest.approx(expected, rel=1e-5)
    assert kept(np.array([0.0, 1e6]), 7) == pytest.approx([0, 1])


@pytest.mark.parametrize(("percent", "low", "high"), [(3, 28, 32), (4, 41, 46), (5, 56, 59), (6, 70, 78)])
def test_aol_expected_list_size(percent: int, low: float, high: float) -> None:
    mean, _ = list_size(law("aol"), opted_in("aol", percent), LEAST["aol"])
    assert low < mean < high


def test_aol_list_of_50_needs_5_percent() -> None:
    assert reached("aol", 5, 50) > 0.95
    assert reached("aol", 4, 50) < 0.05


@pytest.mark.parametrize(("percent", "low", "high"), [(1, 110, 130), (2, 300, 340), (3, 530, 570)])
def test_yandex_expected_list_size(percent: int, low: float, high: float) -> None:
    mean, _ = list_size(law("yandex"), opted_in("yandex", percent), LEAST["yandex"])
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
    mean, deviation = list_size(law(name), opted_in(name, percent), LEAST[name])
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
    generator = np.random.default_rng(5)
    for percent in (4, 5):
        right = 0
        for _ in range(20):
            chosen = generator.choice(records, opted_in("aol", percent), replace=False, shuffle=False)
            counts = np.unique(chosen, return_counts=True)[1]
            size = (counts + noise(generator, len(counts)) >= LEAST["aol"]).sum()
            right += (size >= 50) == (percent == 5)
        assert right >= 17
