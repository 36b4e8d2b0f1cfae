"""The noise with two rates has the law it claims: edges bit for bit, and samples with power against other rates."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms import DiscreteLaplace
from blendp.mechanisms.asymmetric_laplace import AsymmetricLaplace
from blendp.randomness import Random, ReleaseRandom, SimulationRandom
from tests.support import KnownKey, Script, goodness

SAMPLE = 100_000
RATES = [
    (Fraction(2), Fraction(2, 3)),
    (Fraction(1, 3), Fraction(5, 2)),
    (Fraction(0.1) * 4, Fraction(1, 20)),
    (Fraction(30), Fraction(7)),
]


def floors(falling: Fraction, rising: Fraction, x: int, bits: int) -> tuple[int, int]:
    """floor(2^bits P(X >= x)) and floor(2^bits P(X <= -x)) from the two series' sums, with 120 digits."""
    with localcontext(prec=120):
        a, b = ((Decimal(-rate.numerator) / rate.denominator).exp() for rate in (falling, rising))
        top = 1 / (1 / (1 - a) + b / (1 - b))
        return tuple(int(top * side**x / (1 - side) * 2**bits) for side in (a, b))  # type: ignore[return-value]


@pytest.mark.parametrize(("falling", "rising"), RATES)
def test_edges_are_the_law_to_the_last_of_64_bits(falling: Fraction, rising: Fraction) -> None:
    noise = AsymmetricLaplace(falling, rising)
    for side, table in enumerate((noise._tail, noise._lower_tail)):
        edges = table.edges
        assert edges[0] == 0
        for x in range(1, len(edges) + 1):
            assert int(edges[len(edges) - x]) == floors(falling, rising, x, 64)[side]
        for x in {1, 2, len(edges) // 2, len(edges)}:
            assert table.bits(x, 200) == floors(falling, rising, x, 200)[side]
    assert noise.tail_bits(0, 150) == floors(falling, rising, 0, 150)[0]
    whole = noise.tail_bits(0, 150) + noise.lower_bits(1, 150)
    assert (1 << 150) - 2 <= whole < 1 << 150


def test_equal_rates_are_the_discrete_laplace_law() -> None:
    same, other = AsymmetricLaplace(Fraction(3, 2), Fraction(3, 2)), DiscreteLaplace(Fraction(3, 2))
    assert np.array_equal(same._tail.edges, other._tail.edges)
    assert np.array_equal(same.draw(1000, KnownKey(4)), other.draw(1000, KnownKey(4)))
    assert same.mean == 0
    assert same.variance == pytest.approx(other.variance, rel=1e-15)


def law_on(noise: AsymmetricLaplace, below: int, above: int) -> NDArray[np.float64]:
    """P(X <= -below), P(X = x) for -below < x < above, P(X >= above)."""
    inner = noise.probability(np.arange(-below + 1, above))
    return np.concatenate([[1 - noise.at_least(-below + 1)], inner, [noise.at_least(above)]])


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize(("falling", "rising"), [(2.0, 0.75), (0.4, 1.5), (0.05, 0.03)])
def test_samples_follow_the_law_and_no_other_rates(
    source: Callable[[int], Random], falling: float, rising: float
) -> None:
    noise = AsymmetricLaplace(Fraction(falling), Fraction(rising))
    below, above = math.ceil(12 / rising), math.ceil(12 / falling)
    sample = noise.draw(SAMPLE, source(3))
    counts = np.bincount(np.clip(sample, -below, above) + below, minlength=below + above + 1)
    assert goodness(counts, law_on(noise, below, above)) > 1e-4
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        for other in (
            AsymmetricLaplace(noise.falling * wrong, noise.rising),
            AsymmetricLaplace(noise.falling, noise.rising * wrong),
        ):
            assert goodness(counts, law_on(other, below, above)) < 1e-20
    assert abs(sample.mean() - noise.mean) < 4.5 * math.sqrt(noise.variance / SAMPLE)
    assert sample.var() == pytest.approx(noise.variance, rel=0.05)


def test_a_word_on_an_edge_is_settled_by_further_bits() -> None:
    noise = AsymmetricLaplace(Fraction(2), Fraction(1, 2))
    last = (1 << 64) - 1
    edge, following, third = (noise.tail_bits(2, bits) & last for bits in (64, 128, 192))
    assert noise.draw(1, Script([edge, following - 1]))[0] == 2
    assert noise.draw(1, Script([edge, following + 1]))[0] == 1
    assert noise.draw(1, Script([edge, following, third - 1]))[0] == 2
    assert noise.draw(1, Script([edge, following, third + 1]))[0] == 1
    edge, following = (noise.lower_bits(3, bits) & last for bits in (64, 128))
    assert noise.draw(1, Script([edge ^ last, following - 1]))[0] == -3
    assert noise.draw(1, Script([edge ^ last, following + 1]))[0] == -2


def test_the_far_tails_are_reachable() -> None:
    noise = AsymmetricLaplace(Fraction(2), Fraction(1, 2))
    assert noise.draw(1, Script([0, 0, 5]))[0] > len(noise._tail.edges)
    assert noise.draw(1, Script([(1 << 64) - 1, 0, 5]))[0] < -len(noise._lower_tail.edges)


@pytest.mark.parametrize(("falling", "rising"), [(3.0, 0.4), (0.06, 1.0), (0.05, 0.0500001), (20.0, 0.3)])
def test_moments_and_tails_are_those_of_the_law(falling: float, rising: float) -> None:
    noise = AsymmetricLaplace(Fraction(falling), Fraction(rising))
    x = np.arange(-4000, 4001)
    p = noise.probability(x)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * x).sum() == pytest.approx(noise.mean, rel=1e-9, abs=1e-12)
    assert (p * (x - noise.mean) ** 2).sum() == pytest.approx(noise.variance, rel=1e-12)
    for bound in (-3, -1, 0, 1, 5):
        assert float(noise.at_least(bound)) == pytest.approx(p[x >= bound].sum(), rel=1e-11)


def test_the_mean_of_rates_that_nearly_agree_keeps_its_digits() -> None:
    falling, rising = Fraction(1, 20_000), Fraction(1, 20_000) + Fraction(1, 10**15)
    with localcontext(prec=80):
        a, b = ((Decimal(-rate.numerator) / rate.denominator).exp() for rate in (falling, rising))
        exact = a / (1 - a) - b / (1 - b)
    assert AsymmetricLaplace(falling, rising).mean == pytest.approx(float(exact), rel=1e-12)


def test_one_person_costs_one_rate_or_the_other() -> None:
    noise = AsymmetricLaplace(Fraction(5, 4), Fraction(1, 3))
    x = np.arange(-100, 101)
    ratio = np.log(noise.probability(x - 1) / noise.probability(x))
    assert ratio.max() == pytest.approx(5 / 4, abs=1e-12)
    assert -ratio.min() == pytest.approx(1 / 3, abs=1e-12)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 10**6), Fraction(1000)])
def test_rates_out_of_range_are_refused(rate: Fraction) -> None:
    with pytest.raises(ParameterError, match="falling rate"):
        AsymmetricLaplace(rate, Fraction(1))
    with pytest.raises(ParameterError, match="rising rate"):
        AsymmetricLaplace(Fraction(1), rate)


def test_released_noise_is_cryptographic() -> None:
    noise = AsymmetricLaplace(Fraction(1), Fraction(2))
    assert len(noise.release(5, ReleaseRandom())) == 5
    with pytest.raises(RandomnessError):
        noise.release(5, SimulationRandom(0))  # type: ignore[arg-type]
