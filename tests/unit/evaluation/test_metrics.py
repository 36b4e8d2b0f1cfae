"""The error on the true top, L1 and the NDCG of NDCGs, against small cases worked by hand and slow definitions."""

from functools import cache
from itertools import permutations
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.engines import EmbeddedLog, Truth
from blendp.evaluation.metrics import Scores, l1, score, true_head
from blendp.headlist import HeadList
from blendp.logs import log_of_table

ROWS = [("a", "1")] * 8 + [("a", "2")] * 4 + [("b", "1")] * 6 + [("c", "1")] * 5 + [("d", "1")] * 1


@cache
def the_log() -> EmbeddedLog:
    users = [f"u{i}" for i in range(len(ROWS))]
    queries, urls = zip(*ROWS, strict=True)
    return log_of_table(pa.table({"user": users, "query": queries, "url": urls}))


def scores(head_list: HeadList, cells: list[float], queries: list[float], size: int) -> Scores:
    log = the_log()
    head = true_head(head_list, log.locate(head_list), log.truth(), size)
    return score(head_list, np.array(cells), np.array(queries), head)


def dcg(gains: list[float]) -> float:
    return sum(gain / log2(rank + 2) for rank, gain in enumerate(gains))


def gain(share: float) -> float:
    return 2**share - 1


def test_the_true_head_in_the_right_order_is_perfect() -> None:
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1")])
    scored = scores(head_list, [8, 4, 0, 6, 0, 5, 0, 1], [12, 6, 5, 1], size=4)
    assert scored.ndcg == pytest.approx(1)
    assert scored.ndcg_list == pytest.approx(1)
    assert scored.l1 == pytest.approx(0)
    assert scored.ndcg_random < 1
    assert scored.ndcg_list_random < 1


def test_a_missing_record_costs_in_ndcg_only() -> None:
    head_list = HeadList.of_records([("a", "1"), ("b", "1"), ("c", "1")])
    scored = scores(head_list, [8, 0, 6, 0, 5, 0, 1], [12, 6, 5, 1], size=4)
    assert scored.ndcg_list == pytest.approx(1)
    first_url_only = gain(8 / 12) / dcg([gain(8 / 12), gain(4 / 12)])
    ideal = dcg([gain(12 / 23), gain(6 / 23), gain(5 / 23)])
    assert scored.ndcg == pytest.approx(dcg([gain(12 / 23) * first_url_only, gain(6 / 23), gain(5 / 23)]) / ideal)


def test_a_wrong_order_costs_as_the_formula_says() -> None:
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1")])
    scored = scores(head_list, [1, 2, 0, 9, 0, 1], [3, 9, 1], size=3)
    turned = dcg([gain(4 / 12), gain(8 / 12)]) / dcg([gain(8 / 12), gain(4 / 12)])
    best = dcg([gain(12 / 18), gain(6 / 18)])
    assert scored.ndcg_list == pytest.approx(dcg([gain(6 / 18), gain(12 / 18) * turned]) / best)
    assert scored.l1 == pytest.approx(abs(3 / 12 - 12 / 18) + abs(9 / 12 - 6 / 18))


def test_random_order_is_the_mean_over_all_orders() -> None:
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("d", "1")])
    orders = [
        scores(head_list, [*urls, 0, 0, 0, 0, 0, 0], [*queries, 0], size=4)
        for queries in permutations([3.0, 2.0, 1.0])
        for urls in permutations([2.0, 1.0])
    ]
    assert orders[0].ndcg_random == pytest.approx(np.mean([s.ndcg for s in orders]))
    assert orders[0].ndcg_list_random == pytest.approx(np.mean([s.ndcg_list for s in orders]))


def test_a_longer_list_than_the_head_cannot_score_above_one() -> None:
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("d", "1")])
    scored = scores(head_list, [8, 4, 0, 6, 0, 5, 0, 1, 0, 0], [12, 6, 5, 1, 0], size=2)
    assert scored.ndcg == pytest.approx(1)


def test_the_true_head_is_made_of_records_not_of_queries() -> None:
    """x is the most popular query, but none of its 20 URLs is among the three most popular records."""
    rows = [("x", str(i % 20)) for i in range(200)] + [("a", "1")] * 100 + [("b", "1")] * 90 + [("c", "1")] * 80
    queries, urls = zip(*rows, strict=True)
    log = log_of_table(pa.table({"user": [str(i) for i in range(470)], "query": queries, "url": urls}))

    def ndcg(records: list[tuple[str, str]]) -> float:
        head_list = HeadList.of_records(records)
        head = true_head(head_list, log.locate(head_list), log.truth(), 3)
        return score(head_list, head.cells, head.queries, head).ndcg

    assert ndcg([("a", "1"), ("b", "1"), ("c", "1")]) == pytest.approx(1)
    assert ndcg([("x", "0"), ("a", "1"), ("b", "1")]) < 0.9
    assert ndcg([("x", "0")]) < 0.2


