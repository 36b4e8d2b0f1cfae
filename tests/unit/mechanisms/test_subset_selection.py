"""Subset selection: its exact channel, cell by cell, its supports, its estimate, and its compact report."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms.subset_selection import SubsetSelection, subset_selection
from blendp.privacy import worst_log_ratio
from blendp.randomness import Random, ReleaseRandom, SimulationRandom
from tests.support import KnownKey, branches, goodness

SMALL = [(1.0, 1), (1.0, 2), (4.0, 2), (0.3, 3), (0.1, 4), (0.5, 5), (0.1, 6), (0.05, 7), (3.0, 7), (0.7, 8)]
RUNS = 5_000
"""So many tell the laws of epsilons a fifth apart from each other: their likelihoods differ by about e^25 or more."""


def rank(randomiser: SubsetSelection, row: NDArray[np.bool_]) -> int:
    return int.from_bytes(randomiser.encode(np.flatnonzero(row).tolist()), "big")


def of_size(epsilon: float, items: int, size: int) -> SubsetSelection:
    """The randomiser with reports of a size that is not the best."""
    return SubsetSelection(epsilon, items, size)


def moments(randomiser: SubsetSelection, holders: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of the supports, as PROOF.md states them."""
    p, q, k, w = randomiser.hit, randomiser.stray, randomiser.items, randomiser.size
    n = holders.sum()
    both = (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((k - 1) * (k - 2))
    pair = holders[:, None] + holders[None, :]
    covariance = pair * (p * (w - 1) / (k - 1) - p * q) + (n - pair) * (both - q * q)
    np.fill_diagonal(covariance, holders * p * (1 - p) + (n - holders) * q * (1 - q))
    return holders * p + (n - holders) * q, covariance


def distance(totals: ArrayLike, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> float:
    """The squared Mahalanobis distance; the last support follows from the others."""
    away = (np.asarray(totals) - mean)[:-1]
    return float(away @ np.linalg.solve(covariance[:-1, :-1], away))


def law_of_supports(randomiser: SubsetSelection, own_items: list[int]) -> dict[tuple[int, ...], float]:
    """The exact joint law of the supports, person by person."""
    reports, channel = randomiser.all_subsets().astype(int), randomiser.channel()
    law = {(0,) * randomiser.items: 1.0}
    for x in own_items:
        after: dict[tuple[int, ...], float] = defaultdict(float)
        for (before, weight), (report, probability) in product(law.items(), zip(reports, channel[x], strict=True)):
            after[tuple((before + report).tolist())] += weight * probability
        law = after
    return law


@pytest.mark.parametrize("few", [0, 100])
@pytest.mark.parametrize(
    "randomiser",
    [
        *(SubsetSelection(*case) for case in SMALL),
        *(of_size(1.5, items, size) for items in (3, 5, 6) for size in range(1, items)),
    ],
    ids=lambda randomiser: f"{randomiser.epsilon:g}-{randomiser.items}-{randomiser.size}",
)
def test_the_code_draws_exactly_the_channel_it_states(
    randomiser: SubsetSelection, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Follow every path of decisions through the code, with exact fractions, by comparing and by looking up."""
    monkeypatch.setattr(subset_selection, "_FEW", few)
    inside, outside = randomiser.cell_probabilities()
    reports = randomiser.all_subsets()
    for own in range(randomiser.items):
        drawn = [Fraction(0)] * len(reports)

        def draw(random: Random, own: int = own) -> int:
            return rank(randomiser, randomiser.draw([own], random)[0])

        for report, probability in branches(draw):
            drawn[report] += probability
        assert drawn == [inside if row[own] else outside for row in reports]
        assert sum(drawn) == 1
    assert np.allclose(randomiser.channel().sum(axis=1), 1, atol=1e-14)
    assert worst_log_ratio(randomiser.channel()) == pytest.approx(randomiser.loss(), abs=1e-12)


def test_the_small_cases_have_reports_of_several_sizes() -> None:
    assert {SubsetSelection(*case).size for case in SMALL} == {1, 2, 3}


@settings(max_examples=200)
@given(epsilon=st.floats(1e-9, 50), items=st.integers(2, 5000))
def test_the_loss_is_epsilon_at_most_and_no_larger_coin_would_do(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    exact = Fraction(Decimal(epsilon).exp(Context(prec=80)))
    size, whole = randomiser.size, 1 << 53

    def ratio(coin: int) -> Fraction:
        return Fraction(coin, whole - coin) * Fraction(items - size, size)

    assert 1 < ratio(randomiser.coin) < exact
    assert randomiser.coin + 1 == whole or ratio(randomiser.coin + 1) > exact
    inside, outside = randomiser.cell_probabilities()
    assert inside / outside == ratio(randomiser.coin)
    assert 0 < randomiser.loss() <= epsilon
    if epsilon < 20:
        assert randomiser.loss() == pytest.approx(epsilon, abs=1e-5)


def test_derived_numbers_come_from_the_coin() -> None:
    for epsilon, items in SMALL[1:]:
        randomiser = SubsetSelection(epsilon, items)
        p, w = Fraction(randomiser.coin, 1 << 53), randomiser.size
        q = (p * (w - 1) + (1 - p) * w) / (items - 1)
        assert (randomiser.hit, randomiser.stray) == (float(p), float(q))
        assert randomiser.noise == float(q * (1 - q) / (p - q) ** 2)
        reports, channel = randomiser.all_subsets(), randomiser.channel()
        right = np.full((items, items), randomiser.stray)
        np.fill_diagonal(right, randomiser.hit)
        assert channel @ reports == pytest.approx(right, abs=1e-14)
        assert randomiser.estimate(np.array([channel[0] @ reports]) * 7, 7)[0] == pytest.approx(
            [1] + [0] * (items - 1), abs=1e-11
        )


@pytest.mark.parametrize(
    ("epsilon", "items", "size", "noise"),
    [
        (1, 51, 13, 3.50),
        (2, 150, 17, 0.701),
        (3, 500, 23, 0.216),
        (4, 51, 1, 0.0361),
        (4, 150, 2, 0.0610),
        (4, 2000, 35, 0.0749),
        (5, 500, 3, 0.0231),
        (6, 2000, 4, 0.0089),
    ],
)
def test_noise_of_the_usual_lists(epsilon: float, items: int, size: int, noise: float) -> None:
    randomiser = SubsetSelection(epsilon, items)
    assert randomiser.size == size
    assert randomiser.noise == pytest.approx(noise, rel=6e-3)
    assert randomiser.variance(0.0, 10) == pytest.approx(randomiser.noise / 10)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0])
def test_no_other_size_has_less_noise(epsilon: float) -> None:
    e = math.exp(epsilon)
    for items in [*range(2, 60), 150, 500]:
        randomiser = SubsetSelection(epsilon, items)
        w = np.arange(1, items)
        d = w * e + items - w
        noise = (d - e) * (d - 1) / (w * (items - w) * (e - 1) ** 2)
        assert randomiser.noise == pytest.approx(noise.min(), rel=1e-9)
        assert randomiser.noise == pytest.approx(noise[randomiser.size - 1], rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 9), (0.5, 7), (4.0, 6)])
def test_both_sources_draw_the_same_channel(
    source: Callable[[int], Random], epsilon: float, items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every report, with enough draws to tell it from the channel of an epsilon a fifth less or a quarter more."""
    randomiser, random = SubsetSelection(epsilon, items), source(3)
    for own, few in ((0, 100), (items // 2, 0), (items - 1, 100)):
        monkeypatch.setattr(subset_selection, "_FEW", few)
        drawn = randomiser.draw(np.full(60_000, own), random)
        ranks = {tuple(row): i for i, row in enumerate(randomiser.all_subsets().tolist())}
        counts = np.bincount([ranks[tuple(row)] for row in drawn.tolist()], minlength=len(ranks))
        assert goodness(counts, randomiser.channel()[own]) > 1e-4
        for scale in (0.8, 1.25):
            other = of_size(scale * epsilon, items, randomiser.size)
            assert goodness(counts, other.channel()[own]) < 1e-9


@pytest.mark.parametrize(
    ("epsilon", "items"), [(4.0, 1), (4.0, 2), (4.0, 51), (4.0, 90), (2.0, 40), (1.0, 51), (0.1, 300)]
)
def test_supports_are_the_sums_of_the_reports_draw_for_draw(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    own_items = np.arange(20_000) ** 2 % items
    before = own_items.copy()
    reports = randomiser.draw(own_items, SimulationRandom(1))
    totals = randomiser.supports(own_items, SimulationRandom(1))
    assert np.array_equal(own_items, before)
    assert reports.shape == (len(own_items), items)
    assert (reports.sum(axis=1) == randomiser.size).all()
    assert np.array_equal(reports.sum(axis=0), totals)
    assert totals.dtype == np.int64
    kept = reports[np.arange(len(own_items)), own_items].mean()
    assert kept == pytest.approx(randomiser.hit, abs=4.5 * math.sqrt(0.25 / len(own_items)))


def test_comparing_and_looking_up_give_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    randomiser, own_items = SubsetSelection(1.0, 30), np.arange(5000) % 30
    monkeypatch.setattr(subset_selection, "_FEW", 0)
    looked_up = randomiser.draw(own_items, SimulationRandom(1))
    monkeypatch.setattr(subset_selection, "_FEW", 100)
    assert np.array_equal(looked_up, randomiser.draw(own_items, SimulationRandom(1)))


@pytest.mark.statistical
@pytest.mark.parametrize("by_counts", [False, True], ids=["people", "counts"])
@pytest.mark.parametrize(
    ("epsilon", "items", "size", "own_items"),
    [
        (2.0, 3, 2, [0, 0, 2]),
        (1.5, 4, 2, [1, 3, 3]),
        (2.0, 4, 3, [3, 3, 3, 0]),
        (2.0, 5, 2, [0, 2, 2]),
        (2.0, 6, 3, [5, 1]),
        (3.0, 4, 1, [0, 1, 1, 3]),
    ],
)
def test_joint_law_of_the_supports(
    epsilon: float, items: int, size: int, own_items: list[int], by_counts: bool
) -> None:
    """Both ways to the supports have the law of the channel, not that of an epsilon a fifth less or a quarter more."""
    randomiser, generator = of_size(epsilon, items, size), np.random.default_rng(4)
    if by_counts:
        holders = np.bincount(own_items, minlength=items)
        totals = [randomiser.supports_of_counts(holders, generator).tolist() for _ in range(RUNS)]
    else:  # as supports() counts them, draw for draw
        reports = randomiser.draw(np.tile(own_items, RUNS), SimulationRandom(4))
        totals = reports.reshape(RUNS, len(own_items), items).sum(axis=1).tolist()
    law = law_of_supports(randomiser, own_items)
    seen = Counter(map(tuple, totals))
    assert seen.keys() <= law.keys()
    counts, chances = np.array([seen[outcome] for outcome in law]), np.array(list(law.values()))
    assert goodness(counts, chances) > 1e-4
    for scale in (0.8, 1.25):
        other = law_of_supports(of_size(scale * epsilon, items, size), own_items)
        assert counts @ np.log(chances / [other[outcome] for outcome in law]) > math.log(1000)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 51), (2.0, 30), (4.0, 90), (0.5, 400)])
def test_large_supports_have_the_stated_mean_and_covariance(epsilon: float, items: int) -> None:
    """And not those of an epsilon a fifth less or a quarter more."""
    randomiser = SubsetSelection(epsilon, items)
    own_items = np.minimum(np.random.default_rng(5).geometric(0.5, 60_000) - 1, items - 1)
    holders = np.bincount(own_items, minlength=items)
    for totals in (
        randomiser.supports(own_items, SimulationRandom(6)),
        randomiser.supports_of_counts(holders, np.random.default_rng(6)),
    ):
        assert totals.sum() == len(own_items) * randomiser.size
        assert 1e-4 < stats.chi2.sf(distance(totals, *moments(randomiser, holders)), items - 1) < 1 - 1e-4
        for scale in (0.8, 1.25):
            mean, covariance = moments(of_size(scale * epsilon, items, randomiser.size), holders)
            assert abs(totals[0] - mean[0]) > 5 * math.sqrt(covariance[0, 0])


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 12), (3.0, 8)])
def test_supports_of_counts_covary_as_stated(epsilon: float, items: int) -> None:
    randomiser, generator = SubsetSelection(epsilon, items), np.random.default_rng(7)
    holders = np.array([4000, 0, 500, 1, *[120] * (items - 4)])
    mean, covariance = moments(randomiser, holders)
    assert covariance.sum(axis=0) == pytest.approx(np.zeros(items), abs=1e-6)
    draws = np.array([randomiser.supports_of_counts(holders, generator) for _ in range(1000)])
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / len(draws))
    assert np.abs((draws.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / len(draws))).max() < 4.5
    assert np.abs((np.cov(draws.T) - covariance) / error).max() < 4.5


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 20), (4.0, 6)])
def test_the_estimate_has_no_bias_and_the_stated_variance(epsilon: float, items: int) -> None:
    randomiser, generator = SubsetSelection(epsilon, items), np.random.default_rng(8)
    frequency = np.array([0.5, 0.2, 0.1, 0.0, *[0.2 / (items - 4)] * (items - 4)])
    users, runs = 2000, 1000
    estimates = np.array(
        [
            randomiser.estimate(randomiser.supports_of_counts(holders, generator), users)
            for holders in generator.multinomial(users, frequency, size=runs)
        ]
    )
    variance = randomiser.variance(frequency, users)
    assert np.abs((estimates.mean(axis=0) - frequency) / np.sqrt(variance / runs)).max() < 4.5
    assert np.abs(estimates.var(axis=0) / variance - 1).max() < 4.5 * math.sqrt(2 / runs)
    assert estimates.sum(axis=1) == pytest.approx(np.ones(runs))


