"""What opt-in tables bound, number by number: shares of rows, variances, and laws along a path of a tree."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from blendp.arrays import Array
from blendp.survey import NoisyTables, Tree, learn_pairs
from blendp.survey.models.tree import Box, Edge

PEOPLE, SIGMA, CONFIDENCE = 2_000, 5.0, 0.99


def tables(table: NDArray[np.int64]) -> NoisyTables:
    return NoisyTables((2, 3), PEOPLE, "pairs", ((0, 1),), (table,), (Fraction(5),))


def interval(number: float, rest: float, columns: int) -> tuple[float, float]:
    """Of a share: each count by its noise and rounding, then Clopper and Pearson's; ten tails a cell may fail."""
    tail = (1 - CONFIDENCE) / (10 * 6)
    z = float(stats.norm.isf(tail))
    reach, reach_rest = z * SIGMA + 0.5, z * SIGMA * (columns - 1) ** 0.5 + 0.5 * (columns - 1)
    few, many = max(np.ceil(number - reach), 0), max(np.floor(number + reach), 0)
    rest_few, rest_many = max(np.ceil(rest - reach_rest), 0), max(np.floor(rest + reach_rest), 0)
    low = float(stats.beta.ppf(tail, few, rest_many + 1)) if few else 0.0
    return low, float(stats.beta.ppf(1 - tail, many + 1, rest_few)) if rest_few else 1.0


@pytest.mark.parametrize("transposed", [False, True])
def test_boxes_are_those_of_clopper_and_pearson_with_noise(transposed: bool) -> None:
    """And tightened by what the other shares of the row leave."""
    table = np.array([[400, 5, 195], [900, 470, 30]])
    box = learn_pairs(tables(table), CONFIDENCE).boxes[(1, 0) if transposed else (0, 1)]
    rows = table.T if transposed else table
    for y, row in enumerate(rows):
        ends = np.array([interval(number, row.sum() - number, len(row)) for number in row])
        low, high = ends.T
        tight_high = np.minimum(high, 1 - (low.sum() - low))
        tight_low = np.maximum(low, 1 - (high.sum() - high))
        assert box.low[y] == pytest.approx(tight_low)
        assert box.high[y] == pytest.approx(tight_high)


def test_frequencies_have_the_variance_of_their_noise_and_of_who_opts_in() -> None:
    counts = (np.array([500, 1_520]), np.array([-6, 906, 1_100]))
    single = NoisyTables((2, 3), PEOPLE, "single", ((0,), (1,)), counts, (Fraction(5), Fraction(5)))
    level = single.level()
    p = np.concatenate(counts) / PEOPLE
    inside, noise = np.clip(p, 0, 1), SIGMA**2 / PEOPLE**2
    assert level.probability == pytest.approx(p)
    assert level.floor == pytest.approx(np.full(5, noise), rel=0.01)  # rounding adds a little
    assert level.variance - level.floor == pytest.approx(inside * (1 - inside) / PEOPLE)


def test_margins_are_means_of_all_tables_by_their_precision() -> None:
    """A sum of k noisy cells has k times the variance, and is off by k/2 at most through rounding."""
    pair, other = np.array([[400, 5, 195], [900, 470, 30]]), np.array([[610, 9], [1_380, 1]])
    both = NoisyTables((2, 3, 2), PEOPLE, "pairs", ((0, 1), (0, 2)), (pair, other), (Fraction(4), Fraction(6)))
    first, *_ = both.margins
    v = np.array([16.0, 36.0])  # rounding to integers adds a 12th at most
    precision = 1 / (np.array([3, 2]) * v)
    weights = precision / precision.sum()
    sums = np.array([[600, 1_400], [619, 1_381]])
    assert first.counts == pytest.approx(weights @ sums, abs=0.05)
    assert first.deviation == pytest.approx(precision.sum() ** -0.5, rel=0.005)
    assert first.rounding == pytest.approx(weights @ np.array([1.5, 1.0]), rel=0.005)


def box(generator: np.random.Generator, shape: tuple[int, int], spare: float) -> Box:
    law = generator.dirichlet(np.ones(shape[1]), shape[0])
    return Box(np.clip(law - spare, 0, 1), np.clip(law + spare, 0, 1))


def extremes(first: Box, then: Box) -> tuple[Array, Array]:
    """P(z | x) over all laws P(y | x) in the box, by linear programming."""
    low, high = (np.empty((len(first.low), then.low.shape[1])) for _ in range(2))
    for x, ends in enumerate(zip(first.low, first.high, strict=True)):
        limits = list(zip(*ends, strict=True))
        sums = {"A_eq": np.ones((1, len(limits))), "b_eq": [1.0]}
        for z in range(then.low.shape[1]):
            low[x, z] = optimize.linprog(then.low[:, z], bounds=limits, **sums).fun
            high[x, z] = -optimize.linprog(-then.high[:, z], bounds=limits, **sums).fun
    return low, high


@pytest.mark.parametrize("spare", [0.03, 0.2])
def test_what_is_known_along_a_path_is_the_least_and_the_most_of_any_law(spare: float) -> None:
    generator = np.random.default_rng(5)
    edges = tuple(
        Edge(j, j + 1, box(generator, (m, n), spare), box(generator, (n, m), spare))
        for j, m, n in ((0, 2, 3), (1, 3, 4))
    )
    pairs = Tree((2, 3, 4), edges).pairs()
    for far, first, then in (
        ((0, 2), edges[0].second_given_first, edges[1].second_given_first),
        ((2, 0), edges[1].first_given_second, edges[0].first_given_second),
    ):
        stated = Box(*extremes(first, then))
        assert pairs[far].low == pytest.approx(stated.low, abs=1e-9)
        assert pairs[far].high == pytest.approx(stated.high, abs=1e-9)
