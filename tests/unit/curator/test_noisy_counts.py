"""Noisy counts of a list, trimming and folding."""

import numpy as np
import pytest

from blendp.curator import NoisyCounts, add_noise, trim
from blendp.errors import ParameterError
from blendp.estimate import opt_in_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import DiscreteLaplace
from blendp.randomness import SimulationRandom

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("c", "2"), ("c", "3")])
NOISE = DiscreteLaplace.for_counts(4, 1)


def noisy(counts: list[int], head_list: HeadList = LIST) -> NoisyCounts:
    return NoisyCounts(head_list, np.array(counts), np.ones(len(counts), dtype=np.int64), max(sum(counts), 0), 1, NOISE)


def test_trimming_by_record_keeps_the_largest_and_folds_the_rest() -> None:
    trimmed = trim(noisy([50, 3, 1, 2, 5, 9, 30, 1, 4, 100]), 3)
    assert trimmed.head_list == HeadList.of_records([("a", "1"), ("c", "1"), ("c", "2")])
    # a: <a,2> goes to <a,*>; b leaves altogether; c: <c,3> goes to <c,*>
    assert trimmed.counts.tolist() == [50, 4, 9, 30, 5, 107]
    assert trimmed.terms.tolist() == [1, 2, 1, 1, 2, 3]
    assert trimmed.counts.sum() == 205
    assert trimmed.terms.sum() == 10


def test_trimming_by_query_keeps_whole_queries() -> None:
    trimmed = trim(noisy([50, 3, 1, 2, 5, 9, 30, 1, 4, 100]), 1, "query")
    assert trimmed.head_list == HeadList.of_records([("a", "1"), ("a", "2")])
    assert trimmed.counts.tolist() == [50, 3, 1, 151]


def test_ties_are_broken_by_the_lists_own_order() -> None:
    assert trim(noisy([1] * 10), 2).head_list == HeadList.of_records([("a", "1"), ("a", "2")])


def test_a_list_that_is_short_enough_stays() -> None:
    counts = noisy([50, 3, 1, 2, 5, 9, 30, 1, 4, 100])
    assert trim(counts, 6) is counts
    assert trim(counts, None) is counts


def test_figure_4_counts_unlisted_urls_for_the_wildcard() -> None:
    cells = np.array([[0], [2], [2], [4], [9]])
    quiet = DiscreteLaplace.for_counts(50, 1)
    shared = add_noise(LIST, cells, quiet, SimulationRandom(0))
    literal = add_noise(LIST, cells, quiet, SimulationRandom(0), "figure-4")
    assert shared.counts.tolist() == [1, 0, 2, 0, 1, 0, 0, 0, 0, 1]
    assert literal.counts.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 4]
    assert literal.terms.tolist() == [1, 1, 0, 1, 0, 1, 1, 1, 0, 1]
    estimate = opt_in_estimate(literal)
    assert np.isnan(estimate.cells.probability[2])
    assert np.isinf(estimate.cells.variance[2])
    assert estimate.queries.probability.tolist() == [0.2, 0.0, 0.0, 0.8]
    folded = trim(literal, 1)
    assert folded.counts.tolist() == [1, 0, 4]
    assert folded.terms.tolist() == [1, 0, 6]


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(ParameterError, match="wildcard"):
        add_noise(LIST, np.array([[3]]), NOISE, SimulationRandom(0), "other")
    with pytest.raises(ParameterError, match="trim_unit"):
        trim(noisy([1] * 10), 2, "url")
    with pytest.raises(ParameterError, match="size"):
        trim(noisy([1] * 10), 0)
