"""The exact delta of list, noisy weights and counts together, over all kinds of neighbours; and what would break it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from blendp.mechanisms import FilteredUnion, Holdings, RoundedGaussian
from blendp.mechanisms.filtered_union.bounded import root_up
from blendp.privacy import Budget
from tests.support import KnownKey, goodness
from tests.unit.mechanisms.filtered_law import Others, Records, Rule, divergence, release_law, small_grid, small_rule

Case = tuple[Others, Records, Records]


def alone(*holders: int) -> Others:
    """So many other people hold each record, and nothing else."""
    return {((record,), 0): n for record, n in enumerate(holders) if n}


def about_the_thresholds(rule: Rule) -> tuple[int, ...]:
    """Numbers of people: none, about what passes, about what is listed, and listed for sure."""
    for_sure = rule.listing + 5 * float(rule.second.sigma)
    return 0, rule.passing // rule.grid, rule.listing // rule.grid, math.ceil(for_sure / rule.grid)


def neighbours(rule: Rule) -> Iterator[Case]:
    """A record goes or comes; is replaced; two go; one of two goes; of none, few or many others. Few become many."""
    levels = about_the_thresholds(rule)
    for n in levels:
        yield alone(n), (0,), ()
    for n, m in product(levels, repeat=2):
        yield alone(n, m), (0,), (1,)
        yield alone(n, m), (0, 1), (0,)
        if n <= m:
            yield alone(n, m), (0, 1), ()
    together = {((0, 1), 0): levels[2], ((0,), 0): levels[1], ((1,), 0): 1}
    yield together, (0,), (1,)
    yield together, (0, 1), ()
    yield {((0,), 2): levels[2]}, (0,), ()
    yield {((0,), 2): levels[1] + 2, ((1,), 2): levels[2]}, (0,), (1,)


def of_three_records(rule: Rule) -> Iterator[Case]:
    """Vanishing, appearing and common ones together."""
    for others in (alone(), alone(0, 0, rule.listing // rule.grid)):
        yield others, (0, 1, 2), ()
        yield others, (0,), (1, 2)
        yield others, (0, 2), (1, 2)


def worst(rule: Rule, cases: Iterator[Case]) -> float:
    return max(divergence(rule, *case) for case in cases)


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"), [(4.0, 1e-5, 0.25), (4.0, 1e-2, 0.2), (8.0, 1e-6, 0.2), (2.0, 0.2, 0.2)]
)
def test_exact_delta_of_all_that_is_released(epsilon: float, delta: float, least: float) -> None:
    rule = small_rule(epsilon, delta)
    loss = worst(rule, neighbours(rule))
    assert loss <= delta
    assert loss > least * delta, "an enumeration that finds no loss has looked in the wrong place"


@pytest.mark.parametrize("shares", [(0.3, 0.4), (0.15, 0.2)])
def test_other_splits_of_the_budget(shares: tuple[float, float]) -> None:
    rule = small_rule(4, 1e-5, *shares)
    assert 0.2e-5 < worst(rule, neighbours(rule)) <= 1e-5


def test_three_records_of_which_some_vanish_and_some_appear() -> None:
    rule = small_rule(4, 1e-5)
    assert 0.4e-5 < worst(rule, of_three_records(rule)) <= 1e-5


def test_records_of_one_query() -> None:
    """What is not listed counts for <q,*> where another record of the query is."""
    rule = small_rule(4, 1e-2)
    levels = about_the_thresholds(rule)
    loss = max(divergence(rule, alone(n, m), (0,), (1,), one_query=True) for n, m in product(levels, repeat=2))
    assert 0.1e-2 < loss <= 1e-2


def test_the_mechanism_as_it_is_used() -> None:
    """On the grid of the code, for one record that goes or comes."""
    rule = Rule.of(FilteredUnion(Budget(4, 1e-5)))
    loss = worst(rule, ((alone(n), (0,), ()) for n in about_the_thresholds(rule)))
    assert 1e-7 < loss <= 1e-5


def swaps(rule: Rule) -> Iterator[Case]:
    _, _, some, sure = about_the_thresholds(rule)
    for n, m in ((some, some), (some, sure), (sure, sure)):
        yield alone(n, m), (0,), (1,)


@pytest.mark.parametrize(("epsilon", "delta"), [(4.0, 1e-5), (8.0, 1e-6)])
def test_a_threshold_15_percent_lower_is_caught(epsilon: float, delta: float) -> None:
    rule = small_rule(epsilon, delta)
    low = replace(rule, listing=math.floor(0.85 * rule.listing))
    assert divergence(low, alone(), (0, 1), ()) > delta


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_weights_half_as_long_again_are_caught(delta: float) -> None:
    rule = small_rule(4, delta, grid=9)
    assert worst(rule, swaps(rule)) <= delta
    assert worst(replace(rule, length=Fraction(3, 2)), swaps(rule)) > delta


def test_noise_that_is_used_twice_is_caught() -> None:
    """Both rounds have the same scale here, and the second takes the first's noise."""
    rule = small_rule(4, 1e-5, 0.25, 0.25)
    assert rule.first == rule.second
    assert divergence(rule, alone(), (0, 1), ()) <= 1e-5
    assert divergence(replace(rule, fresh_noise=False), alone(), (0, 1), ()) > 1e-5


