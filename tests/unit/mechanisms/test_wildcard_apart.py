"""Wildcard apart: its exact channel, cell by cell, its supports, its estimate, its optimality, its compact report."""

import math
from collections import Counter, defaultdict
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms.subset_selection import SubsetSelection
from blendp.mechanisms.wildcard_apart import WildcardApart
from blendp.privacy import hockey_stick, worst_log_ratio
from blendp.randomness import Random, ReleaseRandom, SimulationRandom
from tests.support import KnownKey, branches, goodness

SMALL = [(1.0, 1), (1.0, 2), (4.0, 2), (0.3, 3), (0.1, 4), (0.5, 5), (0.1, 6), (2.0, 7), (0.7, 8)]
RUNS = 3_000
"""So many tell the laws of epsilons a fifth apart from each other: their likelihoods differ by e^7 or more."""

HOLDERS = 0.1
"""The share of people with a listed item for which the size is chosen."""


def rank(randomiser: WildcardApart, row: NDArray[np.bool_]) -> int:
    return int.from_bytes(randomiser.encode(np.flatnonzero(row).tolist()), "big")


def spread(items: int, listed: float = 0.5) -> NDArray[np.float64]:
    """A law in which so many hold a listed item, some of them many and others nobody."""
    weights = np.arange(items - 1, dtype=np.float64) ** 2
    total = weights.sum()
    return np.append(weights * (listed / total), 1 - listed) if total else np.append(weights, 1.0)


def law_of_supports(randomiser: WildcardApart, own_items: list[int]) -> dict[tuple[int, ...], float]:
    """The exact joint law of the supports, person by person."""
    reports, channel = randomiser.all_subsets().astype(int), randomiser.channel()
    law = {(0,) * randomiser.items: 1.0}
    for x in own_items:
        after: dict[tuple[int, ...], float] = defaultdict(float)
        for (before, weight), (report, probability) in product(law.items(), zip(reports, channel[x], strict=True)):
            after[tuple((before + report).tolist())] += weight * probability
        law = after
    return law