def test_a_missing_query_costs_when_the_list_is_cut_by_queries() -> None:
    log = the_log()

    def scored(records: list[tuple[str, str]]) -> Scores:
        head_list = HeadList.of_records(records)
        head = true_head(head_list, log.locate(head_list), log.truth(), 3, "query")
        return score(head_list, head.cells, head.queries, head)

    assert scored([("a", "1"), ("b", "1"), ("c", "1")]).ndcg == pytest.approx(1)
    assert scored([("a", "1")]).ndcg < 0.8
    assert scored([("a", "2"), ("b", "1"), ("c", "1")]).ndcg < 1  # not its most popular URL


def test_estimates_that_are_missing_rank_last() -> None:
    head_list = HeadList.of_records([("a", "1"), ("b", "1")])
    scored = scores(head_list, [np.nan, np.nan, 1, 0, 0], [np.nan, 1, 0], size=2)
    assert scored.ndcg_list < 1
    assert scored.l1 == pytest.approx(2 * 12 / 18)


def test_an_empty_list_scores_nothing() -> None:
    assert scores(HeadList.of_records([]), [1.0], [1.0], size=4) == Scores(1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)


def test_the_top_error_counts_what_is_missing_as_zero() -> None:
    """The true top 3 records have 8, 6 and 5 of 24; the second is not listed, and the third's place has another."""
    head_list = HeadList.of_records([("a", "1"), ("c", "1"), ("d", "1")])
    scored = scores(head_list, [10 / 24, 0, 4 / 24, 0, 5 / 24, 0, 0], [0, 0, 0, 0], size=3)
    assert scored.top_error == pytest.approx((2 + 6 + 1) / (8 + 6 + 5))
    assert scored.precision == pytest.approx(2 / 3)
    assert scored.recall == pytest.approx(2 / 3)


def test_only_the_largest_that_are_published_count_for_precision() -> None:
    head_list = HeadList.of_records([("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")])
    scored = scores(head_list, [8 / 24, 0, 1 / 24, 0, 5 / 24, 0, 6 / 24, 0, 0], [0] * 5, size=2)
    assert scored.precision == pytest.approx(1 / 2)  # a and d are the largest
    assert scored.recall == 1  # a and b are listed
    assert scored.top_error == pytest.approx(5 / 14)


def top_of_queries(records: list[tuple[str, str]], size: int, factor: float = 1.0) -> Scores:
    log, head_list = the_log(), HeadList.of_records(records)
    head = true_head(head_list, log.locate(head_list), log.truth(), size, "query")
    return score(head_list, head.cells, factor * head.queries, head)


def test_the_top_is_made_of_queries_where_the_list_is_cut_by_queries() -> None:
    """The true top 2 queries have 12 and 6 of 24."""
    assert top_of_queries([("a", "1"), ("b", "1")], 2).top_error == pytest.approx(0)
    scored = top_of_queries([("a", "2"), ("c", "1")], 2, factor=1.5)
    assert scored.top_error == pytest.approx((6 + 6) / 18)
    assert (scored.precision, scored.recall) == (1 / 2, 1 / 2)


