"""People with habits: the law stays what it was, record by record, and concentration follows what is looked for."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy.stats import chisquare

from blendp.logs.synthetic import NAMES, law, population
from blendp.logs.synthetic.habits import PATTERNS, RANKS, Habits

PEOPLE = 120_000


@pytest.mark.parametrize("name", NAMES)
def test_favourites_and_others_add_up_to_the_law(name: str) -> None:
    """By the levels themselves: the widths that every rank has among the favourites, and among the others."""
    habits, p = Habits(law(name)), law(name).query_probabilities
    assert (habits.taken < habits.probabilities).all()
    ranks = np.array([1, 2, 3, 10, 11, 60, 61, 62, 999, 1_000, 1_001, 1_002, 50_000, 2_000_000])
    edges = np.cumsum(p)
    low, high = (edges[ranks - 1] - shift for shift in (p[ranks - 1], 0))
    favourite, other = (
        np.interp(high, laws, ours) - np.interp(low, laws, ours) for ours, laws in (habits._favourites, habits._others)
    )
    assert habits.share * favourite + (1 - habits.share) * other == pytest.approx(p[ranks - 1], rel=1e-6, abs=1e-14)
    returning = PATTERNS[name].returning_to(ranks)
    assert favourite / p[ranks - 1] == pytest.approx(returning * (favourite[0] / p[0]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("name", "last"), [("aol", RANKS), ("yandex", RANKS), ("aol-sparse", 4_811_646)])
def test_the_ends_of_the_levels_have_ranks(name: str, last: int) -> None:
    """Where nobody returns to later ranks, the last level is at most a rounding beyond the last odd one."""
    levels = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert Habits(law(name)).other_ranks_at(levels).tolist() == [1, law(name).queries]
    first, final = Habits(law(name)).favourite_ranks_at(levels)
    assert first == 1
    assert last - 1 <= final <= last


def test_kinds_are_how_much_people_return() -> None:
    ranks = np.array([1, 2, 59, 60, 61, 62, 999, 1_000, 1_001, 1_002])
    assert PATTERNS["aol"].kinds(ranks).tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 0, 0]
    assert PATTERNS["aol-sparse"].kinds(ranks).tolist() == [3, 2, 3, 2, 1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("aol", "e5cdad924d5571441a6b2ec0a82db1a07b234ac8e6a64ddab78a03dfbe0a1b2f"),
        ("yandex", "dc7f2ee9454a724b473d47cc2561ec5714835d785336d3c8f2f2c159172f70d9"),
        ("aol-sparse", "4dfdcbc104b63876dff1f109009a13a2029a7bb42ace7c53a92983b7cd7e5fda"),
    ],
)
def test_people_with_habits_are_the_same_for_good(name: str, digest: str) -> None:
    rows = population(name, users=2_000, records_per_user=4, seed=7, habits=True).table().to_pylist()
    assert hashlib.sha256("\n".join("\t".join(row.values()) for row in rows).encode()).hexdigest() == digest


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nth", [0, 1])
def test_a_first_and_a_second_record_follow_the_law(name: str, nth: int) -> None:
    counts, ranks, places = population(name, PEOPLE, 3.0, habits=True).draw(np.random.default_rng(nth), PEOPLE)
    rows = (np.cumsum(counts) - counts)[counts > nth] + nth
    top_ranks, top_places, p = law(name).top_records(60)
    seen = np.array(
        [np.count_nonzero((ranks[rows] == r) & (places[rows] == u)) for r, u in zip(top_ranks, top_places, strict=True)]
    )
    expected = len(rows) * np.append(p, 1 - p.sum())
    assert chisquare(np.append(seen, len(rows) - seen.sum()), expected).pvalue > 1e-4


def devoted(name: str, ranks_from: int, ranks_to: int, parity: int) -> float:
    """Of the people whose first record is one of these queries, the share who look for nothing else half the time."""
    counts, ranks, _ = population(name, PEOPLE, 20.0, habits=True).draw(np.random.default_rng(5), PEOPLE)
    owners = np.repeat(np.arange(PEOPLE), counts)
    firsts = ranks[np.cumsum(counts) - counts]
    same = np.bincount(owners, weights=ranks == firsts[owners]) / counts
    asked = (counts >= 10) & (firsts >= ranks_from) & (firsts < ranks_to) & (firsts % 2 == parity)
    return float((same[asked] > 0.5).mean())


@pytest.mark.statistical
def test_returning_people_look_for_queries_of_odd_rank() -> None:
    assert devoted("aol", 1, RANKS, 1) > 0.35
    assert devoted("aol", 1, RANKS, 0) < 0.15


@pytest.mark.statistical
def test_steady_people_return_most_to_what_is_most_popular() -> None:
    """Of all records of a query as many are favourites as taken says, and nearly all of these are of the steady."""
    assert devoted("aol-sparse", 1, 61, 1) > 0.75
    assert 0.3 < devoted("aol-sparse", 61, RANKS, 1) < 0.75
    assert devoted("aol-sparse", 61, RANKS, 0) < 0.35


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "low", "high"), [("aol", 0.0, 0.04), ("aol-sparse", 0.13, 0.22)])
def test_some_return_to_what_nobody_else_has(name: str, low: float, high: float) -> None:
    """Of the people with ten records or more, how many have one record for most of these, and are alone with it."""
    people = 26_000
    counts, ranks, places = population(name, people, 19.0, habits=True).draw(np.random.default_rng(9), people)
    owners = np.repeat(np.arange(people), counts)
    codes = ranks * 16 + places
    pairs, times = np.unique(np.stack((owners, codes)), axis=1, return_counts=True)
    _, of, holders = np.unique(pairs[1], return_inverse=True, return_counts=True)
    alone = (holders[of] == 1) & (times > counts[pairs[0]] / 2) & (counts[pairs[0]] >= 10)
    assert low <= alone.sum() / (counts >= 10).sum() <= high