def covariance(randomiser: WildcardApart, law: NDArray[np.float64]) -> NDArray[np.float64]:
    """n times the covariance of the estimates, as PROOF.md states it."""
    L, w = randomiser.listed, randomiser.size
    a, c, p = (coin / 2**53 for coin in (randomiser.own_coin, randomiser.other_coin, randomiser.among.coin))
    f, r = law[:-1], law[-1]
    q = (w - p) / (L - 1)
    alone = a * r + c * (1 - r)
    named = (1 - c) * (f * p + (1 - r - f) * q) + r * (1 - a) * w / L
    steep, level = 1 / ((1 - c) * (p - q)), a / (L * (a - c))
    x, z, y = level + steep * (1 - w / L), level - steep * w / L, level - 1 / (L * (a - c))
    pair = f[:, None] + f[None, :]
    both = (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((L - 1) * max(L - 2, 1))
    together = (1 - c) * (pair * p * (w - 1) / (L - 1) + (1 - r - pair) * both) + r * (1 - a) * w * (w - 1) / (
        L * (L - 1)
    )
    either = named[:, None] + named[None, :]
    matrix = together * x**2 + (either - 2 * together) * x * z + (1 - alone - either + together) * z**2
    matrix += alone * y**2 - np.outer(f, f)
    np.fill_diagonal(matrix, named * x**2 + alone * y**2 + (1 - named - alone) * z**2 - f**2)
    last = -matrix.sum(axis=0)
    return np.block([[matrix, last[:, None]], [last[None, :], np.array([[alone * (1 - alone) / (a - c) ** 2]])]])


@pytest.mark.parametrize(
    "randomiser",
    [
        *(WildcardApart(*case) for case in SMALL),
        *(WildcardApart(1.5, items, size) for items in (4, 6) for size in range(1, items - 1)),
    ],
    ids=lambda randomiser: f"{randomiser.epsilon:g}-{randomiser.items}-{randomiser.size}",
)
def test_the_code_draws_exactly_the_channel_it_states(randomiser: WildcardApart) -> None:
    """Follow every path of decisions through the code, with exact fractions."""
    own_alone, other_alone, inside, outside, unlisted = randomiser.cell_probabilities()
    reports = randomiser.all_subsets()
    matrix = []
    for own in range(randomiser.items):
        drawn = [Fraction(0)] * len(reports)

        def draw(random: Random, own: int = own) -> int:
            return rank(randomiser, randomiser.draw([own], random)[0])

        for report, probability in branches(draw):
            drawn[report] += probability
        if own == randomiser.listed:
            assert drawn == [unlisted] * (len(reports) - 1) + [own_alone]
        else:
            assert drawn == [inside if row[own] else outside for row in reports[:-1]] + [other_alone]
        assert sum(drawn) == 1
        matrix.append(drawn)
    assert np.allclose(randomiser.channel(), np.array(matrix, dtype=np.float64), rtol=1e-14)
    columns = [[p for p in column if p] for column in zip(*matrix, strict=True)]
    assert randomiser.ratio() == max(max(column) / min(column) for column in columns)
    assert worst_log_ratio(randomiser.channel()) == pytest.approx(randomiser.loss(), abs=1e-12)


def test_the_small_cases_have_reports_of_several_sizes() -> None:
    assert {WildcardApart(*case).size for case in SMALL} == {1, 2, 3}


@settings(max_examples=150)
@given(epsilon=st.floats(2.0**-40, 50), items=st.integers(2, 5000), fraction=st.none() | st.floats(0, 1))
def test_the_loss_is_epsilon_at_most(epsilon: float, items: int, fraction: float | None) -> None:
    """Whatever the coins are rounded to; and no coin could be a step nearer to what is not rounded."""
    width = None if fraction is None else 1 + round(fraction * max(0, items - 3))
    if width is not None and epsilon < 1e-8:
        return  # some of these are refused, as test_the_smallest_epsilon_is_good_for_every_list says
    randomiser = WildcardApart(epsilon, items, width)
    exact = Fraction(Decimal(epsilon).exp(Context(prec=80)))
    assert 1 < randomiser.ratio() < exact
    own, other = Fraction(randomiser.own_coin, 1 << 53), Fraction(randomiser.other_coin, 1 << 53)
    ideal = 1 / (exact + Fraction(items - 1, randomiser.size))
    assert own <= exact * ideal < own + Fraction(1, 1 << 53)
    assert other - Fraction(1, 1 << 53) < ideal <= other
    assert 0 < randomiser.loss() <= epsilon
    if 1e-6 < epsilon < 20:
        assert randomiser.loss() == pytest.approx(epsilon, rel=1e-4)


def test_coins_rounded_the_other_way_reveal_too_much() -> None:
    """The check of the ratio is not idle."""
    worse = 0
    for items in range(3, 40):
        randomiser = WildcardApart(3.0, items)
        object.__setattr__(randomiser, "other_coin", randomiser.other_coin - 1)
        object.__setattr__(randomiser, "own_coin", randomiser.own_coin + 1)
        worse += randomiser.ratio() > Fraction(Decimal(3).exp(Context(prec=60)))
    assert worse == 37


@pytest.mark.parametrize(("epsilon", "items"), [(0.5, 5), (2.0, 7), (1.0, 2), (0.7, 8)])
def test_delta_is_the_worst_hockey_stick(epsilon: float, items: int) -> None:
    randomiser = WildcardApart(epsilon, items)
    rows = randomiser.channel()
    for share in (0.0, 0.3, 0.8, 1.0):
        worst = max(hockey_stick(one, other, share * epsilon) for one, other in product(rows, rows))
        assert randomiser.delta_at(share * epsilon) == pytest.approx(worst, abs=1e-14)


def contrast(randomiser: WildcardApart | SubsetSelection, holders: float) -> float:
    """The information about contrasts of listed items in one report, by enumeration; people hold them evenly."""
    k = randomiser.items
    direction = np.zeros(k)
    direction[:2] = math.sqrt(0.5), -math.sqrt(0.5)
    channel = randomiser.channel()
    law = np.append(np.full(k - 1, holders / (k - 1)), 1 - holders)
    return float(((direction @ channel) ** 2 / (law @ channel)).sum())


def best_contrast(epsilon: float, listed: int, holders: float) -> float:
    """The most of it that any channel with this epsilon gives which treats listed items alike: a linear programme.

    An extremal channel has P(S | x) = h_S (E if x in S else 1); here a weight for each kind of S: whether * is in it,
    and how many listed items are.
    """
    E, L = math.exp(epsilon), listed
    kinds = [(star, m) for star in (False, True) for m in range(L + 1) if star or m]
    of_rest = [math.comb(L, m) * (E if star else 1) for star, m in kinds]
    of_listed = [E * math.comb(L - 1, m - 1) + math.comb(L - 1, m) if m else 1 for _, m in kinds]
    worth = [
        math.comb(L, m)
        * ((E - 1) ** 2 * m * (L - m) / (L * (L - 1)))
        / ((1 - holders) * (E if star else 1) + holders * (m * E + L - m) / L)
        for star, m in kinds
    ]
    scale = np.array(of_listed)  # weights of whole kinds, as numbers of sets are large
    solved = optimize.linprog(
        -np.array(worth) / scale, A_eq=[of_rest / scale, np.ones(len(kinds))], b_eq=[1, 1], method="highs"
    )
    return -float(solved.fun)


@pytest.mark.parametrize("epsilon", [2.0, 2.5, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("items", [3, 4, 6, 8, 11, 14])
def test_no_channel_tells_more_about_listed_items(epsilon: float, items: int) -> None:
    best = best_contrast(epsilon, items - 1, HOLDERS)
    assert contrast(WildcardApart(epsilon, items), HOLDERS) == pytest.approx(best, rel=1e-6)
    for holders in (1e-6, 0.3):
        sizes = [WildcardApart(epsilon, items, size) for size in range(1, max(2, items // 2))]
        most = max(contrast(randomiser, holders) for randomiser in sizes)
        assert most == pytest.approx(best_contrast(epsilon, items - 1, holders), rel=1e-6)


def test_subset_selection_does_not_attain_the_optimum() -> None:
    """So the comparison can fail; nor does this one below epsilon 2, where * may stand in sets."""
    assert contrast(SubsetSelection(2.0, 12), HOLDERS) < 0.85 * best_contrast(2.0, 11, HOLDERS)
    assert contrast(WildcardApart(1.0, 12), HOLDERS) < 0.995 * best_contrast(1.0, 11, HOLDERS)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 6.0])
def test_the_size_is_the_best_for_a_tenth_and_good_for_others(epsilon: float) -> None:
    e = math.exp(epsilon)
    for items in [3, 4, 7, 20, 39, 89, 150, 500, 2001]:
        L, size = items - 1, WildcardApart(epsilon, items).size
        w = np.arange(1, max(2, L))
        others = ((0.0, 1.17), (0.05, 1.17), (0.3, 1.17), (0.5, 1.17)) if epsilon <= 4 else ()
        for holders, allowed in ((HOLDERS, 1 + 1e-9), *others):
            error = (e * w + L) * (L + holders * w * (e - 1)) / (w * (L - w)) if L > 1 else np.ones(1)
            assert error[size - 1] <= allowed * error.min(), (items, holders)


@pytest.mark.parametrize(
    ("epsilon", "items", "size", "noise", "of_subset"),
    [(4, 89, 4, 0.0325, 0.0493), (4, 200, 10, 0.0337, 0.0649), (2, 2001, 425, 0.4268, 0.7223), (1, 39, 12, 2.91, 3.45)],
)
def test_noise_of_the_usual_lists(epsilon: float, items: int, size: int, noise: float, of_subset: float) -> None:
    """n times the variance for an item that nobody holds, when a tenth hold a listed one; beside subset selection."""
    randomiser = WildcardApart(epsilon, items)
    assert randomiser.size == size
    assert float(randomiser.variance(0.0, 1, 1 - HOLDERS)) == pytest.approx(noise, rel=6e-3)
    assert SubsetSelection(epsilon, items).noise == pytest.approx(of_subset, rel=6e-3)


def test_a_liar_gains_less() -> None:
    apart, subset = WildcardApart(4.0, 89), SubsetSelection(4.0, 89)
    assert apart.gain == pytest.approx(1.424, abs=1e-3)
    assert (1 - subset.stray) / (subset.hit - subset.stray) == pytest.approx(2.642, abs=1e-3)
    for each in (apart, WildcardApart(1.0, 12), WildcardApart(2.0, 2), WildcardApart(4.0, 1)):
        alone = [each.estimate(row.astype(int), 1) for row in each.all_subsets()] if each.items < 20 else []
        if alone:
            assert each.gain == pytest.approx(max(scores[:-1].max(initial=0) for scores in alone))


@pytest.mark.parametrize(("epsilon", "items"), [*SMALL[1:], (1.5, 12), (4.0, 9)])
def test_the_estimate_has_no_bias_and_the_stated_variances_and_covariances_by_enumeration(
    epsilon: float, items: int
) -> None:
    randomiser = WildcardApart(epsilon, items)
    reports, channel = randomiser.all_subsets().astype(int), randomiser.channel()
    scores = np.array([randomiser.estimate(report, 1) for report in reports])
    assert channel @ scores == pytest.approx(np.eye(items), abs=1e-10)
    assert scores.sum(axis=1) == pytest.approx(np.ones(len(scores)), abs=1e-10)
    for listed in (0.0, 0.05, 0.5, 1.0):
        law = spread(items, listed)
        exact = scores.T @ ((law @ channel)[:, None] * scores) - np.outer(law, law)
        size = np.abs(exact).max()
        assert randomiser.variance(law[:-1], 1, law[-1]) == pytest.approx(np.diag(exact)[:-1], abs=1e-10 * size)
        assert float(randomiser.rest_variance(law[-1], 7)) == pytest.approx(exact[-1, -1] / 7, abs=1e-10 * size)
        if items > 2:
            assert covariance(randomiser, law) == pytest.approx(exact, abs=1e-9 * size)


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 9), (4.0, 6)])
def test_both_sources_draw_the_same_channel(source: type[KnownKey], epsilon: float, items: int) -> None:
    """Every report, with enough draws to tell it from the channel of an epsilon a fifth less or a quarter more."""
    randomiser, random = WildcardApart(epsilon, items), source(3)
    ranks = {tuple(row): i for i, row in enumerate(randomiser.all_subsets().tolist())}
    for own in (0, items // 2, items - 1):
        drawn = randomiser.draw(np.full(60_000, own), random)
        counts = np.bincount([ranks[tuple(row)] for row in drawn.tolist()], minlength=len(ranks))
        assert goodness(counts, randomiser.channel()[own]) > 1e-4
        for scale in (0.8, 1.25):
            other = WildcardApart(scale * epsilon, items, randomiser.size)
            assert goodness(counts, other.channel()[own]) < 1e-9


@pytest.mark.parametrize(("epsilon", "items"), [(4.0, 1), (4.0, 2), (4.0, 51), (2.0, 40), (1.0, 51), (0.1, 300)])
def test_supports_are_the_sums_of_the_reports_draw_for_draw(epsilon: float, items: int) -> None:
    randomiser = WildcardApart(epsilon, items)
    own_items = np.arange(20_000) ** 2 % items
    before = own_items.copy()
    reports = randomiser.draw(own_items, SimulationRandom(1))
    totals = randomiser.supports(own_items, SimulationRandom(1))
    assert np.array_equal(own_items, before)
    sizes = np.where(reports[:, -1], 1, randomiser.size)
    assert (reports.sum(axis=1) == sizes).all()
    assert np.array_equal(reports.sum(axis=0), totals)
    assert totals.dtype == np.int64


@pytest.mark.statistical
@pytest.mark.parametrize("by_counts", [False, True], ids=["people", "counts"])
@pytest.mark.parametrize(
    ("epsilon", "items", "size", "own_items"),
    [(2.0, 2, 1, [0, 1, 1]), (1.5, 4, 2, [1, 3, 3]), (2.0, 5, 2, [0, 4, 2]), (2.0, 5, 3, [4, 1]), (3.0, 4, 1, [0, 3])],
)
def test_joint_law_of_the_supports(
    epsilon: float, items: int, size: int, own_items: list[int], by_counts: bool
) -> None:
    """Both ways to the supports have the law of the channel, not that of an epsilon a fifth less or a quarter more."""
    randomiser, generator = WildcardApart(epsilon, items, size), np.random.default_rng(4)
    if by_counts:
        holders = np.bincount(own_items, minlength=items)
        totals = [randomiser.supports_of_counts(holders, generator).tolist() for _ in range(RUNS)]
    else:
        reports = randomiser.draw(np.tile(own_items, RUNS), SimulationRandom(4))
        totals = reports.reshape(RUNS, len(own_items), items).sum(axis=1).tolist()
    law = law_of_supports(randomiser, own_items)
    seen = Counter(map(tuple, totals))
    assert seen.keys() <= law.keys()
    counts, chances = np.array([seen[outcome] for outcome in law]), np.array(list(law.values()))
    assert goodness(counts, chances) > 1e-4
    for scale in (0.8, 1.25):
        other = law_of_supports(WildcardApart(scale * epsilon, items, size), own_items)
        assert counts @ np.log(chances / [other[outcome] for outcome in law]) > math.log(1000)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 51), (4.0, 90)])
