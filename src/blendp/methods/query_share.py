"""How many of the clients should report the query, and how many the record."""

from __future__ import annotations

import numpy as np

from blendp.errors import require_choice
from blendp.estimate import Posterior, reconcile
from blendp.headlist import HeadList
from blendp.mechanisms import FrequencyOracle
from blendp.mechanisms.wildcard_apart import MIN_EPSILON
from blendp.reports import frequency_oracles

SHARES = tuple(round(0.05 * i, 2) for i in range(20))
"""The shares that are compared."""

CLIENTS_PER_OPT_IN = 20
"""How many clients are taken to come for every opt-in person when it is chosen how they report."""

WORTHWHILE = 0.99
"""Longer reports must make the errors smaller by this factor."""

SHARPEST = ("both", "queries", "records")
"""Whose errors count when the share is chosen."""


Oracles = tuple[FrequencyOracle, FrequencyOracle]
"""How clients report the queries of a list, and its cells."""


def best_query_share(
    posterior: Posterior,
    queries: FrequencyOracle,
    cells: FrequencyOracle,
    head_list: HeadList,
    clients: int,
    sharpest: str = "both",
    no_worse_than: Oracles | None = None,
) -> float:
    """The share of clients reporting queries for which the predicted errors are smallest.

        minimise  sum over queries of sd(query)  +  sum over records of sd(record)

    where:
        sd        is the standard error that the blend will have, from the opt-in group's posterior and the clients'
                  numbers,
        sharpest  says which of the two sums counts: ``both``, or only that of ``queries`` or of ``records``.

    With ``no_worse_than``, and both sums, shares are left out with which either sum is larger than with those oracles
    at their best share, unless all are. It depends on released counts alone. In a one-level list queries are the
    records, and 0 is as good as anything.
    """
    if head_list.levels == 1 or not head_list.records or clients < 2:
        return 0.0

    def errors(share: float) -> tuple[float, float]:
        return predicted_errors(share, posterior, queries, cells, head_list, clients)

    able = SHARES
    if no_worse_than is not None and sharpest == "both":
        known = best_query_share(posterior, *no_worse_than, head_list, clients)
        limits = predicted_errors(known, posterior, *no_worse_than, head_list, clients)
        able = tuple(share for share in SHARES if all(np.less_equal(errors(share), limits))) or SHARES
    return min(able, key=lambda share: _weighed(errors(share), sharpest))


def best_oracle(posterior: Posterior, epsilon: float, head_list: HeadList, sharpest: str = "both") -> str:
    """How clients had best report about a list: with the wildcard apart where that makes the predicted errors at least
    1 % smaller, else by subset selection, whose reports are shorter.

    It is as if :data:`CLIENTS_PER_OPT_IN` clients came for every opt-in person, so it depends on released counts alone.
    """
    if not head_list.records or epsilon < MIN_EPSILON:
        return "split"
    clients = CLIENTS_PER_OPT_IN * posterior.users
    split, apart = (frequency_oracles(oracle, epsilon, head_list) for oracle in ("split", "apart"))
    errors = [
        predicted_error(share, posterior, *oracles, head_list, clients, sharpest)
        for oracles, share in (
            (split, best_query_share(posterior, *split, head_list, clients, sharpest)),
            (apart, best_query_share(posterior, *apart, head_list, clients, sharpest, no_worse_than=split)),
        )
    ]
    return "apart" if errors[1] < WORTHWHILE * errors[0] else "split"


def predicted_error(
    share: float,
    posterior: Posterior,
    queries: FrequencyOracle,
    cells: FrequencyOracle,
    head_list: HeadList,
    clients: int,
    sharpest: str = "both",
) -> float:
    """The sum of the standard errors of all listed queries and records, if this share reports the query; or of one."""
    return _weighed(predicted_errors(share, posterior, queries, cells, head_list, clients), sharpest)


def _weighed(errors: tuple[float, float], sharpest: str) -> float:
    require_choice("sharpest", sharpest, SHARPEST)
    of_queries, of_records = errors
    return (sharpest != "records") * of_queries + (sharpest != "queries") * of_records


def predicted_errors(
    share: float,
    posterior: Posterior,
    queries: FrequencyOracle,
    cells: FrequencyOracle,
    head_list: HeadList,
    clients: int,
) -> tuple[float, float]:
    """The sums of the standard errors of all listed queries, and of all listed records."""
    rows = head_list.query_of_cell[:-1]
    expected = posterior.mean
    total = np.bincount(rows, weights=expected).astype(np.float64)
    asked = round(share * clients)
    rest = float(np.clip(1 - expected.sum(), 0.0, 1.0))
    v = cells.variance(np.clip(expected, 0.0, 1.0), max(clients - asked, 1), rest)
    v_y = queries.variance(np.clip(total, 0.0, 1.0), asked, rest) if asked else np.full(len(total), np.inf)
    both = posterior.variance * v / (posterior.variance + v)
    _, variance, _, query_variance = reconcile(expected, both, total, v_y, rows)
    return float(np.sqrt(query_variance).sum()), float(np.sqrt(variance[head_list.record_cells]).sum())
