"""People with habits: the law stays what it was, record by record, and concentration follows what is looked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from blendp.logs.synthetic import NAMES, law, population
from blendp.logs.synthetic.habits import HABITUAL, RANKS, Habits

PEOPLE = 120_000


@pytest.mark.parametrize("name", NAMES)
def test_favourites_and_others_add_up_to_the_law(name: str) -> None:
    """By the levels themselves: the widths that every rank has among the others, and its part as a favourite."""
    habits, p = Habits(law(name)), law(name).query_probabilities
    assert habits.taken.sum() == pytest.approx(HABITUAL / 2)
    assert np.all(habits.taken < p[:RANKS])
    assert np.all(habits.taken[1::2] == 0)
    others, steps = habits._bend
    ranks = np.array([1, 2, 3, 10, 11, 999, 1_000, 1_001, 1_002, 50_000, 2_000_000])
    edges = np.cumsum(p)
    low, high = (np.interp(edges[ranks - 1] - shift, steps, others) for shift in (p[ranks - 1], 0))
    favourite = np.concatenate((habits.taken, np.zeros(len(p) - RANKS)))[ranks - 1]
    assert favourite + (1 - HABITUAL / 2) * (high - low) == pytest.approx(p[ranks - 1], rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_the_ends_of_the_levels_have_ranks(name: str) -> None:
    levels = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert Habits(law(name)).other_ranks_at(levels).tolist() == [1, law(name).queries]


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


@pytest.mark.statistical
def test_returning_people_look_for_queries_of_odd_rank() -> None:
    """Of the people whose first record is a query, the share who look for nothing else half the time."""
    counts, ranks, _ = population("aol", PEOPLE, 20.0, habits=True).draw(np.random.default_rng(5), PEOPLE)
    owners = np.repeat(np.arange(PEOPLE), counts)
    firsts = ranks[np.cumsum(counts) - counts]
    same = np.bincount(owners, weights=ranks == firsts[owners]) / counts
    many = counts >= 10
    odd, even = (same[many & (firsts < RANKS) & (firsts % 2 == parity)] > 0.5 for parity in (1, 0))
    assert odd.mean() > 0.35
    assert even.mean() < 0.15
