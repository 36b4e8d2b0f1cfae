"""The list: who is listed with which probability, and the exact delta by enumeration."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from blendp.errors import ParameterError
from blendp.mechanisms import ThresholdList
from blendp.privacy import Budget
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, Script, goodness
from tests.unit.mechanisms.exact_law import CountingRandom


def test_thresholds_of_the_paper() -> None:
    assert ThresholdList(Budget(4, 1e-5)).threshold == pytest.approx(6.756, abs=1e-3)
    assert ThresholdList(Budget(4, 1e-7)).threshold == pytest.approx(9.059, abs=1e-3)
    for epsilon, delta, m in [(4.0, 1e-5, 1), (1.0, 1e-6, 2), (2.0, 1e-4, 3)]:
        b = 2 * m / epsilon
        mechanism = ThresholdList(Budget(epsilon, delta), m)
        assert mechanism.noise.scale == pytest.approx(b)
        assert mechanism.threshold == pytest.approx(b * (math.log(math.exp(epsilon / 2) + m - 1) - math.log(delta)))


def divergences(
    list_maker: ThresholdList, before: NDArray[np.int64], after: NDArray[np.int64], epsilon: float
) -> NDArray[np.float64]:
    """delta(epsilon) between the lists of two neighbours, exactly: a row of affected records' counts each.

    Records are listed independently, so the lists' law is a product; both directions, the worse.
    """
    p, q = list_maker.listing_probability(before), list_maker.listing_probability(after)
    worst = np.zeros(len(before))
    for first, second in ((p, q), (q, p)):
        total = np.zeros(len(before))
        for listed in product((False, True), repeat=before.shape[1]):
            mask = np.array(listed)
            a = np.where(mask, first, 1 - first).prod(axis=1)
            b = np.where(mask, second, 1 - second).prod(axis=1)
            total += np.maximum(a - math.exp(epsilon) * b, 0)
        worst = np.maximum(worst, total)
    return worst


def moves(m: int) -> list[tuple[tuple[int, int], ...]]:
    """All ways to take m occurrences away and put m elsewhere: (taken, put) for every record touched."""
    ways = set()

    def fill(taken: int, put: int, so_far: tuple[tuple[int, int], ...]) -> None:
        if taken == put == 0:
            ways.add(tuple(sorted(so_far)))
            return
        for t, p in product(range(taken + 1), range(put + 1)):
            if t + p and t != p:
                fill(taken - t, put - p, (*so_far, (t, p)))

    for kept in range(m):  # occurrences that both have change nothing
        fill(m - kept, m - kept, ())
    fill(m, 0, ())  # or the user has no record at all afterwards; the divergence is taken both ways
    return sorted(ways)


@pytest.mark.parametrize(
    ("m", "epsilon", "delta"),
    [
        (1, 4.0, 1e-5),
        (1, 1.0, 1e-5),
        (1, 0.5, 1e-3),
        (1, 0.1, 1e-3),
        (1, 8.0, 1e-2),
        (2, 4.0, 1e-5),
        (2, 1.0, 1e-4),
        (2, 0.5, 1e-2),
        (3, 4.0, 1e-5),
        (3, 1.0, 1e-3),
        (3, 6.0, 1e-2),
    ],
)
def test_exact_delta_by_enumeration(m: int, epsilon: float, delta: float) -> None:
    list_maker = ThresholdList(Budget(epsilon, delta), m)
    T = list_maker.min_total
    others = sorted({0, 1, 2, T - m - 1, T - m, T - 1, T, T + 2 * m} if m < 3 else {0, 1, T - m, T - 1, T})
    if m == 1:
        others = list(range(2 * T + 3))
    worst = 0.0
    for way in moves(m):
        taken, put = (np.array(side) for side in zip(*way, strict=True))
        base = np.array(list(product([n for n in others if n >= 0], repeat=len(way))), dtype=np.int64)
        worst = max(worst, float(divergences(list_maker, base + taken, base + put, epsilon).max()))
    assert worst <= delta / (1 + list_maker.noise.base) * (1 + 1e-9)
    assert worst > 0.01 * delta, "an enumeration that finds no loss has looked in the wrong place"


def test_a_lower_threshold_would_break_the_promise() -> None:
    """The enumeration has power: a threshold two below spends more than delta."""
    list_maker = ThresholdList(Budget(4, 1e-5))
    object.__setattr__(list_maker, "threshold", list_maker.threshold - 2)
    assert divergences(list_maker, np.array([[1, 0]]), np.array([[0, 1]]), 4.0)[0] > 1e-5


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize("count", [1, 4, 6, 7, 9])
def test_how_many_of_a_group_pass_is_binomial(source: Callable[[int], Random], count: int) -> None:
    random = source(11)
    list_maker = ThresholdList(Budget(4, 1e-2))
    size, repeats = 40, 4_000
    p = float(list_maker.listing_probability(count))
    passed = [len(list_maker.draw(np.full(size, count), random)) for _ in range(repeats)]
    law = stats.binom.pmf(np.arange(size + 1), size, p)
    counts = np.bincount(passed, minlength=size + 1)
    assert goodness(counts, law) > 1e-4
    if 1e-2 < p < 1 - 1e-2:
        assert goodness(counts, stats.binom.pmf(np.arange(size + 1), size, p * 0.7)) < 1e-20


@pytest.mark.statistical
def test_every_record_of_a_count_is_as_likely_to_be_listed() -> None:
    list_maker, random = ThresholdList(Budget(4, 1e-2)), KnownKey(5)
    counts = np.array([2, 3, 3, 4, 3, 2, 0, 50, 3])
    listed = np.zeros(len(counts), dtype=np.int64)
    repeats = 12_000
    for _ in range(repeats):
        listed[list_maker.draw(counts, random)] += 1
    p = list_maker.listing_probability(counts)
    assert listed[6] == 0
    assert listed[7] == repeats
    free = (p > 0) & (p < 0.999)
    z = (listed - repeats * p)[free] / np.sqrt(repeats * p * (1 - p))[free]
    assert np.abs(z).max() < 4.5


def test_noise_does_not_cost_a_draw_per_rare_record() -> None:
    random = CountingRandom(1)
    rare, popular = 1_000_000, 60
    counts = np.concatenate([np.ones(rare, dtype=np.int64), np.full(popular, 30)])
    listed = ThresholdList(Budget(4, 1e-5)).draw(counts, random)
    assert random.drawn < rare / 25
    assert set(range(rare, rare + popular)) <= set(listed.tolist())
    assert len(listed) < popular + 40


def test_a_survivor_on_the_edge_is_settled_by_further_bits() -> None:
    list_maker = ThresholdList(Budget(4, 1e-5))
    missing = list_maker.min_total - 6
    edge = list_maker.noise.tail_bits(missing, 64)
    zeros = 64 - edge.bit_length()
    following = list_maker.noise.tail_bits(missing, 128) & ((1 << 64) - 1)
    heads = [1 << 63] * zeros  # one coin each: its bit survives
    for last, listed in ((following - 1, [0]), (following + 1, [])):
        random = Script([*heads, edge << zeros, last])
        assert list_maker.draw(np.array([6]), random).tolist() == listed


@given(epsilon=st.floats(0.05, 50), delta=st.floats(1e-12, 0.9), m=st.integers(1, 20))
def test_the_threshold_exceeds_what_one_person_can_reach(epsilon: float, delta: float, m: int) -> None:
    """tau > m >= 1, so figure 3's assertion tau >= 1 cannot fail."""
    assume(delta < 0.1 * epsilon / m)
    assert ThresholdList(Budget(epsilon, delta), m).threshold > m


@pytest.mark.parametrize(
    ("epsilon", "delta", "m", "name"), [(4, 0, 1, "delta"), (0.01, 0.5, 1, "delta"), (4, 1e-5, 0, "records per user")]
)
def test_parameters_without_a_proof_are_refused(epsilon: float, delta: float, m: int, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ThresholdList(Budget(epsilon, delta), m)
    assert caught.value.parameter == name


def test_no_records_no_list() -> None:
    assert len(ThresholdList(Budget(4, 1e-5)).draw(np.zeros(0, dtype=np.int64), SimulationRandom(0))) == 0
    assert len(ThresholdList(Budget(4, 1e-5)).draw(np.zeros(5, dtype=np.int64), SimulationRandom(0))) == 0