def test_large_supports_have_the_stated_moments(epsilon: float, items: int) -> None:
    """Estimates of many people are as far from the truth as stated, which an epsilon a fifth less would not have it."""
    randomiser, law = WildcardApart(epsilon, items), spread(items, 0.4)
    users, generator = 60_000, np.random.default_rng(5)
    holders = generator.multinomial(users, law)
    for totals in (
        randomiser.supports(np.repeat(np.arange(items), holders), SimulationRandom(6)),
        randomiser.supports_of_counts(holders, np.random.default_rng(6)),
    ):
        assert totals[:-1].sum() == randomiser.size * (users - totals[-1])
        assert 1e-4 < stats.chi2.sf(distance(randomiser, totals, law, users), items - 1) < 1 - 1e-4
        wrong = WildcardApart(0.8 * epsilon, items, randomiser.size)
        assert stats.chi2.sf(distance(wrong, totals, law, users), items - 1) < 1e-9


def distance(randomiser: WildcardApart, totals: ArrayLike, law: NDArray[np.float64], users: int) -> float:
    """The squared Mahalanobis distance of the estimates; that of * follows from the others."""
    away = (randomiser.estimate(totals, users) - law)[:-1]
    return float(away @ np.linalg.solve(covariance(randomiser, law)[:-1, :-1] / users, away))