@pytest.mark.parametrize(("delta", "holders"), [(1e-5, (11, 25)), (1e-2, (6, 12))])
def test_a_first_round_that_is_not_paid_for_is_caught(delta: float, holders: tuple[int, int]) -> None:
    """All of mu goes to list and counts; the first round, with the noise of another mu, comes on top.

    The others have 8 records each that nobody else has, so what passes is listed, and what does not is not.
    """
    paid = small_rule(4, delta, grid=9, different=9)
    kept_all = small_rule(4, delta, 0.001, 0.499, grid=9, different=9)
    noise = RoundedGaussian(root_up(kept_all.first.sigma**2 / 1000))
    unpaid = replace(kept_all, first=noise, passing=paid.passing)
    others: Others = {((record,), 8): n for record, n in enumerate(holders)}
    assert divergence(paid, others, (0,), (1,)) <= delta
    assert divergence(unpaid, others, (0,), (1,)) > delta


@pytest.mark.statistical
def test_the_enumerated_law_is_drawn() -> None:
    """Two records, some people with both: draws of the code against the law, which no other threshold has."""
    grid, draws = 7, 2_000
    others = {((0, 1), 0): 3, ((0,), 0): 2, ((1,), 0): 5, ((1,), 2): 2}
    with small_grid(grid, 3, 3):
        union = FilteredUnion(Budget(4, 0.3))
        rule = Rule.of(union)
        sets = [(0, 1), *(shared for (shared, more), n in others.items() for _ in range(n) if not more)]
        sets += [(1, 2, 3), (1, 4, 5)]
        owner = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
        record = np.array([r for each in sets for r in each])
        rows = Holdings(len(sets), owner, record, np.ones_like(record), np.ones(len(record), dtype=bool))
        random, span = KnownKey(8), 2 * math.ceil(rule.second.sigma)
        law = release_law(rule, others, (0, 1), 2, span)
        counts = np.zeros_like(law, dtype=np.int64)
        for _ in range(draws):
            listed = dict(zip(*(each.tolist() for each in union.draw(rows, random)), strict=True))
            at = [min(span, listed[r] - rule.listing + 1) if r in listed else 0 for r in (0, 1)]
            counts[tuple(at)] += 1
        wrong = release_law(replace(rule, listing=rule.listing + 4), others, (0, 1), 2, span)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    coarse = [
        np.add.reduceat(np.add.reduceat(each, [0, 1, 1 + span // 2], axis=0), [0, 1, 1 + span // 2], axis=1).ravel()
        for each in (counts, law, wrong)
    ]
    assert goodness(coarse[0], coarse[1]) > 1e-4
    assert goodness(coarse[0], coarse[2]) < 1e-4
