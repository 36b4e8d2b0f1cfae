"""L1 and the NDCG of NDCGs, against small cases worked by hand and slow definitions."""

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


def test_a_query_without_any_url_has_found_no_record_of_the_head() -> None:
    """Its place among the queries counts, and L1 knows it; among the head's records it is worth nothing."""
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("b", None), ("c", "1")])
    scored = scores(head_list, [8, 4, 0, 6, 5, 0, 1], [12, 6, 5, 1], size=4)
    ideal = dcg([gain(12 / 23), gain(6 / 23), gain(5 / 23)])
    assert scored.ndcg == pytest.approx(dcg([gain(12 / 23), 0, gain(5 / 23)]) / ideal)
    assert scored.ndcg_list == pytest.approx(1)  # it has no URLs that could be in a wrong order
    assert scored.l1 == pytest.approx(0)
    head = true_head(head_list, the_log().locate(head_list), the_log().truth(), 3, "query")
    by_query = score(head_list, np.array([8, 4, 0, 6, 5, 0, 1.0]), np.array([12, 6, 5, 1.0]), head)
    assert by_query.ndcg == pytest.approx(1)  # a head of queries has as many URLs of each as the list


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
    assert scores(HeadList.of_records([]), [1.0], [1.0], size=4) == Scores(1.0, 0.0, 0.0, 0.0, 0.0)


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


@given(
    records=some_records,
    size=st.integers(1, 8),
    seed=st.integers(0, 99),
    unit=st.sampled_from(["record", "query"]),
    bare=st.sampled_from(["", "a", "bc"]),
)
def test_no_list_scores_above_one_and_the_true_head_scores_one(
    records: list[tuple[str, str]], size: int, seed: int, unit: str, bare: str
) -> None:
    """Also where some queries are listed without any URL."""
    distinct, truth = sorted(set(records)), truth_of(records)

    def of(ids: NDArray[np.int64], generator: np.random.Generator | None = None) -> Scores:
        without_url = bare if generator is not None else ""
        head_list = HeadList.of_records(
            [(q, None if q in without_url else url) for q, url in map(distinct.__getitem__, ids)]
        )
        located = np.array([*(head_list.cell_of(*record) for record in distinct), head_list.cells - 1])
        head = true_head(head_list, located, truth, size, unit)
        if generator is None:
            return score(head_list, head.cells, head.queries, head)
        return score(head_list, generator.random(head_list.cells), generator.random(head_list.queries + 1), head)

    generator = np.random.default_rng(seed)
    some = np.flatnonzero(generator.random(len(distinct)) < 0.5)
    scored = of(some if len(some) else np.array([0]), generator)
    for value in (scored.ndcg, scored.ndcg_list, scored.ndcg_random, scored.ndcg_list_random):
        assert 0 <= value <= 1 + 1e-12
    if unit == "record":
        assert of(truth.head(size)).ndcg == pytest.approx(1)
