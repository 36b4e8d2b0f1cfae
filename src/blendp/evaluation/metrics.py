"""How close a result is to the truth: the error on the true top M first, then the two measures of the paper.

    top error = sum over the true top M of |p_hat - p| / sum over the true top M of p,    p_hat = 0 for what is missing
    precision = share of the M largest published items that are in the true top M
    recall    = share of the true top M that is published

where:
    M    is how many items were asked for (50 where all are kept), or all that the log has,
    items are records, or queries where the list is cut by queries; p is the true probability of an item.

0 is a perfect error, and 1 what nobody needs data for: an empty list. M does not depend on the list, so no list looks
better because it is short. What is equally frequent as the last of the top is in it if it is listed. A query that is
listed without any URL names none of its records; it is a right item where it is as frequent as the last of the top.

The paper's section 5.1 has the L1 of the listed queries' probabilities, and the NDCG of NDCGs:

    DCG_k   = sum_{i <= k} (2^rel_i - 1)/log2(i + 1),     NDCG = DCG_k of the estimated order / DCG_k of the ideal order
    DCG^Q_k = sum_{i <= k} (2^rel_i - 1)/log2(i + 1) NDCG^i

where:
    rel_i   is the true probability of the item at place i, rescaled so that the ideal items' sum to 1,
    NDCG^i  is the NDCG of the URLs of the query at place i.

Wildcards are left out before rescaling. A query that is listed without any URL has named none of the head's records:
its NDCG^i is 0 (in a head of queries 1, as such a head has no more URLs of it than the list).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, Bools, Ids, falling_order
from blendp.engines.truth import Truth, comparable
from blendp.headlist import HeadList
from blendp.methods.objectives import TOP


@dataclass(frozen=True)
class Scores:
    """How close one set of estimates is to the truth."""

    top_error: float
    """What is wrong of the true top M's mass, missing items included: 0 is perfect, 1 an empty list."""

    precision: float
    """The share of the M largest published items that are in the true top M; 0 for an empty list."""

    recall: float
    """The share of the true top M that is published."""

    l1: float
    """L1 over the listed queries, both vectors rescaled to sum to 1: 0 is perfect, 2 the worst."""

    ndcg: float
    """Against the true head of the whole log: a missing record costs."""

    ndcg_list: float
    """Against the best order of the list itself."""

    ndcg_random: float
    """What ``ndcg`` is on average for the same list in random order."""

    ndcg_list_random: float
    """What ``ndcg_list`` is on average for the list in random order."""


@dataclass(frozen=True, eq=False)
class TrueTop:
    """The true top M, and which of the listed items are in it.

    where:
        by_query  is whether the items are queries; else they are the list's records,
        named     tells of every listed item whether it is in the true top M,
        right     tells the same, and of a query without any URL whether it is as frequent,
        size      is M, mass the sum of the probabilities of the true top M.
    """

    by_query: bool
    named: Bools
    right: Bools
    size: int
    mass: float


@dataclass(frozen=True, eq=False)
class TrueHead:
    """The truth about one list: of its cells and queries, and of the head it should have found."""

    top: TrueTop

    cells: Array
    queries: Array

    worth: Array
    """What finding each listed query is worth: its true probability if it is in the true head, else that of its most
    probable listed record. So nothing from outside the head is worth more than what is in it.
    """

    ideal_queries: Array
    """The true probabilities of the head's queries, falling."""

    ideal_urls: tuple[Array, ...]
    """For every listed query the true probabilities of its URLs in the head, or of its best one, falling; none where
    there is nothing to order: in a log without URLs, and where a head of queries has no URL of it.
    """


def true_head(
    head_list: HeadList, located: NDArray[np.int64], truth: Truth, size: int | None, unit: str = "record"
) -> TrueHead:
    """Compare a list with the true head of the log that ``located`` maps to the list's cells.

    The head is the ``size`` most frequent records; with ``unit`` "query", the most frequent queries, each with as many
    of its most frequent URLs as the list has for it. Without a size it is as long as the list, but the top is not.
    """
    top = _true_top(head_list, located, truth, TOP if size is None else size, unit == "query")
    if size is None:
        size = max(1, head_list.queries if unit == "query" else head_list.records)
    cell_of, records = located[:-1], truth.record
    cells = np.bincount(cell_of, weights=records, minlength=head_list.cells).astype(np.float64)
    cells[-1] += 1 - records.sum()
    queries = np.bincount(head_list.query_of_cell, weights=cells).astype(np.float64)
    rows = head_list.query_of_cell[cell_of]
    if unit == "record":
        in_head = np.zeros(len(records), dtype=bool)
        in_head[truth.head(size)] = True
        head_ids = np.unique(truth.query_id[in_head])
    else:
        head_ids = falling_order(truth.query)[:size]
        in_head = np.isin(truth.query_id, head_ids)
    listed = np.flatnonzero(rows < head_list.queries)
    listed = listed[np.argsort(rows[listed], kind="stable")]
    edges = np.searchsorted(rows[listed], np.arange(head_list.queries + 1))
    worth, ideal_urls = queries[:-1].copy(), []
    for row, (start, stop) in enumerate(pairwise(edges)):
        own = listed[start:stop]
        first, wanted = head_list.first_cell[row], len(head_list.entries[row].urls)
        if unit == "record":
            in_both = int(np.count_nonzero(in_head[own]))
            if not in_both:
                worth[row] = cells[first : first + max(1, wanted)].max()
            wanted = max(1, in_both)
        ideal_urls.append(np.sort(records[own])[::-1][: wanted if head_list.levels == 2 else 0])
    return TrueHead(top, cells, queries, worth, np.sort(truth.query[head_ids])[::-1], tuple(ideal_urls))


