"""The two measures of the paper's section 5.1: L1 of query probabilities, and the NDCG of NDCGs.

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

from blendp.arrays import Array, falling_order
from blendp.engines import Truth
from blendp.headlist import HeadList


@dataclass(frozen=True)
class Scores:
    """How close one set of estimates is to the truth."""

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
class TrueHead:
    """The truth about one list: of its cells and queries, and of the head it should have found."""

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
    head_list: HeadList, located: NDArray[np.int64], truth: Truth, size: int, unit: str = "record"
) -> TrueHead:
    """Compare a list with the true head of the log that ``located`` maps to the list's cells.

    The head is the ``size`` most frequent records; with ``unit`` "query", the most frequent queries, each with as many
    of its most frequent URLs as the list has for it.
    """
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
    return TrueHead(cells, queries, worth, np.sort(truth.query[head_ids])[::-1], tuple(ideal_urls))


def score(head_list: HeadList, cells: Array, queries: Array, head: TrueHead) -> Scores:
    """The scores of any estimates of the list's cells and queries; what is nan ranks last. An empty list has found
    nothing: its L1 is that of estimates of 0, and its other scores are 0.
    """
    if not head_list.queries:
        return Scores(1.0, 0.0, 0.0, 0.0, 0.0)
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
    return Scores(l1(queries[:-1], true_q), ndcg, ndcg_list, ndcg_random, ndcg_list_random)


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