def test_everybody_and_nobody() -> None:
    randomiser, generator = WildcardApart(1.0, 10), np.random.default_rng(9)
    assert randomiser.supports_of_counts(np.zeros(10, dtype=np.int64), generator).tolist() == [0] * 10
    assert randomiser.supports([], SimulationRandom(1)).tolist() == [0] * 10
    assert randomiser.draw([], SimulationRandom(1)).shape == (0, 10)
    crowd = np.full(10, 90_000_000)
    users = int(crowd.sum())
    estimates = randomiser.estimate(randomiser.supports_of_counts(crowd, generator), users)
    allowed = 6 * math.sqrt(float(randomiser.variance(0.1, users, 0.1)))
    assert estimates == pytest.approx(np.full(10, 0.1), abs=allowed)


def test_a_list_of_nothing_reveals_nothing() -> None:
    randomiser = WildcardApart(4.0, 1)
    assert (randomiser.size, randomiser.loss(), randomiser.delta_at(0.0), randomiser.gain) == (1, 0, 0, 0)
    assert randomiser.draw([0, 0], KnownKey(1)).tolist() == [[True], [True]]
    assert randomiser.supports([0] * 5, KnownKey(1)).tolist() == [5]
    assert randomiser.supports_of_counts([5], np.random.default_rng(1)).tolist() == [5]
    assert randomiser.estimate([5], 5).tolist() == [1]
    assert randomiser.variance([], 5, 1.0).tolist() == []
    assert float(randomiser.rest_variance(1.0, 5)) == 0
    assert randomiser.channel().tolist() == [[1.0]]
    assert (randomiser.report_bits, randomiser.report_bytes, randomiser.subsets) == (0, 1, 1)
    assert randomiser.decode(randomiser.encode([0])) == (0,)
    assert randomiser.supports_of_reports(np.zeros((3, 1), dtype=np.uint8)).tolist() == [3]
    with pytest.raises(ParameterError, match="subset"):
        randomiser.encode([1])


