"""The exact law of the filtered union on small populations, by enumeration: list, noisy weights and counts together.

It is written from the definition and shares no code with the mechanism but the law of its noise and, for the counts,
what it adds up about one person.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from blendp.mechanisms import FilteredUnion, Holdings, RoundedGaussian
from blendp.mechanisms.filtered_union import TwoScaleCounts, filtered_union, holdings
from blendp.privacy import Budget
from blendp.randomness import Random, SimulationRandom

Law = NDArray[np.float64]
Records = tuple[int, ...]
Others = Mapping[tuple[Records, int], int]
"""How many other people hold these records, and so many more each that nobody else holds."""


class Silent(RoundedGaussian):
    """No noise."""

    def draw(self, count: int, random: Random) -> NDArray[np.int64]:  # noqa: ARG002
        return np.zeros(count, dtype=np.int64)


NOISES = ("clipped_noise", "excess_noise", "dispersion_noise")


def silenced(counts: TwoScaleCounts) -> TwoScaleCounts:
    """The same counts, without noise."""
    quiet = TwoScaleCounts(counts.mu_squared)
    for name in NOISES:
        quiet.__dict__[name] = Silent(getattr(counts, name).sigma)
    return quiet


@contextmanager
def small_grid(grid: int, emphasis: int, different: int) -> Iterator[None]:
    """Few weights, few emphases and few records a person, so that everything that can happen can be listed."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("GRID", grid), ("_EMPHASIS", emphasis), ("MAX_DIFFERENT", different)):
            patch.setattr(filtered_union, name, value)
        patch.setattr(holdings, "GRID", grid)
        patch.setattr(filtered_union, "_SLOPES", 1, raising=False)  # a small grid has few
        holdings.filter_weights.cache_clear()
        try:
            yield
        finally:
            holdings.filter_weights.cache_clear()


