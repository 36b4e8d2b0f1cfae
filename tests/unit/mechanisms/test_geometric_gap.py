"""The gap between two geometric numbers: its law, bit by bit and over all words, and what it is for."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.mechanisms.asymmetric_list.geometric_gap import GeometricGap
from tests.support import KnownKey, Script, goodness
from tests.unit.mechanisms.exact_law import LawOfDraw

GAPS = (
    GeometricGap(Fraction(3, 5), Fraction(27, 25)),
    GeometricGap(Fraction(1, 7), Fraction(1, 4)),
    GeometricGap(Fraction(9, 2), Fraction(5)),
)


def geometric(rate: Fraction, size: int) -> Array:
    """P(G = g) for g = 0, 1, ..."""
    return np.asarray(-np.expm1(-float(rate)) * np.exp(-float(rate) * np.arange(size)))


def gap_law(gap: GeometricGap, size: int) -> Array:
    """P(V = v) for v = 0, 1, ..."""
    return -np.diff(gap.at_least(np.arange(size + 1)))


@pytest.mark.parametrize("gap", GAPS)
def test_the_fast_number_and_the_gap_make_the_slow_one(gap: GeometricGap) -> None:
    size = 300
    both = np.convolve(geometric(gap.fast, size), gap_law(gap, size))[:size]
    np.testing.assert_allclose(both, geometric(gap.slow, size), atol=1e-15)


@pytest.mark.parametrize("gap", GAPS)
def test_where_noise_is_rare_large_gaps_are_rarer(gap: GeometricGap) -> None:
    """P(V* = v) is proportional to P(V = v) a^v: what V is, given that noise reached what it had to."""
    falling, size = Fraction(7, 10), 300
    tilted = gap_law(gap, size) * np.exp(-float(falling) * np.arange(size))
    given = gap_law(GeometricGap(gap.slow + falling, gap.fast + falling), size)
    np.testing.assert_allclose(given, tilted / tilted.sum(), atol=1e-15)


@pytest.mark.parametrize("gap", GAPS)
def test_every_edge_is_that_of_the_law(gap: GeometricGap) -> None:
    """Against an evaluation with 100 digits."""
    edges = gap._tail.edges[::-1].tolist()
    assert edges[-1] == 0
    with localcontext(Context(prec=100)):
        b, c = ((-Decimal(rate.numerator) / rate.denominator).exp() for rate in (gap.slow, gap.fast))
        for v, edge in enumerate(edges, start=1):
            exact = (b - c) / (1 - c) * b ** (v - 1)
            assert edge == int(exact * (1 << 64))
            assert gap.tail_bits(v, 150) == int(exact * (1 << 150))
            assert float(gap.at_least(v)) == pytest.approx(float(exact), rel=1e-13)
    assert gap.at_least(np.array([-1, 0])).tolist() == [1, 1]


def test_every_word_leads_to_its_value() -> None:
    gap = GAPS[0]
    law = LawOfDraw(lambda random: int(gap.draw(1, random)[0]))
    assert law.undecided < Fraction(1, 1 << 56)
    stated = gap_law(gap, len(law.probability) + 1)
    for v, probability in law.probability.items():
        assert isinstance(v, int)
        assert float(probability) == pytest.approx(stated[v], abs=1e-15)


def test_a_word_on_an_edge_is_settled_by_further_bits() -> None:
    gap = GAPS[0]
    edge, following = gap.tail_bits(4, 64), gap.tail_bits(4, 128) & ((1 << 64) - 1)
    assert gap.draw(1, Script([edge, following - 1])).tolist() == [4]
    assert gap.draw(1, Script([edge, following + 1])).tolist() == [3]


@pytest.mark.statistical
@pytest.mark.parametrize("gap", GAPS)
def test_a_sample_has_its_law_and_no_other(gap: GeometricGap) -> None:
    counts = np.bincount(np.minimum(gap.draw(2_000_000, KnownKey(3)), 60), minlength=61)

    def fit(law: GeometricGap) -> float:
        p = gap_law(law, 60)
        return goodness(counts, np.append(p, law.at_least(60)))

    assert fit(gap) > 1e-4
    for wrong in (Fraction(4, 5), Fraction(6, 5)):
        assert fit(GeometricGap(gap.slow * wrong, gap.fast * wrong)) < 1e-9
        assert fit(GeometricGap(gap.slow, gap.slow + (gap.fast - gap.slow) * wrong)) < 1e-9


@pytest.mark.parametrize(("slow", "fast"), [(1, 1), (2, 1), (0, 1), (-1, 1)])
def test_rates_without_a_gap_are_refused(slow: int, fast: int) -> None:
    with pytest.raises(ParameterError) as caught:
        GeometricGap(Fraction(slow), Fraction(fast))
    assert caught.value.parameter == "slow rate"