def test_a_list_of_one_is_randomised_response() -> None:
    randomiser, e = WildcardApart(1.0, 2), math.e
    right = np.array([[e, 1], [1, e]]) / (e + 1)
    np.testing.assert_allclose(randomiser.channel(), right, rtol=1e-12)
    assert randomiser.loss() == pytest.approx(1.0)


def test_only_cryptographic_randomness_is_released() -> None:
    randomiser = WildcardApart(1.0, 10)
    assert randomiser.release([1, 2, 9], ReleaseRandom()).shape == (3, 10)
    with pytest.raises(RandomnessError, match="SimulationRandom is not for released data"):
        randomiser.release([1], SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "items"), [*SMALL, (1.0, 9), (4.0, 20), (8.0, 257)])
def test_every_report_has_one_code_and_every_code_one_report(epsilon: float, items: int) -> None:
    randomiser = WildcardApart(epsilon, items)
    assert randomiser.subsets == math.comb(items - 1, randomiser.size) + 1
    data = np.array(
        [list(index.to_bytes(randomiser.report_bytes, "big")) for index in range(randomiser.subsets)], dtype=np.uint8
    )
    for row, code in zip(randomiser.all_subsets(), data, strict=True):
        subset = tuple(np.flatnonzero(row).tolist())
        assert randomiser.decode(code.tobytes()) == subset
        assert randomiser.encode(subset[::-1]) == code.tobytes()
        assert randomiser.supports_of_reports(code[None]).tolist() == row.tolist()
    assert randomiser.supports_of_reports(data).tolist() == randomiser.all_subsets().sum(axis=0).tolist()
    beyond = np.array([list(randomiser.subsets.to_bytes(randomiser.report_bytes, "big"))], dtype=np.uint8)
    assert randomiser.possible(data).all()
    assert not randomiser.possible(beyond).any()
    with pytest.raises(ParameterError, match="a rank of at most C"):
        randomiser.decode(beyond.tobytes())
    with pytest.raises(ParameterError, match="a rank of at most C"):
        randomiser.supports_of_reports(beyond)


