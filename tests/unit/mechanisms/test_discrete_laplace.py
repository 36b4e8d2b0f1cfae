"""The noise has the law it claims: edges bit for bit, samples with power, and another library's sampler agrees."""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from blendp.errors import ParameterError
from blendp.mechanisms import DiscreteLaplace
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, Script, goodness

SAMPLE = 100_000


def exp_by_series(x: Fraction, terms: int = 160) -> Fraction:
    """e^x from its power series, after halving x; an evaluation that shares nothing with the code's."""
    halvings = max(0, math.ceil(math.log2(abs(float(x)) + 1)) + 1)
    small = x / 2**halvings
    total = term = Fraction(1)
    for i in range(1, terms):
        term = term * small / i
        total += term
    scale = 1 << 700
    for _ in range(halvings):
        total = Fraction(int(total * total * scale), scale)
    return total


@pytest.mark.parametrize(("epsilon", "m"), [(4.0, 1), (1.0, 1), (0.1, 1), (3.3, 3)])
def test_edges_are_the_law_to_the_last_of_64_bits(epsilon: float, m: int) -> None:
    noise = DiscreteLaplace.for_counts(epsilon, m)
    ascending = noise._tail.edges
    base = exp_by_series(-noise.rate)
    assert ascending[0] == 0
    for x in {1, 2, 3, len(ascending) // 2, len(ascending) - 1}:
        exact = base**x / (1 + base)
        assert int(ascending[len(ascending) - x]) == math.floor(exact * 2**64)
        assert noise.tail_bits(x, 200) == math.floor(exact * 2**200)


def law_on(noise: DiscreteLaplace, reach: int) -> np.ndarray:
    """P(X <= -reach), P(X = x) for -reach < x < reach, P(X >= reach)."""
    inner = noise.probability(np.arange(-reach + 1, reach))
    tail = noise.at_least(reach)
    return np.concatenate([[tail], inner, [tail]])


def counts_on(sample: np.ndarray, reach: int) -> np.ndarray:
    return np.bincount(np.clip(sample, -reach, reach) + reach, minlength=2 * reach + 1)


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize("scale", [0.5, 2.0, 40.0])
def test_samples_follow_the_law_and_no_other_scale(source: Callable[[int], Random], scale: float) -> None:
    random = source(3)
    noise = DiscreteLaplace(1 / Fraction(scale))
    reach = math.ceil(12 * scale)
    counts = counts_on(noise.draw(SAMPLE, random), reach)
    assert goodness(counts, law_on(noise, reach)) > 1e-4
    for wrong in (0.7, 1.3):
        assert goodness(counts, law_on(DiscreteLaplace(1 / Fraction(scale * wrong)), reach)) < 1e-20


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_opendp_draws_from_the_same_law(scale: float) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    theirs = np.array(dp.m.make_laplace(*space, scale=scale)([0] * 20_000))
    noise = DiscreteLaplace(1 / Fraction(scale))
    reach = math.ceil(12 * scale)
    # OpenDP cannot be seeded; a true law fails this once in 10^9 runs
    assert goodness(counts_on(theirs, reach), law_on(noise, reach)) > 1e-9
    for wrong in (0.7, 1.3):
        assert goodness(counts_on(theirs, reach), law_on(DiscreteLaplace(1 / Fraction(scale * wrong)), reach)) < 1e-20


def test_a_word_on_an_edge_is_settled_by_further_bits() -> None:
    noise = DiscreteLaplace.for_counts(4, 1)
    edge = int(noise._tail.edges[-1])
    following = noise.tail_bits(1, 128) & ((1 << 64) - 1)
    assert noise.draw(1, Script([edge, following - 1]))[0] == 1
    assert noise.draw(1, Script([edge, following + 1]))[0] == 0
    third = noise.tail_bits(1, 192) & ((1 << 64) - 1)
    assert noise.draw(1, Script([edge, following, third + 1]))[0] == 0
    assert noise.draw(1, Script([edge, following, third - 1]))[0] == 1
    mirrored = edge ^ ((1 << 64) - 1)
    assert noise.draw(1, Script([mirrored, following - 1]))[0] == -1


def test_the_far_tails_are_reachable() -> None:
    noise = DiscreteLaplace.for_counts(4, 1)
    far = noise.draw(1, Script([0, 0, 5]))[0]
    assert far > len(noise._tail.edges)
    assert noise.draw(1, Script([(1 << 64) - 1, 0, 5]))[0] == -far


@pytest.mark.parametrize("scale", [0.3, 1, 17.5])
def test_moments_and_tails_are_those_of_the_law(scale: float) -> None:
    noise = DiscreteLaplace(1 / Fraction(scale))
    x = np.arange(-4000, 4001)
    p = noise.probability(x)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * x**2).sum() == pytest.approx(noise.variance, rel=1e-12)
    for bound in (-3, 0, 1, 5):
        assert float(noise.at_least(bound)) == pytest.approx(p[x >= bound].sum(), abs=1e-12)


def test_one_persons_records_move_the_noisy_count_by_at_most_epsilon() -> None:
    for m in (1, 2, 3):
        noise = DiscreteLaplace.for_counts(1.7, m)
        x = np.arange(-200, 201)
        ratio = noise.probability(x) / noise.probability(x - 2 * m)
        assert np.log(ratio).max() == pytest.approx(1.7, abs=1e-12)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 10**6), Fraction(1000)])
def test_scales_out_of_range_are_refused(rate: Fraction) -> None:
    with pytest.raises(ParameterError, match="noise scale"):
        DiscreteLaplace(rate)


def test_decimal_exp_is_correctly_rounded() -> None:
    """The proof leans on it: compare with the series at 60 digits."""
    context = Context(prec=60)
    for x in (Fraction(-1, 2), Fraction(-2), Fraction(-37, 10)):
        decimal = (Decimal(x.numerator) / Decimal(x.denominator)).exp(context)
        error = abs(Fraction(decimal) - exp_by_series(x))
        assert error <= Fraction(1, 10**59)
