"""What the opt-in group tells: noisy tables of every two attributes, and the tree and frequencies they give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from blendp.answers import Answers
from blendp.errors import require_count, require_number
from blendp.estimate import Level
from blendp.mechanisms import RoundedGaussian
from blendp.privacy import Budget
from blendp.privacy.gaussian import gaussian_mu
from blendp.randomness import Random
from blendp.survey.model import Array
from blendp.survey.tree import Box, Edge, Tree

_TAILS = 10
"""What can fail for one cell: two tails of its noise; in each direction two of the rest's noise and two of drawing."""


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Counts of answers in the opt-in group with Gaussian noise; everything here may be published.

    where:
        axes     are the attributes of each table: every two of them, or every one,
        counts   are how many of the ``people`` gave each combination, plus noise,
        sigma    is the standard deviation of the noise on every count: sqrt(2 tables)/mu, as a person who changes all
                 answers lowers one count of each table by 1 and raises another.
    """

    sizes: tuple[int, ...]
    people: int
    axes: tuple[tuple[int, ...], ...]
    counts: tuple[NDArray[np.int64], ...]
    sigma: Fraction

    @classmethod
    def draw(cls, answers: Answers, budget: Budget, random: Random, *, pairs: bool) -> NoisyTables:
        """Count, and add rounded Gaussian noise that keeps the budget (replace-one person)."""
        require_count("opt-in people", answers.people, least=1, remedy="Somebody has to opt in.")
        places = range(len(answers.sizes))
        axes = tuple(combinations(places, 2)) if pairs and len(places) > 1 else tuple((j,) for j in places)
        mu = Fraction(gaussian_mu(budget.epsilon, budget.delta))
        sigma = Fraction(math.isqrt(math.ceil(2 * len(axes) / mu**2 * 2**40)) + 1, 2**20)
        noise = RoundedGaussian(sigma)
        counts = [answers.counts(*each) for each in axes]
        drawn = noise.draw(sum(table.size for table in counts), random)
        ends = np.cumsum([0, *(table.size for table in counts)])
        noisy = tuple(
            table + drawn[start:end].reshape(table.shape)
            for table, start, end in zip(counts, ends[:-1], ends[1:], strict=True)
        )
        return cls(answers.sizes, answers.people, axes, noisy, sigma)

    @cached_property
    def _variance(self) -> float:
        return RoundedGaussian(self.sigma).variance

    @property
    def pairs(self) -> bool:
        """Whether tables are of two attributes."""
        return len(self.axes[0]) == 2

    @cached_property
    def margins(self) -> tuple[tuple[Array, float], ...]:
        """How many people gave each answer of every attribute, and the variance of the noise on that.

        A table of i and j gives margins of i with noise of variance m_j sigma^2; the mean over all j that is weighted
        by 1/m_j has the least, sigma^2/sum_j(1/m_j).
        """
        totals = [np.zeros(size) for size in self.sizes]
        weights = [0.0] * len(self.sizes)
        for axes, table in zip(self.axes, self.counts, strict=True):
            for place, attribute in enumerate(axes):
                other = table.size / self.sizes[attribute]
                others = tuple(axis for axis in range(len(axes)) if axis != place)
                totals[attribute] += table.sum(axis=others) / other
                weights[attribute] += 1 / other
        return tuple((total / weight, self._variance / weight) for total, weight in zip(totals, weights, strict=True))

    @cached_property
    def frequencies(self) -> tuple[Array, ...]:
        """The share of every answer, without bias: it may be below 0, and shares may miss 1."""
        return tuple(counts / self.people for counts, _ in self.margins)

    def level(self) -> Level:
        """The frequencies of all attributes one after the other, with their variances."""
        probability = np.concatenate(self.frequencies)
        floors = [np.full(size, v / self.people**2) for size, (_, v) in zip(self.sizes, self.margins, strict=True)]
        floor = np.concatenate(floors)
        inside = np.clip(probability, 0.0, 1.0)
        return Level(probability, floor + inside * (1 - inside) / self.people, floor)


@dataclass(frozen=True, eq=False)
class LearntTree:
    """The tree of the strongest dependences (Chow and Liu), with a box around every conditional probability.

    where:
        tree    holds the boxes: with probability ``confidence`` all hold the truth at once, if it is this tree,
        misfit  is by how much the table of any two attributes differs from what the tree says, beyond what noise and
                drawing explain: a share of people, and the two attributes (None if no table differs).
    """

    tree: Tree
    confidence: float
    misfit: tuple[float, tuple[int, int] | None]


def learn_tree(tables: NoisyTables, confidence: float) -> LearntTree:
    """A tree for the guarantee, from released tables alone: it costs no further privacy.

    The box of P(b_j = x | b_i = y), for a person drawn like the opt-in group, is the Clopper-Pearson interval

        low = Beta^-1(beta'; a_-, r_+ + 1),    high = Beta^-1(1 - beta'; a_+ + 1, r_-)

    where:
        a_-, a_+  bound how many of the group gave both answers, r_-, r_+ how many gave y and another than x: the noisy
                  number, give or take z noise deviations with P(N > z) = beta', and the rounding,
        beta'     is (1 - confidence)/(10 cells of all tables): whichever tree is chosen, all its boxes hold at once.
    """
    require_number("confidence", confidence, above=0, below=1, legal="above 0 and below 1", remedy="0.99 is usual.")
    if not tables.pairs:
        return LearntTree(Tree(tables.sizes, ()), confidence, (0.0, None))
    shares = {axes: _law(table) for axes, table in zip(tables.axes, tables.counts, strict=True)}
    chosen = _strongest({axes: _information(table) for axes, table in shares.items()}, len(tables.sizes))
    tail = (1 - confidence) / (_TAILS * sum(table.size for table in tables.counts))
    noisy = dict(zip(tables.axes, tables.counts, strict=True))
    edges = tuple(Edge(*axes, _box(noisy[axes], tables, tail), _box(noisy[axes].T, tables, tail)) for axes in chosen)
    fitted = Tree(tables.sizes, tuple(Edge.of_table(*axes, shares[axes]) for axes in chosen))
    return LearntTree(Tree(tables.sizes, edges), confidence, _misfit(tables, fitted))


def _law(table: NDArray[np.int64]) -> Array:
    """The clipped table, with nothing impossible, as a law."""
    clipped = np.maximum(table, 0.5)
    return np.asarray(clipped / clipped.sum())


def _information(table: Array) -> float:
    """Mutual information, in nats."""
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    return float((table * np.log(table / apart)).sum())


def _strongest(information: dict[tuple[int, ...], float], nodes: int) -> list[tuple[int, int]]:
    """The spanning tree with the most information: the strongest pair first, never closing a circle."""
    cluster = list(range(nodes))
    chosen = []
    for first, second in sorted(information, key=lambda axes: (-information[axes], axes)):
        if cluster[first] != cluster[second]:
            chosen.append((first, second))
            cluster = [cluster[first] if each == cluster[second] else each for each in cluster]
    return chosen


def _box(table: NDArray[np.int64], tables: NoisyTables, tail: float) -> Box:
    """Bounds of P(column | row)."""
    z, sigma, others = float(special.ndtri(1 - tail)), float(tables.sigma), table.shape[1] - 1
    reach, reach_rest = z * sigma + 0.5, z * sigma * math.sqrt(others) + 0.5 * others
    rest = table.sum(axis=1, keepdims=True) - table

    def between(number: ArrayLike) -> Array:
        return np.clip(np.asarray(number, dtype=np.float64), 0.0, float(tables.people))

    both = np.ceil(between(table - reach)), np.floor(between(table + reach))
    other = np.ceil(between(rest - reach_rest)), np.floor(between(rest + reach_rest))
    low = np.where(both[0] > 0, special.betaincinv(np.maximum(both[0], 1), other[1] + 1, tail), 0.0)
    high = np.where(other[0] > 0, special.betaincinv(both[1] + 1, np.maximum(other[0], 1), 1 - tail), 1.0)
    broken = (low.sum(axis=1, keepdims=True) > 1) | (high.sum(axis=1, keepdims=True) < 1)  # noise larger than the row
    return Box(np.where(broken, 0.0, low), np.where(broken, 1.0, high))


def _misfit(tables: NoisyTables, fitted: Tree) -> tuple[float, tuple[int, int] | None]:
    """The largest total variation between a noisy table and the fitted tree's, beyond what is expected by chance."""
    neighbours = {(edge.first, edge.second) for edge in fitted.edges}
    given = fitted.pairs()
    worst: tuple[float, tuple[int, int] | None] = (0.0, None)
    for axes, table in zip(tables.axes, tables.counts, strict=True):
        first, second = axes
        if (first, second) in neighbours:
            continue
        margin = np.clip(tables.frequencies[first], 0, None)
        expected = (margin / margin.sum())[:, None] * given[first, second].low
        chance = np.sqrt(3 * float(tables.sigma) ** 2 + 2 * tables.people * expected) * math.sqrt(2 / math.pi)
        distance = float((np.abs(table - tables.people * expected) - chance).sum() / (2 * tables.people))
        if distance > worst[0]:
            worst = (distance, (first, second))
    return worst