@dataclass(frozen=True)
class Rule:
    """The mechanism's numbers, as a rule that can be changed to see whether the change is noticed.

    where:
        length       is the L2 norm of a person's weights in the second round, in multiples of G,
        fresh_noise  says whether the second round draws noise of its own.
    """

    epsilon: float
    grid: int
    emphasis: int
    passing: int
    listing: int
    first: RoundedGaussian
    second: RoundedGaussian
    counts: TwoScaleCounts
    length: Fraction = Fraction(1)
    fresh_noise: bool = True

    @classmethod
    def of(cls, union: FilteredUnion) -> Rule:
        return cls(
            union.budget.epsilon,
            holdings.GRID,
            filtered_union._EMPHASIS,
            union.passing_total,
            union.min_total,
            union.filter_noise,
            union.list_noise,
            union.counts,
        )

    def first_weight(self, different: int) -> int:
        """floor(G/sqrt(d))."""
        return math.isqrt(self.grid**2 // different) if different else 0

    def second_weights(self, emphases: Sequence[int]) -> list[int]:
        """floor(G c/|c|), for one person's records, those that did not pass included."""
        square = sum(c * c for c in emphases)
        return [math.isqrt(math.floor(self.length**2 * self.grid**2 * c * c / square)) if c else 0 for c in emphases]

    def emphases(self, total: int) -> tuple[NDArray[np.int64], Law]:
        """What each value of the first round's noise makes of a record: 0 if it does not pass, else c in multiples of
        one over the number of emphases. And the law of that.
        """
        x, p = noise_law(self.first)
        noisy = total + x
        c = np.clip(self.emphasis * self.listing // np.maximum(noisy, 1), 1, self.emphasis)
        c = np.where((noisy >= self.passing) & (total > 0), c, 0)
        return c, np.asarray(np.bincount(c, weights=p, minlength=self.emphasis + 1), dtype=np.float64)


@cache
def noise_law(noise: RoundedGaussian) -> tuple[NDArray[np.int64], Law]:
    """Its values and their probabilities; what is left out has less than 1e-17."""
    reach = math.ceil(9 * noise.sigma) + 1
    x = np.arange(-reach, reach + 1)
    return x, noise.probability(x)


@cache
def weight_beside(rule: Rule, emphasis: int, more: int) -> Law:
    """The law of the weight of a record on which somebody has this emphasis, and so many more records, alone."""
    law = np.zeros(rule.grid + 1)
    _, chances = rule.emphases(rule.first_weight(1 + more))
    for drawn in combinations_with_replacement(range(rule.emphasis + 1), more):
        ways = math.factorial(more)
        for c in set(drawn):
            ways //= math.factorial(drawn.count(c))
        law[rule.second_weights([emphasis, *drawn])[0]] += ways * chances[list(drawn)].prod()
    return law


def release_law(rule: Rule, others: Others, own: Records, records: int, span: int) -> Law:
    """The law of the list with its noisy weights, an axis for every record.

    Index 0 of an axis: the record is not listed; 1 + j: it is, and its noisy weight is rho + j, or more at the end.
    Records that one of the others alone holds are left out.
    """
    people = {**others, (own, 0): others.get((own, 0), 0) + 1}
    totals = [
        sum(n * rule.first_weight(len(shared) + more) for (shared, more), n in people.items() if r in shared)
        for r in range(records)
    ]
    emphases, chances = zip(*(rule.emphases(total) for total in totals), strict=True)
    law = np.zeros((span + 1,) * records)
    x, p = noise_law(rule.first)
    for chosen in product(*(np.flatnonzero(chance).tolist() for chance in chances)):
        weights = _laws_of_weights(rule, people, chosen)
        axes = []
        for r, emphasis in enumerate(chosen):
            if not emphasis:
                axes.append(np.append(chances[r][0], np.zeros(span)))
            elif rule.fresh_noise:
                axes.append(chances[r][emphasis] * _listed(rule, weights[r], *noise_law(rule.second), span))
            else:
                axes.append(_listed(rule, weights[r], x, np.where(emphases[r] == emphasis, p, 0), span))
        law += reduce(np.multiply.outer, axes)
    return law


def _laws_of_weights(rule: Rule, people: Others, emphases: Sequence[int]) -> list[Law]:
    """The law of the weight W of every record: its value is the index."""
    laws = [np.ones(1) for _ in emphases]
    for (shared, more), n in people.items():
        if more:
            (r,) = shared
            of_one = weight_beside(rule, emphases[r], more)
            laws[r] = reduce(np.convolve, [of_one] * n, laws[r])
        else:
            for r, weight in zip(shared, rule.second_weights([emphases[r] for r in shared]), strict=True):
                laws[r] = np.append(np.zeros(n * weight), laws[r])
    return laws


def _listed(rule: Rule, weight: Law, x: NDArray[np.int64], p: Law, span: int) -> Law:
    """The law of one record's axis."""
    low = int(np.flatnonzero(weight)[0])
    noisy = np.arange(low, len(weight) + len(x) - 1) + int(x[0])
    index = np.clip(noisy - rule.listing + 1, 0, span)
    return np.bincount(index, weights=np.convolve(weight[low:], p), minlength=span + 1).astype(np.float64)


def divergence(rule: Rule, others: Others, before: Records, after: Records, *, one_query: bool = False) -> float:
    """delta(epsilon) between neighbours, the larger of both directions, for all that is released.

    Given the list the counts are whole-number vectors with Gaussian noise: how well they tell two people apart depends
    on their distance alone, in deviations of the noise, but for the rounding, which can only hide more. So this is at
    least the exact delta, and next to it; but for records that one of the others alone holds, which are not looked at.
    """
    sets = [*(shared for shared, _ in others), before, after]
    records = 1 + max((r for each in sets for r in each), default=0)
    holders = [1 + sum(n for (shared, _), n in others.items() if r in shared) for r in range(records)]
    span = max(1, max(holders) * rule.grid - rule.listing) + math.ceil(7 * rule.second.sigma)
    p, q = (release_law(rule, others, own, records, span) for own in (before, after))
    loss = np.zeros(2)
    for pattern in product((False, True), repeat=records):
        part = tuple(slice(1, None) if listed else 0 for listed in pattern)
        apart = counts_distance(rule, pattern, before, after, one_query=one_query)
        loss += [_loss(p[part], q[part], rule.epsilon, apart), _loss(q[part], p[part], rule.epsilon, apart)]
    return float(loss.max())


def counts_distance(rule: Rule, listed: Sequence[bool], one: Records, other: Records, *, one_query: bool) -> float:
    """How far apart two people are in the counts of the list, in standard deviations of the noise."""
    where = np.flatnonzero(listed)
    queries = np.arange(len(where) + 1)
    if one_query and len(where):  # <q,*> for what is not listed
        queries = np.append(np.zeros(len(where) + 1, dtype=np.int64), 1)
    rest = len(queries) - (2 if one_query and len(where) else 1)
    cells = np.full(len(listed), rest)
    cells[where] = np.arange(len(where))
    sums = []
    for own in (one, other):
        record = np.array(own, dtype=np.int64)
        rows = Holdings(1, np.zeros_like(record), record, np.ones_like(record), np.ones(len(record), dtype=bool))
        sums.append(silenced(rule.counts).draw(rows, cells[record], queries, SimulationRandom(0)))
    a, b = sums
    squares = (
        float(((a.clipped - b.clipped) ** 2).sum() / rule.counts.clipped_noise.sigma**2),
        float(((a.excess - b.excess) ** 2).sum() / rule.counts.excess_noise.sigma**2),
        float((a.cell_dispersion - b.cell_dispersion) ** 2 / rule.counts.dispersion_noise.sigma**2),
        float((a.query_dispersion - b.query_dispersion) ** 2 / rule.counts.dispersion_noise.sigma**2),
    )
    return math.sqrt(sum(squares))


def _loss(p: Law, q: Law, epsilon: float, apart: float) -> float:
    """The sum of p Q(e/m - m/2) - e^epsilon q Q(e/m + m/2) with e = epsilon + ln(q/p), m = apart."""
    if not apart:
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    possible = p > 0
    p, q = p[possible], q[possible]
    with np.errstate(divide="ignore"):
        left = (epsilon + np.log(q / p)) / apart
    terms = p * ndtr(apart / 2 - left) - math.exp(epsilon) * q * ndtr(-apart / 2 - left)
    return float(np.maximum(terms, 0).sum())


def small_rule(
    epsilon: float, delta: float, first: float = 0.2, second: float = 0.3, *, grid: int = 7, different: int = 3
) -> Rule:
    """The rule of a mechanism on a small grid, with three emphases."""
    with small_grid(grid, 3, different):
        return Rule.of(FilteredUnion(Budget(epsilon, delta), first, second))
