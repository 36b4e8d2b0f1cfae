"""The list with totals and rests, by enumeration: all that can be released about small populations, in exact fractions.

The powers e^(-rate) are fractions here, so no probability is rounded. Nothing of the proof is used: each database has
its own probability of every output, and these are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import pytest

Item = tuple[int, int | None] | None
"""What a person has: a query and an address, a query whose row has no address (it is never listed), or nothing."""

Factor = tuple[int, tuple[tuple[int, int], ...]]
"""One part of an output: for each of its outcomes the probability in the one database and in the other, as whole
numbers over a common denominator. Outcomes whose probabilities have one ratio are one.
"""


@dataclass(frozen=True)
class Rule:
    """The mechanism as it is specified.

    where:
        a, b, c            are e^(-e_+), e^(-e_-) and e^(-f_-),
        least, least_rest  are T and T'.

    Each flag is a fault.
    """

    a: Fraction
    b: Fraction
    c: Fraction
    least: int
    least_rest: int
    without_gap: bool = False
    listed_in_rest: bool = False
    rest_of_all: bool = False

    @property
    def power(self) -> Fraction:
        """e^epsilon."""
        return 1 / (self.a * self.b * self.c)

    @property
    def strays(self) -> tuple[Fraction, Fraction]:
        """p and p': a record, and a query, that one person alone has is listed."""
        listing = self.b * self.c if self.without_gap else self.b
        return at_least(self.least - 1, self.a, listing), at_least(self.least_rest - 1, self.a, self.c)

    @property
    def delta(self) -> Fraction:
        """1 - (1 - p)(1 - p')."""
        p, of_query = self.strays
        return 1 - (1 - p) * (1 - of_query)

    def total(self, count: int, total: int) -> Fraction:
        """P(a record of this count is listed with this total)."""
        if not count:
            return Fraction(0)
        rising = self.b * self.c
        gap = Fraction(0) if self.without_gap else gap_at_least(total - self.least + 1, self.b, rising)
        return noise(total - count, self.a, rising) * (1 - gap)

    def listed(self, count: int) -> Fraction:
        """P(a record of this count is listed)."""
        rising = self.b * self.c if self.without_gap else self.b
        return at_least(self.least - count, self.a, rising) if count else Fraction(0)

    def query_total(self, rest: int, total: int) -> Fraction:
        """P(a query of which no record is listed has this total)."""
        return noise(total - rest, self.a, self.c) if rest else Fraction(0)

    def query_listed(self, rest: int) -> Fraction:
        """P(a query of which no record is listed is listed itself)."""
        return at_least(self.least_rest - rest, self.a, self.c) if rest else Fraction(0)


def noise(x: int, falling: Fraction, rising: Fraction) -> Fraction:
    """P(X = x) of noise with these powers."""
    side = falling**x if x >= 0 else rising**-x
    return (1 - falling) * (1 - rising) / (1 - falling * rising) * side


def at_least(x: int, falling: Fraction, rising: Fraction) -> Fraction:
    """P(X >= x)."""
    if x > 0:
        return falling**x * (1 - rising) / (1 - falling * rising)
    return 1 - rising ** (1 - x) * (1 - falling) / (1 - falling * rising)


def gap_at_least(v: int, slow: Fraction, fast: Fraction) -> Fraction:
    """P(V >= v)."""
    return (slow - fast) / (1 - fast) * slow ** (v - 1) if v >= 1 else Fraction(1)


@cache
def of_record(rule: Rule, counts: tuple[int, int], is_listed: bool) -> Factor:
    """A record that is listed with its total, or is not listed; by its counts in the two databases."""
    listed = [rule.listed(count) for count in counts]
    if not is_listed:
        return whole([(1 - listed[0], 1 - listed[1])])
    singly = [(rule.total(counts[0], t), rule.total(counts[1], t)) for t in range(rule.least, max(rule.least, *counts))]
    return whole([*singly, beyond(listed, singly)])


@cache
def of_query(rule: Rule, rests: tuple[int, int], is_listed: bool) -> Factor:
    """A query of which no record is listed: listed with its total, or not listed."""
    listed = [rule.query_listed(rest) for rest in rests]
    if not is_listed:
        return whole([(1 - listed[0], 1 - listed[1])])
    totals = range(rule.least_rest, max(rule.least_rest, *rests))
    singly = [(rule.query_total(rests[0], t), rule.query_total(rests[1], t)) for t in totals]
    return whole([*singly, beyond(listed, singly)])


