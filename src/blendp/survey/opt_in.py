"""What the opt-in group tells with central privacy: noisy tables, and the tree and frequencies they give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.answers import Answers
from blendp.arrays import Array
from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.estimate import Level
from blendp.mechanisms import RoundedGaussian
from blendp.privacy import Budget
from blendp.privacy.gaussian import gaussian_mu
from blendp.randomness import Random
from blendp.survey.models.base import margin_of
from blendp.survey.models.bounded_pairs import BoundedPairs
from blendp.survey.models.bounded_table import BoundedTable, Bounds
from blendp.survey.models.tree import Box, Edge, Tree

MISFIT = 0.01
"""The share of people beyond which a tree is said not to fit."""

KINDS = ("single", "pairs", "all")

_ROUNDING = 1e-9
_TAILS = 10
"""What can fail for one cell: two tails of its noise; in each direction two of the rest's noise and two of drawing."""


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Counts of answers in the opt-in group with Gaussian noise; everything here may be published.

    where:
        kind    is which tables there are: of "single" attributes, of all "pairs" of them, or of single attributes and
                of "all" together,
        axes    are the attributes of each table,
        counts  are how many of the ``people`` gave each combination, plus noise,
        sigmas  are the standard deviations of the noise on each table. A person who changes all answers lowers one
                count of each table by 1 and raises another, so sum_t 2/sigma_t^2 = mu^2; tables share mu^2 equally, but
                the one of all attributes gets half of it.
    """

    sizes: tuple[int, ...]
    people: int
    kind: str
    axes: tuple[tuple[int, ...], ...]
    counts: tuple[NDArray[np.int64], ...]
    sigmas: tuple[Fraction, ...]

    @classmethod
    def draw(cls, answers: Answers, budget: Budget, random: Random, kind: str) -> NoisyTables:
        """Count everybody's answers, and add noise."""
        counts = {axes: answers.counts(*axes) for axes in shares_of(kind, len(answers.sizes))}
        return cls.of_counts(answers.sizes, answers.people, counts, budget, random, kind)

    @classmethod
    def of_counts(
        cls,
        sizes: tuple[int, ...],
        people: int,
        counts: Mapping[tuple[int, ...], NDArray[np.int64]],
        budget: Budget,
        random: Random,
        kind: str,
    ) -> NoisyTables:
        """Add rounded Gaussian noise that keeps the budget (replace-one person) to the tables of this kind."""
        require_count("opt-in people", people, min_value=1, remedy="Somebody has to opt in.")
        mu = Fraction(gaussian_mu(budget.epsilon, budget.delta))
        sigmas = {axes: _root_above(2 / (share * mu**2)) for axes, share in shares_of(kind, len(sizes)).items()}
        noisy = {axes: counts[axes] for axes in sigmas}
        for sigma in dict.fromkeys(sigmas.values()):
            alike = [axes for axes in sigmas if sigmas[axes] == sigma]
            drawn = RoundedGaussian(sigma).draw(sum(noisy[axes].size for axes in alike), random)
            for axes, part in zip(
                alike, np.split(drawn, np.cumsum([noisy[axes].size for axes in alike])), strict=False
            ):
                noisy[axes] = noisy[axes] + part.reshape(noisy[axes].shape)
        return cls(sizes, people, kind, tuple(noisy), tuple(noisy.values()), tuple(sigmas.values()))

    @cached_property
    def margins(self) -> tuple[Bounds, ...]:
        """How many people gave each answer of every attribute, and how far off that may be.

        A table gives margins of an attribute with noise of variance k sigma^2, k being the cells that are summed up.
        The mean over all tables with weights 1/(k sigma^2) has the least, 1/(the sum of the weights).
        """
        totals = [np.zeros(size) for size in self.sizes]
        weights, roundings = np.zeros(len(self.sizes)), np.zeros(len(self.sizes))
        for axes, table, sigma in zip(self.axes, self.counts, self.sigmas, strict=True):
            variance = max(RoundedGaussian(sigma).variance, float(sigma) ** 2)
            for axis, attribute in enumerate(axes):
                merged = table.size // self.sizes[attribute]
                totals[attribute] += margin_of(table.astype(np.float64), (axis,)) / (merged * variance)
                weights[attribute] += 1 / (merged * variance)
                roundings[attribute] += 1 / (2 * variance)
        return tuple(
            Bounds(total / weight, math.sqrt(1 / weight), rounding / weight)
            for total, weight, rounding in zip(totals, weights.tolist(), roundings.tolist(), strict=True)
        )

    @cached_property
    def frequencies(self) -> tuple[Array, ...]:
        """The share of every answer, without bias: it may be below 0, and shares may miss 1."""
        return tuple(margin.counts / self.people for margin in self.margins)

    def level(self) -> Level:
        """The frequencies of all attributes one after the other, with their variances."""
        probability = np.concatenate(self.frequencies)
        floor = np.repeat([(margin.deviation / self.people) ** 2 for margin in self.margins], self.sizes)
        inside = np.clip(probability, 0.0, 1.0)
        return Level(probability, floor + inside * (1 - inside) / self.people, floor)