def test_everybody_and_nobody() -> None:
    randomiser, generator = SubsetSelection(1.0, 10), np.random.default_rng(9)
    assert randomiser.supports_of_counts(np.zeros(10, dtype=np.int64), generator).tolist() == [0] * 10
    assert randomiser.supports([], SimulationRandom(1)).tolist() == [0] * 10
    assert randomiser.draw([], SimulationRandom(1)).shape == (0, 10)
    crowd = np.full(10, 99_999_999)
    estimates = randomiser.estimate(randomiser.supports_of_counts(crowd, generator), int(crowd.sum()))
    assert estimates == pytest.approx(np.full(10, 0.1), abs=6 * math.sqrt(randomiser.noise / crowd.sum()))


def test_a_list_of_one_reveals_nothing() -> None:
    randomiser = SubsetSelection(4.0, 1)
    assert (randomiser.size, randomiser.hit, randomiser.stray, randomiser.noise, randomiser.loss()) == (1, 1, 0, 0, 0)
    assert randomiser.draw([0, 0], KnownKey(1)).tolist() == [[True], [True]]
    assert randomiser.supports([0] * 5, KnownKey(1)).tolist() == [5]
    assert randomiser.supports_of_counts([5], np.random.default_rng(1)).tolist() == [5]
    assert randomiser.estimate([5], 5).tolist() == [1]
    assert randomiser.variance([1.0], 5).tolist() == [0]
    assert randomiser.channel().tolist() == [[1.0]]
    assert (randomiser.report_bits, randomiser.report_bytes) == (0, 1)
    assert randomiser.decode(randomiser.encode([0])) == (0,)