@settings(max_examples=80)
@given(epsilon=st.floats(0.05, 8), items=st.integers(1, 400), seed=st.integers(0, 1 << 32))
def test_reports_survive_the_wire(epsilon: float, items: int, seed: int) -> None:
    randomiser = WildcardApart(epsilon, items)
    rows = randomiser.draw([seed % items, items - 1], SimulationRandom(seed))
    encoded = [randomiser.encode(np.flatnonzero(row).tolist()) for row in rows]
    assert {len(data) for data in encoded} == {randomiser.report_bytes}
    for data, row in zip(encoded, rows, strict=True):
        assert list(randomiser.decode(data)) == np.flatnonzero(row).tolist()
    together = np.frombuffer(b"".join(encoded), dtype=np.uint8).reshape(2, -1)
    assert randomiser.supports_of_reports(together).tolist() == rows.sum(axis=0).tolist()


def test_bytes_of_a_report() -> None:
    cases = [(4, 51), (4, 150), (1, 51), (2, 150), (4, 2000)]
    assert [WildcardApart(*case).report_bytes for case in cases] == [2, 6, 6, 14, 72]
    assert WildcardApart(8.0, 257).report_bytes == 2  # 256 sets, and *


def test_words_for_people() -> None:
    assert str(WildcardApart(4.0, 150)) == (
        "wildcard apart (ε = 4): * alone, with probability 0.7456 if it is held and 0.01366 if not, or 8 of 149 listed "
        "items; 6 bytes a report"
    )
    assert WildcardApart(4.0, 150).description == "wildcard apart: * alone or 8 of 149 listed items"


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 51, True, "1", 2.0**-41])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        WildcardApart(epsilon, 10)