def shares_of(kind: str, attributes: int) -> dict[tuple[int, ...], Fraction]:
    """The tables of a kind, by their attributes, and each one's share of mu^2."""
    require_choice("kind", kind, KINDS)
    every = tuple(range(attributes))
    singles: list[tuple[int, ...]] = [(j,) for j in every]
    shares = {axes: Fraction(1, attributes) for axes in singles}
    if kind == "pairs" and attributes > 1:
        pairs = list(combinations(every, 2))
        shares = {axes: Fraction(1, len(pairs)) for axes in pairs}
    if kind == "all" and attributes > 1:
        shares = {axes: share / 2 for axes, share in shares.items()} | {every: Fraction(1, 2)}
    return shares


@dataclass(frozen=True)
class Misfit:
    """How far a tree is from the released tables of pairs, at worst.

    where:
        share    is the share of people for whom two attributes differ from what the tree says, beyond what noise and
                 drawing explain,
        pair     are the two attributes; None if all fit,
        refuted  says that the bounds of some pair leave no room for what the tree says, so that with the confidence of
                 the bounds the law is not this tree.
    """

    share: float = 0.0
    pair: tuple[int, int] | None = None
    refuted: bool = False

    @property
    def fits(self) -> bool:
        """Whether nothing that is released speaks against the tree."""
        return not self.refuted and self.share <= MISFIT


def learn_tree(tables: NoisyTables, confidence: float) -> tuple[Tree, Misfit]:
    """The tree of the strongest dependences (Chow and Liu) with a box around every conditional probability.

    It comes from released tables alone, so it costs no further privacy. With probability ``confidence`` all boxes hold
    the truth at once, if it is this tree.

    The box of P(b_j = x | b_i = y), for a person drawn like the opt-in group, is the Clopper-Pearson interval

        low = Beta^-1(beta'; a_-, r_+ + 1),    high = Beta^-1(1 - beta'; a_+ + 1, r_-)

    where:
        a_-, a_+  bound how many of the group gave both answers, r_-, r_+ how many gave y and another than x: the noisy
                  number, give or take z noise deviations with P(N > z) = beta', and the rounding,
        beta'     is (1 - confidence)/(10 cells of all tables): whichever tree is chosen, all its boxes hold at once.
    """
    require_confidence(confidence)
    if len(tables.sizes) == 1:
        return Tree(tables.sizes, ()), Misfit()
    noisy = _pair_tables(tables)
    shares = {axes: _law(table) for axes, table in noisy.items()}
    chosen = _strongest({axes: _information(table) for axes, table in shares.items()}, len(tables.sizes))
    tail = _tail(tables, confidence)
    edges = tuple(Edge(*axes, _box(noisy[axes], tables, tail), _box(noisy[axes].T, tables, tail)) for axes in chosen)
    fitted = Tree(tables.sizes, tuple(Edge.of_table(*axes, shares[axes]) for axes in chosen))
    tree = Tree(tables.sizes, edges)
    return tree, replace(_misfit(tables, fitted), refuted=_refuted(tree, learn_pairs(tables, confidence)))


