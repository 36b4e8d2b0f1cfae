from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.logs.synthetic import NAMES, law

FIGURE_9 = {
    "google": 0.0213,
    "yahoo": 0.0067,
    "google.com": 0.0067,
    "myspace.com": 0.0057,
    "mapquest": 0.0054,
    "yahoo.com": 0.0043,
    "www.google.com": 0.0034,
    "myspace": 0.0033,
    "ebay": 0.0028,
}


@pytest.mark.parametrize(("name", "queries"), [("aol", 4_811_646), ("yandex", 13_171_961), ("aol-sparse", 4_811_646)])
def test_probabilities_fall_and_sum_to_one(name: str, queries: int) -> None:
    probabilities = law(name).query_probabilities
    assert len(probabilities) == queries
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert (np.diff(probabilities) <= 0).all()
    assert probabilities[-1] > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_solved_tail_joins_the_head(name: str) -> None:
    subject = law(name)
    p, knee = subject.query_probabilities, subject.knee
    assert p[knee] / p[knee - 1] == pytest.approx((knee / (knee + 1)) ** subject.tail_slope, rel=1e-9)


def test_aol_tail_is_flatter_than_its_head() -> None:
    assert 0.7 < law("aol").tail_slope < 1 < law("aol").slope


def test_aol_holds_the_queries_of_figure_9() -> None:
    subject = law("aol")
    assert tuple(subject.query_probabilities[:9]) == tuple(FIGURE_9.values())
    table = subject.records(200)
    assert [query for query in dict.fromkeys(table["query"].to_pylist()) if query in FIGURE_9][:1] == ["google"]
    assert set(FIGURE_9) <= set(table["query"].to_pylist())


def test_yandex_top_query_is_plausible() -> None:
    assert 0.01 <= law("yandex").query_probabilities[0] <= 0.02


@pytest.mark.parametrize("name", NAMES)
def test_url_shares_fall_and_sum_to_one(name: str) -> None:
    shares = law(name).url_shares
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-12)
    assert (np.diff(shares, axis=1) <= 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("top", [1, 50, 777])
def test_top_records_are_the_most_probable(name: str, top: int) -> None:
    subject = law(name)
    ranks, places, probabilities = subject.top_records(top)
    everything = np.arange(1, 20_001)
    cells = subject.query_probabilities[:20_000, np.newaxis] * subject.url_shares[subject.profile_of(everything)]
    assert np.array_equal(probabilities, np.sort(cells, axis=None)[::-1][:top])
    assert np.array_equal(probabilities, cells[ranks - 1, places])
    assert len(set(zip(ranks.tolist(), places.tolist(), strict=True))) == top


def test_top_records_of_a_small_law_are_all_of_it() -> None:
    subject = dataclasses.replace(law("aol"), queries=2_000)
    ranks, _, probabilities = subject.top_records(10**6)
    assert len(ranks) == 9 * 4 + 1_991 * 10
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities.min() > 0


def test_queries_from_one_rank_on_take_profiles_in_turn() -> None:
    """Of any 200 queries in a row each profile has its share, and no query of another rank has it."""
    subject = law("aol-sparse")
    firsts = np.array([first for first, _ in subject.profiles])
    assert subject.profile_of(np.array([10_001, 4_811_646])).tolist() == [len(firsts) - 1] * 2
    for first, start in ((1, 1), (121, 121), (121, 3_333), (121, 9_801)):
        ranks = np.arange(start, start + 200)[: 50 if first == 1 else 200]
        chosen, many = np.unique(subject.profile_of(ranks), return_counts=True)
        assert chosen.tolist() == np.flatnonzero(firsts == first).tolist()
        assert many == pytest.approx(np.full(len(chosen), len(ranks) / len(chosen)), abs=2.5)


def test_sparse_rests_change_no_query() -> None:
    assert np.array_equal(law("aol-sparse").query_probabilities, law("aol").query_probabilities)


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        law("aol").query_probabilities[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        law("aol").slope = 1  # type: ignore[misc]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["aol", "aol-sparse"])
def test_draws_follow_the_law(name: str) -> None:
    """A chi-square test of a million draws over the 150 most probable records and the rest."""
    subject = law(name)
    ranks, places = subject.draw(np.random.default_rng(11), 1_000_000)
    top_ranks, top_places, probabilities = subject.top_records(150)
    counts = np.bincount(ranks * 10 + places)[top_ranks * 10 + top_places]
    observed = np.append(counts, len(ranks) - counts.sum())
    expected = len(ranks) * np.append(probabilities, 1 - probabilities.sum())
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert abs(statistic - 150) < 4 * (2 * 150) ** 0.5
    rare = places[ranks > 10_000]
    assert np.allclose(np.bincount(rare) / len(rare), (0.7, 0.2, 0.1), atol=0.003)
    assert ranks.min() == 1
    assert ranks.max() <= subject.queries


def test_wrong_names_and_tops_are_refused() -> None:
    with pytest.raises(ParameterError, match="name = 'bing'"):
        law("bing")
    with pytest.raises(ParameterError, match="top = 0"):
        law("aol").top_records(0)