def test_only_cryptographic_randomness_is_released() -> None:
    randomiser = SubsetSelection(1.0, 10)
    assert randomiser.release([1, 2, 3], ReleaseRandom()).sum() == 3 * randomiser.size
    with pytest.raises(RandomnessError, match="SimulationRandom is not for released data"):
        randomiser.release([1], SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "items"), [*SMALL, (1.0, 9), (4.0, 51), (4.0, 150)])
def test_every_report_has_one_code_and_every_code_one_report(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    assert randomiser.subsets == math.comb(items, randomiser.size)
    for index, row in enumerate(randomiser.all_subsets() if items < 100 else []):
        subset = tuple(np.flatnonzero(row).tolist())
        data = index.to_bytes(randomiser.report_bytes, "big")
        assert randomiser.decode(data) == subset
        assert randomiser.encode(subset[::-1]) == data
    for beyond in {randomiser.subsets, 256**randomiser.report_bytes - 1} - {256**randomiser.report_bytes}:
        if beyond >= randomiser.subsets:
            with pytest.raises(ParameterError, match="a rank below C"):
                randomiser.decode(beyond.to_bytes(randomiser.report_bytes, "big"))


@settings(max_examples=100)
@given(epsilon=st.floats(0.05, 8), items=st.integers(1, 400), seed=st.integers(0, 1 << 32))
def test_reports_survive_the_wire(epsilon: float, items: int, seed: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    row = randomiser.draw([seed % items], SimulationRandom(seed))[0]
    subset = np.flatnonzero(row).tolist()
    data = randomiser.encode(subset)
    assert len(data) == randomiser.report_bytes
    assert 8 * len(data) - 8 < max(1, randomiser.report_bits) <= 8 * len(data)
    assert list(randomiser.decode(data)) == subset
    assert 2**randomiser.report_bits >= randomiser.subsets > 2**randomiser.report_bits // 2


def test_bytes_of_a_report() -> None:
    cases = [(4, 51), (4, 150), (1, 51), (2, 150), (4, 2000)]
    assert [SubsetSelection(*case).report_bytes for case in cases] == [1, 2, 5, 10, 32]


def test_one_line_for_people() -> None:
    assert str(SubsetSelection(4.0, 150)) == (
        "subset selection (ε = 4): 2 of 150 items, the held one with probability 0.4246, any other with 0.01057; "
        "2 bytes a report"
    )
    assert str(SubsetSelection(4.0, 51)).endswith("; 1 byte a report")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 51, True, "1"])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        SubsetSelection(epsilon, 10)