def _true_top(head_list: HeadList, located: Ids, truth: Truth, size: int, by_query: bool) -> TrueTop:
    """The ``size`` most frequent records or queries, and which of the list's they are."""
    if by_query:
        p, item = comparable(truth.query), np.zeros(len(truth.query), dtype=np.int64)
        item[truth.query_id] = head_list.query_of_cell[located[:-1]]
        items, bare = np.arange(head_list.queries), np.zeros(head_list.queries, dtype=bool)
    else:
        p, item = comparable(truth.record), located[:-1]
        items, bare = head_list.record_cells, np.isin(head_list.record_cells, head_list.bare_cells)
    size = min(size, len(p))
    last = np.partition(p, -size)[-size] if size else 1.0
    top = np.flatnonzero(p >= last)
    is_listed = np.isin(item[top], items[~bare])
    first = np.lexsort((~is_listed, -p[top]))[:size]
    named = np.isin(items, item[top[first]][is_listed[first]])
    masses = np.bincount(located[:-1], weights=truth.record, minlength=head_list.cells).astype(np.float64)
    right = named | (bare & (comparable(masses)[items] >= last))
    return TrueTop(by_query, named, right, size, float(p[top[first]].sum()))


def score(head_list: HeadList, cells: Array, queries: Array, head: TrueHead) -> Scores:
    """The scores of any estimates of the list's cells and queries; what is nan ranks last and counts as 0. An empty
    list has found nothing: its errors are those of estimates of 0, and its other scores are 0.
    """
    if not head_list.queries:
        return Scores(1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    ranks = falling_order(queries[:-1])
    per_query = []
    for row in range(head_list.queries):
        start, urls = int(head_list.first_cell[row]), len(head_list.entries[row].urls)
        true = head.cells[start : start + urls]
        order = falling_order(cells[start : start + urls])
        per_query.append((*_ndcg(true[order], head.ideal_urls[row]), *_ndcg(true[order], np.sort(true)[::-1])))
    ndcg_q, random_q, ndcg_list_q, random_list_q = (np.array(column) for column in zip(*per_query, strict=True))
    true_q = head.queries[:-1]
    best_q = np.sort(true_q)[::-1]
    ndcg, _ = _ndcg(head.worth[ranks], head.ideal_queries, ndcg_q[ranks])
    ndcg_list, _ = _ndcg(true_q[ranks], best_q, ndcg_list_q[ranks])
    _, ndcg_random = _ndcg(head.worth, head.ideal_queries, random_q)
    _, ndcg_list_random = _ndcg(true_q, best_q, random_list_q)
    first = _top_scores(head_list, cells, queries, head)
    return Scores(*first, l1(queries[:-1], true_q), ndcg, ndcg_list, ndcg_random, ndcg_list_random)


def _top_scores(head_list: HeadList, cells: Array, queries: Array, head: TrueHead) -> tuple[float, float, float]:
    """The top error, precision and recall."""
    top, records = head.top, head_list.record_cells
    estimates, true = (queries[:-1], head.queries[:-1]) if top.by_query else (cells[records], head.cells[records])
    largest = falling_order(estimates)[: top.size]
    wrong = np.abs(np.nan_to_num(estimates) - true)[top.named].sum() + top.mass - true[top.named].sum()
    if not top.size:
        return 1.0, 0.0, 0.0
    return float(wrong / top.mass), float(top.right[largest].mean()), np.count_nonzero(top.named) / top.size


def l1(estimates: Array, truth: Array) -> float:
    """sum |p_i/sum p - t_i/sum t|; estimates whose sum is not above 0 count as all 0."""
    total = float(np.nansum(estimates))
    scaled = np.nan_to_num(estimates) / total if total > 0 else np.zeros_like(truth)
    return float(np.abs(scaled - truth / truth.sum()).sum())


def _ndcg(true: Array, ideal: Array, quality: Array | float = 1.0) -> tuple[float, float]:
    """The NDCG of items with these true probabilities in this order, and its mean over all orders.

    ``quality`` multiplies each item's gain (the NDCG of its URLs). Where nothing is wanted any items score 1, and no
    items 0 where something is.
    """
    total = ideal.sum()
    if total <= 0:
        return 1.0, 1.0
    if not len(true):
        return 0.0, 0.0
    discounts = 1 / np.log2(np.arange(2, len(ideal) + 2))
    best = float(((np.exp2(ideal / total) - 1) * discounts).sum())
    gains = (np.exp2(true / total) - 1) * quality
    places = min(len(true), len(ideal))
    reached = float((gains[:places] * discounts[:places]).sum())
    return reached / best, float(gains.mean() * discounts[:places].sum()) / best
