"""The list of many records a person: what it promises, strays, and what is drawn."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms import FilteredUnion, Holdings, RoundedGaussian
from blendp.mechanisms.filtered_union import MAX_DIFFERENT, filtered_union
from blendp.mechanisms.filtered_union.filtered_union import PASSING
from blendp.mechanisms.filtered_union.holdings import GRID
from blendp.mechanisms.filtered_union.two_scale import CLIP, SHARE_GRID
from blendp.privacy import Budget
from blendp.privacy.gaussian import gaussian_delta
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, goodness
from tests.unit.mechanisms.filtered_law import small_grid
from tests.unit.privacy import exact_normal


@cache
def usual() -> FilteredUnion:
    return FilteredUnion(Budget(4, 1e-5), 0.2, 0.3)


def holding(people: Sequence[Sequence[int]]) -> Holdings:
    """People who have these different records, all of them kept, once each."""
    owner = np.repeat(np.arange(len(people)), [len(each) for each in people])
    record = np.array([r for each in people for r in each], dtype=np.int64)
    return Holdings(len(people), owner, record, np.ones_like(record), np.ones(len(record), dtype=bool))


@settings(max_examples=8, deadline=None)
@given(
    epsilon=st.floats(0.3, 50), power=st.floats(-12, -1.5), first=st.floats(0.05, 0.45), second=st.floats(0.05, 0.45)
)
def test_the_promise_adds_up(epsilon: float, power: float, first: float, second: float) -> None:
    """In exact fractions: all that one person moves, in the noise that is drawn, is mu^2 at most."""
    delta = 10**power
    union = FilteredUnion(Budget(epsilon, delta), first, second)
    assert union.delta_threshold + union.delta_gaussian <= delta
    assert 0 < union.delta_threshold <= union.worst_threshold < 1
    assert union.delta_gaussian == gaussian_delta(union.mu, epsilon + math.log1p(-union.worst_threshold))
    mu, counts = Fraction(union.mu), union.counts
    steps = [
        (GRID, union.filter_noise),
        (GRID, union.list_noise),
        (CLIP, counts.clipped_noise),
        (SHARE_GRID - CLIP, counts.excess_noise),
        (SHARE_GRID, counts.dispersion_noise),
    ]
    spent = sum(2 * Fraction(length) ** 2 / noise.sigma**2 for length, noise in steps)
    assert Fraction(999, 1000) * mu**2 < spent <= mu**2
    assert union.passing_total - 1 < PASSING * union.filter_noise.sigma <= union.passing_total
    assert union.delta_at(epsilon) == union.delta_threshold + union.delta_gaussian
    assert union.delta_at(0.0) == 1


def exact_tail(noise: RoundedGaussian, x: int) -> Fraction:
    """P(X >= x), rounded up by 2^-200."""
    return Fraction(math.ceil(exact_normal.upper_tail((x - Fraction(1, 2)) / noise.sigma, 220) * 2**200), 2**200)


@pytest.mark.parametrize(("epsilon", "delta"), [(4.0, 1e-5), (1.0, 1e-2), (2.0, 1e-12)])
def test_strays_of_one_person_in_rational_arithmetic(epsilon: float, delta: float) -> None:
    """Records with equal weights that pass, for every number of them: a part of what beta and gamma bound."""
    union = FilteredUnion(Budget(epsilon, delta))
    most = 6
    chances = [exact_tail(union.list_noise, union.min_total - math.isqrt(GRID**2 // k)) for k in range(1, most + 1)]
    none = [Fraction(1), *((1 - chance) ** k for k, chance in enumerate(chances, 1))]
    worst = Fraction(0)
    for d in range(1, most + 1):
        p = exact_tail(union.filter_noise, union.passing_total - math.isqrt(GRID**2 // d))
        terms = [math.comb(d, k) * p**k * (1 - p) ** (d - k) * (1 - none[k]) for k in range(d + 1)]
        worst = max(worst, sum(terms, Fraction(0)))
    assert 0 < worst <= Fraction(union.delta_threshold)
    assert 1 - min(none) <= Fraction(union.worst_threshold)


@pytest.mark.parametrize("different", [1, 2, 5])
def test_beta_in_rational_arithmetic(different: int) -> None:
    """With few records a person, from lambda that are fractions: the code's beta is above, by next to nothing."""
    with small_grid(9, 4, different):
        union = FilteredUnion(Budget(4, 1e-5))
    G = 9
    L = [exact_tail(union.list_noise, union.min_total - w) for w in range(G + 1)]
    f = [sum((x**i / i for i in range(1, 12)), Fraction(0)) for x in L]  # -ln(1 - x), short by x^12 at most
    slopes = [Fraction(0)]
    slopes += [(f[w] - f[v]) / (w * w - v * v) for w in range(G + 1) for v in range(w) if v == w - 1 or w == G]
    beta = gamma = Fraction(0)
    for d in range(1, different + 1):
        p = exact_tail(union.filter_noise, union.passing_total - math.isqrt(G * G // d))
        average = Fraction(0)
        for k in range(1, d + 1):
            H = min(s * G * G + k * max(f[w] - s * w * w for w in range(G + 1)) for s in slopes)
            listed = sum((-1) ** (i + 1) * H**i / math.factorial(i) for i in range(1, 12))
            average += math.comb(d, k) * p**k * (1 - p) ** (d - k) * listed
            gamma = max(gamma, listed)
        beta = max(beta, average)
    for exact, stated in ((beta, union.delta_threshold), (gamma, union.worst_threshold)):
        assert exact <= Fraction(stated)
        assert float(exact) == pytest.approx(stated, rel=2e-10)


def test_no_spread_of_weights_lists_a_stray_more_often() -> None:
    """The maximum over all whole weights whose squares add up to G^2 at most, by dynamic programming."""
    grid, most = 20, 6
    with small_grid(grid, 64, most):
        union = FilteredUnion(Budget(2, 1e-3))
        for rho in (union.min_total, grid // 2, grid + 5):
            bound = union._stray_listed(rho)
            f = -np.log1p(-union.list_noise.at_least(rho - np.arange(grid + 1)))
            best = np.zeros(grid**2 + 1)
            for k in range(1, most + 1):
                best = np.max(
                    [np.append(np.full(w * w, -np.inf), best[: grid**2 + 1 - w * w]) + f[w] for w in range(grid + 1)],
                    axis=0,
                )
                exact = -math.expm1(-best[-1])
                assert exact <= bound[k] * (1 + 1e-12)
                assert exact > 0.9 * bound[k]
            assert bound[0] == 0
            assert (np.diff(bound) >= 0).all()


@given(st.lists(st.integers(0, 64), min_size=1, max_size=MAX_DIFFERENT))
def test_nor_do_the_weights_that_people_have(emphases: list[int]) -> None:
    union = usual()
    square = sum(c * c for c in emphases)
    w = np.array([math.isqrt(GRID**2 * c * c // square) if c else 0 for c in emphases])
    none = float(np.prod(1 - union.list_noise.at_least(union.min_total - w)))
    bound = union._stray_listed(union.min_total)
    assert 1 - none <= bound[len(emphases)] + 1e-15
    assert bound[len(emphases)] <= union.worst_threshold


def test_a_threshold_below_all_weights_lists_all_that_passes() -> None:
    with small_grid(9, 4, 3):
        union = FilteredUnion(Budget(4, 1e-2))
        assert union._stray_listed(-(10**6)).tolist() == [0, 1, 1, 1]
        beta, gamma = union._stray(-(10**6))
        alone = [float(union.filter_noise.at_least(union.passing_total - math.isqrt(81 // d))) for d in (1, 2, 3)]
    assert gamma == 1
    assert beta == pytest.approx(max(1 - (1 - p) ** d for d, p in enumerate(alone, 1)), rel=1e-9)


@pytest.mark.parametrize("d", [1, 7, 40, MAX_DIFFERENT])
def test_one_persons_own_records_are_listed_with_next_to_beta(d: int) -> None:
    """Many that are alone: how often one is listed, by the law of how many pass; few emphases differ from 1."""
    union = usual()
    p = float(union.filter_noise.at_least(union.passing_total - math.isqrt(GRID**2 // d)))
    k = np.arange(1, d + 1)
    w = np.array([math.isqrt(GRID**2 // each) for each in k])
    listed = -np.expm1(k * np.log1p(-union.list_noise.at_least(union.min_total - w)))
    chance = float(stats.binom.pmf(k, d, p) @ listed)
    assert chance <= union.delta_threshold
    if d == MAX_DIFFERENT:
        assert chance > 0.5 * union.delta_threshold


def by_loop(
    union: FilteredUnion, people: Sequence[Sequence[int]], first: dict[int, int], second: dict[int, int]
) -> dict[int, int]:
    """The definition, one record after the other, with known noise: what is listed, and its noisy weight."""
    V: dict[int, int] = {}
    for person in people:
        for r in person:
            V[r] = V.get(r, 0) + math.isqrt(GRID**2 // len(person))
    N = {r: v + first[r] for r, v in V.items() if v + first[r] >= union.passing_total}
    c = {r: max(1, min(64, 64 * union.min_total // n)) for r, n in N.items()}
    W = dict.fromkeys(N, 0)
    for person in people:
        square = sum(c[r] ** 2 for r in person if r in c)
        for r in person:
            if r in c:
                W[r] += math.isqrt(GRID**2 * c[r] ** 2 // square)
    return {r: w + second[r] for r, w in sorted(W.items()) if w + second[r] >= union.min_total}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_draws_are_those_of_a_loop(data: st.DataObject) -> None:
    """With noise that is known, in place of both ways of drawing it."""
    union, records = usual(), 6
    sets = data.draw(st.lists(st.sets(st.integers(0, records - 1), max_size=records), max_size=8))
    people = [sorted(each) for each in sets for _ in range(data.draw(st.integers(1, 12)))]
    noise = st.lists(st.integers(-3000, 9000), min_size=records, max_size=records)
    first, second = (dict(enumerate(data.draw(noise))) for _ in range(2))
    occurring = sorted({r for each in people for r in each})
    turns = [first, second]

    def known(totals: NDArray[np.int64], threshold: int, *_: object) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        values = turns.pop(0)
        names = occurring if values is first else sorted(passed)
        noisy = totals + np.array([values[r] for r in names], dtype=np.int64)
        reached = np.flatnonzero(noisy >= threshold)
        if values is first:
            passed.extend(names[i] for i in reached)
        return reached, noisy[reached]

    passed: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filtered_union, "_reaching", known)
        listed = union.draw(holding(people), SimulationRandom(0))
    assert dict(zip(listed.records.tolist(), listed.totals.tolist(), strict=True)) == by_loop(
        union, people, first, second
    )
    assert (np.diff(listed.records) > 0).all()


def test_rows_that_are_not_kept_do_not_weigh() -> None:
    union = FilteredUnion(Budget(50, 0.1))
    many = 60
    owner, record = np.repeat(np.arange(many), 3), np.tile([0, 1, 2], many)
    kept = record == 0
    rows = Holdings(many, owner, record, np.ones_like(record), kept)
    listed = union.draw(rows, KnownKey(1))
    assert listed.records.tolist() == [0]
    only = Holdings(many, owner[kept], record[kept], np.ones(many, dtype=np.int64), np.ones(many, dtype=bool))
    assert union.draw(only, KnownKey(1)).totals.tolist() == listed.totals.tolist()


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize("holders", [12, 18])
def test_records_are_listed_with_their_law(source: Callable[[int], Random], holders: int) -> None:
    """Many records of as many people each, who hold nothing else: both rounds, and the noisy weight."""
    union, many = FilteredUnion(Budget(4, 1e-3)), 4_000
    rows = Holdings.one_each(np.repeat(np.arange(many), holders))
    listed = union.draw(rows, source(11))
    total, edges = holders * GRID, union.min_total + np.round(np.arange(0, 9) * 0.4 * float(union.list_noise.sigma))
    counts = np.bincount(np.searchsorted(edges, listed.totals, side="right"), minlength=10)[1:]
    counts = np.append(counts, many - len(listed.records))

    def law(first: Fraction, second: Fraction) -> NDArray[np.float64]:
        passed = float(RoundedGaussian(union.filter_noise.sigma * first).at_least(union.passing_total - total))
        tails = RoundedGaussian(union.list_noise.sigma * second).at_least(edges.astype(np.int64) - total)
        inside = passed * -np.diff(np.append(tails, 0))
        return np.append(inside, 1 - inside.sum())

    one = Fraction(1)
    assert goodness(counts, law(one, one)) > 1e-4
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert goodness(counts, law(one, wrong)) < 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("deviations", [-0.6, 1.2])
def test_the_first_round_has_its_noise(deviations: float) -> None:
    """With so little spent on it that what passes is listed for sure."""
    union, many = FilteredUnion(Budget(4, 1e-3), 0.01, 0.6), 4_000
    sigma = union.filter_noise.sigma
    holders = round((union.passing_total + deviations * float(sigma)) / GRID)
    assert float(union.list_noise.at_least(union.min_total - holders * GRID)) > 1 - 1e-6 or deviations < 0
    hits = len(union.draw(Holdings.one_each(np.repeat(np.arange(many), holders)), KnownKey(3)).records)
    listed = float(union.list_noise.at_least(union.min_total - holders * GRID))

    def away(factor: Fraction) -> float:
        noise = RoundedGaussian(sigma * factor)
        chance = listed * float(noise.at_least(union.passing_total - holders * GRID))
        return abs(hits - many * chance) / math.sqrt(many * chance * (1 - chance))

    assert away(Fraction(1)) < 4.5
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert away(wrong) > 6


def test_released_lists_take_released_randomness() -> None:
    union, rows = usual(), Holdings.one_each(np.zeros(1000, dtype=np.int64))
    assert union.release(rows, KnownKey(1)).records.tolist() == [0]
    with pytest.raises(RandomnessError):
        union.release(rows, SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "delta"), [(4, 0.3), (3, 0.99), (1, 0.6)])
def test_a_record_that_does_not_occur_is_never_listed(epsilon: float, delta: float) -> None:
    """Even where noise alone often passes both rounds; nor one in rows that are not kept."""
    union = FilteredUnion(Budget(epsilon, delta))
    assert union.min_total >= 1
    records = np.repeat(np.arange(0, 4000, 2), 1)
    rows = Holdings.one_each(records)
    for seed in range(5):
        assert (union.draw(rows, KnownKey(seed)).records % 2 == 0).all()


def test_no_records_no_list() -> None:
    union = usual()
    for records in ([], [-1, -1]):
        listed = union.draw(Holdings.one_each(np.array(records, dtype=np.int64)), SimulationRandom(0))
        assert len(listed.records) == len(listed.totals) == 0
    only = np.arange(5)
    unkept = Holdings(1, np.zeros_like(only), only, np.ones_like(only), np.zeros(5, dtype=bool))
    assert len(union.draw(unkept, SimulationRandom(0)).records) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "first", "second", "name"),
    [
        (4, 0, 0.2, 0.3, "delta"),
        (4, 1e-101, 0.2, 0.3, "delta"),
        (4, 1e-5, 0.0, 0.3, "filter share"),
        (4, 1e-5, 1.0, 0.3, "filter share"),
        (4, 1e-5, 0.2, 0.0, "list share"),
        (4, 1e-5, 0.2, 1.5, "list share"),
        (4, 1e-5, 0.5, 0.5, "list share"),
        (4, 1e-5, math.nan, 0.3, "filter share"),
        (0.001, 1e-5, 0.2, 0.3, "epsilon"),
    ],
)
def test_parameters_without_a_proof_are_refused(
    epsilon: float, delta: float, first: float, second: float, name: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        FilteredUnion(Budget(epsilon, delta), first, second)
    assert caught.value.parameter == name


def test_it_says_what_it_does() -> None:
    union = usual()
    assert str(union) == (
        "(ε = 4, δ = 1e-05): at most 100 different records of each person, "
        f"listed from the weight of {union.min_total / GRID:.2f} people on"
    )
    assert union.records_per_user == 100
    assert union.loss() == math.inf