@pytest.mark.parametrize("items", [2, 3, 50, 999, 1_000_000])
def test_an_epsilon_that_the_coin_cannot_show_is_refused(items: int) -> None:
    for epsilon in (1e-17, 1e-300, 5e-324):
        with pytest.raises(ParameterError, match="about 1e-15"):
            SubsetSelection(epsilon, items)
    assert 0 < SubsetSelection(1e-15, items).loss() <= 1e-15


@pytest.mark.parametrize("items", [0, -1, 2.0, True, 1_000_001])
def test_impossible_lists_are_refused(items: int) -> None:
    with pytest.raises(ParameterError, match="items"):
        SubsetSelection(1.0, items)


@pytest.mark.parametrize("own_items", [[10], [-1], [0.5], [[1]], [True]])
def test_items_off_the_list_are_refused(own_items: list[int]) -> None:
    randomiser = SubsetSelection(1.0, 10)
    for use in (randomiser.draw, randomiser.supports):
        with pytest.raises(ParameterError, match=r"own_items.*from 0 to 9"):
            use(own_items, SimulationRandom(1))


@pytest.mark.parametrize("counts", [[1, 2], [1, -1, 0], [0.5, 1, 1], [10**9, 0, 0], [2**62, 2**62, 2**62]])
def test_impossible_counts_are_refused(counts: list[int]) -> None:
    with pytest.raises(ParameterError, match="counts"):
        SubsetSelection(1.0, 3).supports_of_counts(counts, np.random.default_rng(1))