@cache
def of_rest(rule: Rule, rests: tuple[int, int]) -> Factor:
    """A noisy count that is released whatever it is."""
    low, high = min(rests), max(rests)
    upper = [at_least(high - rest, rule.a, rule.c) for rest in rests]
    between = [(noise(t - rests[0], rule.a, rule.c), noise(t - rests[1], rule.a, rule.c)) for t in range(low, high)]
    below = (1 - upper[0] - sum(p for p, _ in between), 1 - upper[1] - sum(q for _, q in between))
    return whole([(upper[0], upper[1]), *between, below])


def beyond(whole_mass: list[Fraction], singly: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """What is left for larger totals than those that were looked at: from both counts on they have one ratio."""
    return whole_mass[0] - sum(p for p, _ in singly), whole_mass[1] - sum(q for _, q in singly)


def whole(pairs: list[tuple[Fraction, Fraction]]) -> Factor:
    """Probabilities as whole numbers over one denominator; outcomes of one ratio together."""
    by_ratio: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in pairs:
        if p or q:
            ratio = p / q if q else None
            before = by_ratio.get(ratio, (Fraction(0), Fraction(0)))
            by_ratio[ratio] = (before[0] + p, before[1] + q)
    denominator = math.lcm(*(x.denominator for pair in by_ratio.values() for x in pair))
    return denominator, tuple((int(p * denominator), int(q * denominator)) for p, q in by_ratio.values())


class Found(NamedTuple):
    """What the comparison of two databases shows."""

    delta: Fraction
    """The hockey-stick divergence at the epsilon that is looked at."""

    impossible: Fraction
    """The probability of outputs that the other database cannot have."""

    worst: Fraction
    """The largest ratio of the probabilities of any other output."""


def compare(rule: Rule, grid: tuple[int, int], one: list[Item], other: list[Item], power: Fraction) -> Found:
    """All outputs about two databases of people, over so many queries with so many addresses each."""
    delta, impossible, worst = Fraction(0), Fraction(0), Fraction(0)
    for factors in outputs(rule, grid, one, other):
        denominator = math.prod(part for part, _ in factors)
        excess = alone = 0
        for outcome in product(*(pairs for _, pairs in factors)):
            p, q = math.prod(p for p, _ in outcome), math.prod(q for _, q in outcome)
            excess += max(0, power.denominator * p - power.numerator * q)
            if not q:
                alone += p
            elif p * worst.denominator > q * worst.numerator:
                worst = Fraction(p, q)
        delta += Fraction(excess, denominator * power.denominator)
        impossible += Fraction(alone, denominator)
    return Found(delta, impossible, worst)


def outputs(rule: Rule, grid: tuple[int, int], one: list[Item], other: list[Item]) -> Iterator[list[Factor]]:
    """The factors of every output, a list for each set of records and queries that may be listed."""
    queries, addresses = grid
    records = list(product(range(queries), range(addresses)))
    counts = {record: (one.count(record), other.count(record)) for record in records}
    for chosen in product((False, True), repeat=len(records)):
        listed = {record for record, is_listed in zip(records, chosen, strict=True) if is_listed}
        named = {query for query, _ in listed}
        shares = [of_record(rule, counts[record], record in listed) for record in records]
        unnamed = [query for query in range(queries) if query not in named]
        rests = {query: tuple(rest(rule, people, query, listed) for people in (one, other)) for query in range(queries)}
        shares += [of_rest(rule, rests[query]) for query in named]
        for bare in product((False, True), repeat=len(unnamed)):
            also = [of_query(rule, rests[query], is_listed) for query, is_listed in zip(unnamed, bare, strict=True)]
            if rule.rest_of_all:
                hidden = [query for query, is_listed in zip(unnamed, bare, strict=True) if not is_listed]
                left = (sum(item is None or item[0] in hidden for item in people) for people in (one, other))
                also.append(of_rest(rule, (next(left), next(left))))
            yield [factor for factor in shares + also if factor != (1, ((1, 1),))]


def rest(rule: Rule, people: list[Item], query: int, listed: set[tuple[int, int]]) -> int:
    """R of a query: the people who have it and whose record is not listed."""
    own = [item for item in people if item is not None and item[0] == query]
    return len(own) if rule.listed_in_rest else sum(item not in listed for item in own)


def neighbours(grid: tuple[int, int], most: int) -> Iterator[tuple[list[Item], list[Item]]]:
    """Everything that one person can have in either database, up to names of queries and addresses, beside every
    population of at most so many others.
    """
    queries, addresses = grid
    items: list[Item] = [*product(range(queries), range(addresses)), *((query, None) for query in range(queries))]
    mine: list[tuple[Item, Item]] = [
        ((0, 0), None), ((0, 0), (0, None)), ((0, 0), (0, 1)), ((0, 0), (1, 0)), ((0, 0), (1, None)),
        ((0, None), None), ((0, None), (1, None)), ((0, None), (0, 0)), ((0, None), (1, 0)),
        (None, (0, 0)), (None, (0, None)),
    ]  # fmt: skip
    possible = [pair for pair in mine if all(item is None or item in items for item in pair)]
    for people in range(most + 1):
        for others in combinations_with_replacement(items, people):
            for before, after in possible:
                yield [*others, before], [*others, after]


def worst_of(rule: Rule, grid: tuple[int, int], most: int, power: Fraction | None = None) -> Found:
    """The worst over all neighbours, of each number by itself."""
    each = [compare(rule, grid, *pair, power or rule.power) for pair in neighbours(grid, most)]
    return Found(*(max(column) for column in zip(*each, strict=True)))


def rule_of(a: str, b: str, c: str, least: int, least_rest: int) -> Rule:
    return Rule(Fraction(a), Fraction(b), Fraction(c), least, least_rest)


RULES = (
    rule_of("1/2", "1/2", "1/2", 3, 3),
    rule_of("1/3", "2/3", "3/4", 2, 3),
    rule_of("2/5", "3/4", "1/2", 2, 2),
    rule_of("1/4", "4/5", "9/10", 3, 2),
)
"""In the third, 1 - delta < e^(-e_-): the weaker conditions are enough."""

GRIDS = (((1, 2), 4), ((1, 3), 4), ((2, 2), 3), ((3, 1), 3))
"""How many queries with how many addresses each, and how many other people at most."""


@pytest.mark.parametrize(("grid", "most"), GRIDS)
@pytest.mark.parametrize("rule", RULES)
def test_delta_is_what_is_stated_and_no_other_output_costs_more_than_epsilon(
    rule: Rule, grid: tuple[int, int], most: int
) -> None:
    p, of_query = rule.strays
    assert 1 - p >= rule.b
    assert (1 - p) * (1 - of_query) >= rule.b * rule.c
    worst = worst_of(rule, grid, most)
    assert worst.delta == worst.impossible == rule.delta
    assert worst.worst <= rule.power
    if rule.least == 2 and grid != (3, 1):
        assert worst.worst == rule.power, "epsilon is used up"


def test_each_fault_is_seen() -> None:
    """The enumeration has power: without any one of what the proof needs, the promise is broken many times over."""
    rule, grid, most = rule_of("1/50", "1/2", "1/2", 3, 3), (2, 1), 4  # delta is small, so that no fault hides in it
    assert worst_of(rule, grid, most).delta == rule.delta
    for lower in (replace(rule, least=rule.least - 1), replace(rule, least_rest=rule.least_rest - 1)):
        assert worst_of(lower, grid, most, rule.power).delta > 10 * rule.delta
    assert worst_of(rule, grid, most, 1 / (rule.a * rule.b)).delta > 100 * rule.delta, "f_- is not paid for"
    for fault in (
        replace(rule, listed_in_rest=True),  # people whose record is listed are counted in the rest, too
        replace(rule, without_gap=True),  # the noise of the totals lists, and T and p are taken from it
        replace(rule, rest_of_all=True),  # <*,*> is a noisy cell of its own
    ):
        worst = worst_of(fault, grid, most)
        assert worst.delta > 100 * fault.delta
        assert worst.worst > fault.power


@pytest.mark.parametrize(
    ("rule", "grid", "fails"),
    [(rule_of("2/3", "3/4", "1/2", 2, 9), (1, 2), 0), (rule_of("2/3", "9/10", "9/10", 4, 2), (2, 1), 1)],
)
def test_each_condition_is_needed(rule: Rule, grid: tuple[int, int], fails: int) -> None:
    """Without it a record, or a query, that only the other database has costs too much by its absence."""
    p, of_query = rule.strays
    holds = (1 - p >= rule.b, (1 - p) * (1 - of_query) >= rule.b * rule.c)
    assert [condition for condition in (0, 1) if not holds[condition]] == [fails]
    assert worst_of(rule, grid, 2).worst > rule.power
