"""The measures of :mod:`blendp.evaluation.metrics`, for many lists at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, Ids, ranks_in_groups
from blendp.evaluation.metrics import Scores
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.lists import RECORD, Lists
from blendp.methods.objectives import TOP


@dataclass(frozen=True, eq=False)
class _Ideal:
    """What the best order of every group is made of: the sum of its probabilities, its DCG, its length."""

    total: Array
    best: Array
    length: Ids

    def repeated(self, times: int) -> _Ideal:
        """The same for so many groups."""
        return _Ideal(np.repeat(self.total, times), np.repeat(self.best, times), np.repeat(self.length, times))


def mean_scores(lists: Lists, law: HeadLaw, cells: Array, queries: Array, size: int | None) -> Scores:
    """The mean scores over all draws of estimates of every cell and of every row."""
    records = lists.kind == RECORD
    rows = np.flatnonzero(~lists.rest_row)
    draw, true = lists.row_draw[rows], lists.row_true[rows]
    among = np.cumsum(~lists.rest_row) - 1
    urls, bare = records & ~lists.bare, lists.bare
    group, url, estimate = among[lists.row[urls]], lists.true[urls], cells[urls]
    head = max(1, size if size is not None else round(float(lists.records.mean())))
    in_head, ideal_urls, ideal_queries = _true_head(law, head, lists.row_query[rows], group, url)

    best_url = np.zeros(len(rows))
    np.maximum.at(best_url, group, url)
    best_url[among[lists.row[bare]]] = lists.true[bare]
    worth = np.where(in_head, true, best_url)
    own_urls, own_queries = _own_ideal(url, group, len(rows)), _own_ideal(true, draw, lists.draws)
    of_all = ideal_queries.repeated(lists.draws)

    one = np.ones(len(url))
    ndcg_q, random_q = _ndcg(url, estimate, group, ideal_urls, one)
    ndcg_q[among[lists.row[bare]]] = random_q[among[lists.row[bare]]] = 0.0  # it has found no record
    ndcg_list_q, random_list_q = _ndcg(url, estimate, group, own_urls, one)
    asked = queries[rows]
    ndcg, _ = _ndcg(worth, asked, draw, of_all, ndcg_q)
    ndcg_list, _ = _ndcg(true, asked, draw, own_queries, ndcg_list_q)
    _, ndcg_random = _ndcg(worth, asked, draw, of_all, random_q)
    _, ndcg_list_random = _ndcg(true, asked, draw, own_queries, random_list_q)
    empty = lists.queries == 0
    means = (np.where(empty, 0.0, value).mean() for value in (ndcg, ndcg_list, ndcg_random, ndcg_list_random))
    l1 = np.where(empty, 1.0, _l1(asked, true, draw, lists.draws))
    top = _top_scores(lists, law, cells, TOP if size is None else size)
    return Scores(*top, float(l1.mean()), *(float(value) for value in means))


def _top_scores(lists: Lists, law: HeadLaw, cells: Array, size: int) -> tuple[float, float, float]:
    """The mean error on the true top of so many records, the mean precision and the mean recall."""
    records = np.flatnonzero(lists.kind == RECORD)
    draw, true, estimate = lists.draw[records], lists.true[records], cells[records]
    size = min(size, len(law.probability))
    named = (lists.record[records] >= 0) & (lists.record[records] < size)
    mass = float(law.probability[:size].sum())
    gained = float((true - np.abs(estimate - true))[named].sum()) / lists.draws
    order, rank = ranks_in_groups(estimate, draw)
    largest = order[rank < size]
    published = np.maximum(np.bincount(draw[largest], minlength=lists.draws), 1)
    fine = named | (lists.bare[records] & (true >= law.probability[size - 1]))
    right = np.bincount(draw[largest], weights=fine[largest], minlength=lists.draws)
    recall = np.count_nonzero(named) / (size * lists.draws)
    return 1 - gained / mass, float((right / published).mean()), recall


def _true_head(law: HeadLaw, size: int, query: Ids, group: Ids, url: Array) -> tuple[NDArray[np.bool_], _Ideal, _Ideal]:
    """Which rows belong to queries of the true head, the ideal of each row's URLs, and that of all queries."""
    heads = law.query[:size]
    wanted = np.bincount(heads, minlength=len(law.query_mass))
    known = query >= 0
    in_head = known & (wanted[np.maximum(query, 0)] > 0)
    # the records of a query, most probable first: those in the head, or else the best one alone
    order = np.argsort(law.query, kind="stable")
    first = np.searchsorted(law.query[order], np.arange(len(wanted)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - first[law.query[order]]
    ideal = rank < np.maximum(wanted, 1)[law.query]
    of_law = _ideal(law.probability[ideal], law.query[ideal], rank[ideal], len(wanted))
    # a rare record is a query of its own, whose only URL is its best
    alone = np.zeros(len(query))
    np.maximum.at(alone, group, url)
    at = np.maximum(query, 0)
    urls = _Ideal(
        np.where(known, of_law.total[at], alone),
        np.where(known, of_law.best[at], 1.0),
        np.where(known, of_law.length[at], 1),
    )
    masses = np.sort(law.query_mass[np.unique(heads)])[::-1]
    of_all = _ideal(masses, np.zeros(len(masses), dtype=np.int64), np.arange(len(masses)), 1)
    return in_head, urls, of_all


def _own_ideal(true: Array, group: Ids, groups: int) -> _Ideal:
    """The best order of every group itself."""
    order, rank = ranks_in_groups(true, group)
    return _ideal(true[order], group[order], rank, groups)


def _ideal(true: Array, group: Ids, rank: Ids, groups: int) -> _Ideal:
    total = np.bincount(group, weights=true, minlength=groups).astype(np.float64)
    gains = (np.exp2(true / total[group]) - 1) / np.log2(rank + 2)
    best = np.bincount(group, weights=gains, minlength=groups).astype(np.float64)
    return _Ideal(total, best, np.bincount(group, minlength=groups))


def _ndcg(true: Array, estimate: Array, group: Ids, ideal: _Ideal, quality: Array) -> tuple[Array, Array]:
    """The NDCG of every group in the order of the estimates, and its mean over all orders; 1 for an empty group."""
    groups = len(ideal.total)
    order, rank = ranks_in_groups(estimate, group)
    gains = (np.exp2(true / ideal.total[group]) - 1) * quality
    counts = np.where(rank < ideal.length[group[order]], 1 / np.log2(rank + 2), 0.0)
    many = np.bincount(group, minlength=groups)
    reached = np.bincount(group[order], weights=gains[order] * counts, minlength=groups)
    random = np.bincount(group, weights=gains, minlength=groups) / np.maximum(many, 1)
    random *= np.bincount(group[order], weights=counts, minlength=groups)
    best = np.where(many > 0, ideal.best, 1.0)
    return np.where(many > 0, reached, 1.0) / best, np.where(many > 0, random, 1.0) / best


def _l1(estimate: Array, true: Array, draw: Ids, draws: int) -> Array:
    """L1 of every draw, both vectors rescaled to sum to 1; estimates whose sum is not above 0 count as all 0."""
    sums, truths = (np.bincount(draw, weights=values, minlength=draws) for values in (estimate, true))
    useful = sums > 0
    scaled = np.where(useful[draw], estimate / np.where(useful, sums, 1.0)[draw], 0.0)
    return np.bincount(draw, weights=np.abs(scaled - true / truths[draw]), minlength=draws).astype(np.float64)