@pytest.mark.parametrize("subset", [[], [1], [1, 1], [1, 2, 3], [-1, 1], [1, 150], [1.0, 2.0]])
def test_impossible_reports_are_refused(subset: list[int]) -> None:
    with pytest.raises(ParameterError, match="2 different items from 0 to 149"):
        SubsetSelection(4.0, 150).encode(subset)


@pytest.mark.parametrize("data", [b"", b"1", b"123"])
def test_reports_of_another_length_are_refused(data: bytes) -> None:
    with pytest.raises(ParameterError, match="2 bytes long"):
        SubsetSelection(4.0, 150).decode(data)


def test_numbers_of_users_and_large_channels() -> None:
    randomiser = SubsetSelection(1.0, 100)
    for users in (0, -1, 1.5):
        with pytest.raises(ParameterError, match="users"):
            randomiser.estimate(np.zeros(100), users)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="users"):
            randomiser.variance(0.1, users)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cell_probabilities"):
        randomiser.channel()


def test_a_width_of_one_is_k_ary_randomised_response() -> None:
    randomiser = SubsetSelection(1.0, 7, 1)
    assert randomiser.size == 1
    expected = np.full((7, 7), 1 / (math.e + 6)) + np.eye(7) * (math.e - 1) / (math.e + 6)
    np.testing.assert_allclose(randomiser.channel(), expected, rtol=1e-12)
    assert randomiser.loss() <= 1.0


@pytest.mark.parametrize("width", [0, 7, 8, 1.5, True])
def test_impossible_widths_are_refused(width: int) -> None:
    with pytest.raises(ParameterError, match="width"):
        SubsetSelection(1.0, 7, width)
