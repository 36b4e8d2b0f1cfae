"""How many of the clients should report the query, and how many the record."""

from __future__ import annotations

import numpy as np

from blendp.estimate import Posterior, reconcile
from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection

SHARES = tuple(round(0.05 * i, 2) for i in range(20))
"""The shares that are compared."""


def best_query_share(
    posterior: Posterior, queries: SubsetSelection, cells: SubsetSelection, head_list: HeadList, clients: int
) -> float:
    """The share of clients reporting queries for which the predicted errors are smallest.

        minimise  sum over queries of sd(query)  +  sum over records of sd(record)

    where:
        sd  is the standard error that the blend will have, from the opt-in group's posterior and the clients' numbers.

    It depends on released counts alone. In a one-level list queries are the records, and 0 is as good as anything.
    """
    if head_list.levels == 1 or not head_list.records or clients < 2:
        return 0.0
    return min(SHARES, key=lambda share: predicted_error(share, posterior, queries, cells, head_list, clients))


def predicted_error(
    share: float,
    posterior: Posterior,
    queries: SubsetSelection,
    cells: SubsetSelection,
    head_list: HeadList,
    clients: int,
) -> float:
    """The sum of the standard errors of all listed queries and records, if this share reports the query."""
    rows = head_list.query_of_cell[:-1]
    expected = posterior.mean
    total = np.bincount(rows, weights=expected).astype(np.float64)
    asked = round(share * clients)
    v = cells.variance(np.clip(expected, 0.0, 1.0), max(clients - asked, 1))
    v_y = queries.variance(np.clip(total, 0.0, 1.0), asked) if asked else np.full(len(total), np.inf)
    both = posterior.variance * v / (posterior.variance + v)
    _, variance, _, query_variance = reconcile(expected, both, total, v_y, rows)
    return float(np.sqrt(query_variance).sum() + np.sqrt(variance[head_list.record_cells]).sum())