def test_a_longer_list_never_looks_worse_than_a_part_of_it() -> None:
    """A list of one query has a perfect L1, and so has any; by the first measure it knows a third of all."""
    records = [("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("d", "1")]
    of = [top_of_queries(records[:many], 50) for many in range(1, len(records) + 1)]
    assert [scored.l1 for scored in of] == pytest.approx([0] * len(of))
    errors = [scored.top_error for scored in of]
    assert errors == pytest.approx([12 / 24, 12 / 24, 6 / 24, 1 / 24, 0], abs=1e-9)


@pytest.mark.parametrize("unit", ["record", "query"])
def test_a_list_that_keeps_all_is_held_against_a_top_that_its_length_does_not_change(unit: str) -> None:
    log, head_list = the_log(), HeadList.of_records([("a", "1")])
    head = true_head(head_list, log.locate(head_list), log.truth(), None, unit)
    scored = score(head_list, head.cells, head.queries, head)
    assert head.top.size == (5 if unit == "record" else 4)  # all that the log has, as they are fewer than 50
    assert scored.top_error == pytest.approx(16 / 24 if unit == "record" else 12 / 24)
    assert scored.ndcg == pytest.approx(1)


def test_a_query_without_a_url_is_right_if_it_is_frequent_and_finds_none_of_its_records() -> None:
    log, bare = the_log(), HeadList.of_records([("a", None), ("b", "1"), ("d", None)])
    head = true_head(bare, log.locate(bare), log.truth(), 3)
    scored = score(bare, head.cells, head.queries, head)
    assert scored.precision == pytest.approx(2 / 3)  # d is rarer than the third record
    assert scored.recall == pytest.approx(1 / 3)
    assert scored.top_error == pytest.approx((8 + 5) / (8 + 6 + 5))
    assert top_of_queries([("a", None), ("b", "1")], 2).top_error == pytest.approx(0)  # type: ignore[list-item]


def test_what_is_as_frequent_as_the_last_of_the_top_is_in_it_if_it_is_listed() -> None:
    table = pa.table({"user": list("123456"), "query": ["a", "a", "b", "c", "d", "e"], "url": ["1"] * 6})
    log, head_list = log_of_table(table), HeadList.of_records([("a", "1"), ("e", "1")])
    for unit in ("record", "query"):
        head = true_head(head_list, log.locate(head_list), log.truth(), 2, unit)
        scored = score(head_list, head.cells, head.queries, head)
        assert (scored.precision, scored.recall) == (1, 1)
        assert scored.top_error == pytest.approx(0)


def test_estimates_that_are_missing_know_nothing_of_the_top() -> None:
    head_list = HeadList.of_records([("a", "1"), ("b", "1")])
    scored = scores(head_list, [np.nan, 0, 6 / 24, 0, 0], [0, 0, 0], size=2)
    assert scored.top_error == pytest.approx(8 / 14)


def test_l1_rescales_and_survives_useless_estimates() -> None:
    truth = np.array([0.02, 0.01])
    assert l1(np.array([0.04, 0.02]), truth) == pytest.approx(0)
    assert l1(np.array([-0.04, 0.02]), truth) == pytest.approx(1)


def test_truth_is_a_random_record_of_a_random_user() -> None:
    table = pa.table({"user": ["x", "x", "x", "y"], "query": ["a", "a", "b", "c"], "url": ["1", "1", "1", "1"]})
    log = log_of_table(table)
    head_list = HeadList.of_records([("a", "1"), ("c", "1")])
    head = true_head(head_list, log.locate(head_list), log.truth(), 2)
    assert head.cells == pytest.approx([1 / 3, 0, 1 / 2, 0, 1 / 6])
    assert head.queries == pytest.approx([1 / 3, 1 / 2, 1 / 6])


def test_one_level_lists_are_scored_by_their_queries() -> None:
    log = log_of_table(pa.table({"user": ["1", "2", "3", "4"], "query": ["a", "a", "b", "c"]}))
    head_list = HeadList.of_records([("a", None), ("b", None)], levels=1)
    head = true_head(head_list, log.locate(head_list), log.truth(), 2)
    scored = score(head_list, np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2]), head)
    assert scored.ndcg_list == pytest.approx(1)
    assert scored.ndcg == pytest.approx(1)


some_records = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("12345")), min_size=1, max_size=60)


def truth_of(records: list[tuple[str, str]]) -> Truth:
    """Of people who hold one of these each; ids in the order of their texts, as in a log."""
    distinct = sorted(set(records))
    shares = np.array([records.count(record) / len(records) for record in distinct])
    query_id = np.unique([query for query, _ in distinct], return_inverse=True)[1].astype(np.int64)
    return Truth(shares, query_id, np.bincount(query_id, shares).astype(np.float64))


def test_that_truth_is_a_log_s() -> None:
    mine, theirs = truth_of(ROWS), the_log().truth()
    assert mine.record == pytest.approx(theirs.record)
    assert mine.query_id.tolist() == theirs.query_id.tolist()
    assert mine.query == pytest.approx(theirs.query)


@given(records=some_records, size=st.integers(1, 8), seed=st.integers(0, 99), unit=st.sampled_from(["record", "query"]))
def test_no_list_scores_above_one_and_the_true_head_scores_one(
    records: list[tuple[str, str]], size: int, seed: int, unit: str
) -> None:
    distinct, truth = sorted(set(records)), truth_of(records)

    def of(ids: NDArray[np.int64], generator: np.random.Generator | None = None) -> Scores:
        head_list = HeadList.of_records([distinct[i] for i in ids])
        located = np.array([*(head_list.cell_of(*record) for record in distinct), head_list.cells - 1])
        head = true_head(head_list, located, truth, size, unit)
        if generator is None:
            return score(head_list, head.cells, head.queries, head)
        return score(head_list, generator.random(head_list.cells), generator.random(head_list.queries + 1), head)

    generator = np.random.default_rng(seed)
    some = np.flatnonzero(generator.random(len(distinct)) < 0.5)
    scored = of(some if len(some) else np.array([0]), generator)
    for value in (
        scored.precision,
        scored.recall,
        scored.ndcg,
        scored.ndcg_list,
        scored.ndcg_random,
        scored.ndcg_list_random,
    ):
        assert 0 <= value <= 1 + 1e-12
    if unit == "record":
        perfect = of(truth.head(size))
        assert (perfect.precision, perfect.recall) == (1, 1)
        assert perfect.ndcg == pytest.approx(1)
        assert perfect.top_error == pytest.approx(0, abs=1e-12)