def learn_pairs(tables: NoisyTables, confidence: float) -> BoundedPairs:
    """The boxes of :func:`learn_tree` around all pairs, of which no tree is made."""
    require_confidence(confidence)
    boxes: dict[tuple[int, int], Box] = {}
    if len(tables.sizes) > 1:
        for (first, second), table in _pair_tables(tables).items():
            boxes[first, second] = _box(table, tables, _tail(tables, confidence))
            boxes[second, first] = _box(table.T, tables, _tail(tables, confidence))
    return BoundedPairs(tables.sizes, boxes, confidence)


def require_confidence(confidence: float) -> None:
    """Raise unless a confidence is a probability below 1."""
    require_number(
        "confidence",
        confidence,
        min_value=0.5,
        below=1,
        legal="from 0.5 to 1 (1 excluded)",
        remedy="0.99 means that the model fails to bound the truth in one survey of a hundred at most.",
    )


def learn_table(tables: NoisyTables, confidence: float) -> BoundedTable:
    """Bounds for the guarantee without any assumption on how attributes hang together."""
    require_confidence(confidence)
    if tables.kind != "all":
        raise ParameterError("tables", tables.kind, "tables with one of all attributes", "Draw them with kind = 'all'.")
    return BoundedTable(tables.counts[-1], float(tables.sigmas[-1]), tables.margins, confidence)


def _pair_tables(tables: NoisyTables) -> dict[tuple[int, int], NDArray[np.int64]]:
    if tables.kind != "pairs":
        raise ParameterError("tables", tables.kind, "tables of pairs", "Draw them with kind = 'pairs'.")
    return {(axes[0], axes[1]): table for axes, table in zip(tables.axes, tables.counts, strict=True)}


def _tail(tables: NoisyTables, confidence: float) -> float:
    """The probability with which one bound may fail on one side."""
    return (1 - confidence) / (_TAILS * sum(table.size for table in tables.counts))


def _root_above(square: Fraction) -> Fraction:
    """A fraction just above the square root."""
    return Fraction(math.isqrt(math.ceil(square * 2**40)) + 1, 2**20)


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
    from scipy import special

    z, sigma, others = float(special.ndtri(1 - tail)), float(tables.sigmas[0]), table.shape[1] - 1
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


def _refuted(tree: Tree, pairs: BoundedPairs) -> bool:
    """Whether the bounds of a pair and those that the tree gives it have nothing in common."""
    said = tree.pairs()
    return any(
        bool(((box.low > said[pair].high + _ROUNDING) | (box.high < said[pair].low - _ROUNDING)).any())
        for pair, box in pairs.boxes.items()
    )


def _misfit(tables: NoisyTables, fitted: Tree) -> Misfit:
    """The largest total variation between a noisy table and the fitted tree's, beyond what is expected by chance."""
    neighbours = {(edge.first, edge.second) for edge in fitted.edges}
    given = fitted.pairs()
    worst = Misfit()
    for axes, table in zip(tables.axes, tables.counts, strict=True):
        first, second = axes
        if (first, second) in neighbours:
            continue
        margin = np.maximum(tables.frequencies[first], 0.5 / tables.people)
        expected = (margin / margin.sum())[:, None] * given[first, second].low
        chance = np.sqrt(3 * float(tables.sigmas[0]) ** 2 + 2 * tables.people * expected) * math.sqrt(2 / math.pi)
        distance = float((np.abs(table - tables.people * expected) - chance).sum() / (2 * tables.people))
        if distance > worst.share:
            worst = Misfit(distance, (first, second))
    return worst