def test_the_smallest_epsilon_is_good_for_every_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest list has so many sets that their number has 300 000 digits: its ratio is worked out once."""
    monkeypatch.setattr(WildcardApart, "ratio", cache(WildcardApart.ratio))
    for items in (2, 3, 4, 5, 50, 999, 1_000_000):
        assert 0 < WildcardApart(2.0**-40, items).loss() <= 2.0**-40
    with pytest.raises(ParameterError, match="Leave out width"):
        WildcardApart(2.0**-40, 1_000_000, 1)


@pytest.mark.parametrize("items", [0, -1, 2.0, True, 1_000_001])
def test_impossible_lists_are_refused(items: int) -> None:
    with pytest.raises(ParameterError, match="items"):
        WildcardApart(1.0, items)


@pytest.mark.parametrize("width", [0, 6, 7, 1.5, True])
def test_impossible_widths_are_refused(width: int) -> None:
    with pytest.raises(ParameterError, match="width"):
        WildcardApart(1.0, 7, width)


@pytest.mark.parametrize("own_items", [[10], [-1], [0.5], [[1]], [True]])
def test_items_off_the_list_are_refused(own_items: list[int]) -> None:
    for use in (WildcardApart(1.0, 10).draw, WildcardApart(1.0, 10).supports):
        with pytest.raises(ParameterError, match=r"own_items.*from 0 to 9"):
            use(own_items, SimulationRandom(1))


@pytest.mark.parametrize("counts", [[1, 2], [1, -1, 0], [0.5, 1, 1]])
def test_impossible_counts_are_refused(counts: list[int]) -> None:
    with pytest.raises(ParameterError, match="counts"):
        WildcardApart(1.0, 3).supports_of_counts(counts, np.random.default_rng(1))


@pytest.mark.parametrize("subset", [[], [1, 1], [8, 149], [1, 2, 3], [1.0]])
def test_impossible_reports_are_refused(subset: list[int]) -> None:
    with pytest.raises(ParameterError, match="8 different items from 0 to 148"):
        WildcardApart(4.0, 150).encode(subset)


def test_lengths_users_and_large_channels() -> None:
    randomiser = WildcardApart(4.0, 150)
    for data in (b"", b"1", b"1234567"):
        with pytest.raises(ParameterError, match="6 bytes long"):
            randomiser.decode(data)
    with pytest.raises(ParameterError, match="rows of 6 bytes"):
        randomiser.possible(np.zeros((3, 1), dtype=np.uint8))
    for users in (0, -1, 1.5):
        for use in (randomiser.variance, randomiser.rest_variance):
            with pytest.raises(ParameterError, match="users"):
                use(0.1, users)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="users"):
            randomiser.estimate(np.zeros(150), users)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cell_probabilities"):
        randomiser.channel()


def test_which_supports_add_up() -> None:
    randomiser = WildcardApart(4.0, 150)
    totals = randomiser.supports(np.arange(600) % 150, SimulationRandom(1))
    assert randomiser.adds_up(totals, 600)
    assert not randomiser.adds_up(totals, 601)
    totals[0] += 1
    assert not randomiser.adds_up(totals, 600)
    nothing = WildcardApart(4.0, 1)
    assert nothing.adds_up(np.array([3]), 3)
    assert not nothing.adds_up(np.array([3]), 4)


def test_likelihoods_are_the_channel() -> None:
    for randomiser in (WildcardApart(2.0, 8), WildcardApart(1.0, 2), WildcardApart(1.0, 1), SubsetSelection(1.0, 6)):
        channel = randomiser.channel()
        for report, row in zip(channel.T, randomiser.all_subsets(), strict=True):
            groups = randomiser.likelihoods(np.flatnonzero(row).tolist())
            items = np.concatenate([items for _, items, _ in groups])
            assert sorted(items.tolist()) == list(range(randomiser.items))
            for _, members, probability in groups:
                assert report[members] == pytest.approx(np.full(len(members), float(probability)))
