"""How many of the clients should report the query, and how many the record."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blendp.errors import require_choice
from blendp.estimate import Posterior, reconcile
from blendp.headlist import HeadList
from blendp.mechanisms import FrequencyOracle
from blendp.mechanisms.wildcard_apart import MIN_EPSILON
from blendp.reports import frequency_oracles

SHARES = tuple(round(0.05 * i, 2) for i in range(17))
"""The shares that are compared: a fifth of the clients at least report the record.

Nothing makes a client answer the question that its coin says. Liars who all report the record are 20 times their share
of all clients among those who do, if a twentieth does: their reach grows more than the errors shrink.
"""

CLIENTS_PER_OPT_IN = 20
"""How many clients are taken to come for every opt-in person when it is chosen how they report."""

WORTHWHILE = 0.99
"""Longer reports, or a question that fewer clients answer, must make the errors smaller by this factor."""

MISFIT = 1e-4
"""How often chance alone may let it seem that clients have chosen their question."""

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
    """The share of clients reporting queries for which the predicted errors are smallest, up to 1 %.

        sum over queries of sd(query)  +  sum over records of sd(record)

    where:
        sd        is the standard error that the blend will have, from the opt-in group's posterior and the clients'
                  numbers,
        sharpest  says which of the two sums counts: ``both``, or only that of ``queries`` or of ``records``.

    Of the shares with which neither sum is more than 1 % above that at the least, it is the one nearest to 1/2: the
    smaller part of the clients is what liars join who choose their question.

    With ``no_worse_than``, and both sums, shares are left out with which either sum is larger than with those oracles
    at their best share, unless all are. It depends on released counts alone. In a one-level list queries are the
    records, and 0 is as good as anything.
    """
    if head_list.levels == 1 or not head_list.records or clients < 2:
        return 0.0

    errors = np.array(predicted_errors(SHARES, posterior, queries, cells, head_list, clients))
    if no_worse_than is not None and sharpest == "both":
        known = best_query_share(posterior, *no_worse_than, head_list, clients)
        most = np.array(predicted_errors([known], posterior, *no_worse_than, head_list, clients))
        return SHARES[sturdiest(errors, most)]
    return SHARES[sturdiest(errors[_counted(sharpest)])]


def sturdiest(errors: NDArray[np.float64], max_errors: NDArray[np.float64] | None = None) -> NDArray[np.intp]:
    """Which of :data:`SHARES` to take; ``errors`` has a row of them for each sum that counts, and may have draws too.

    The least is best, where sums are added. Of those with which no sum is more than 1 % above that of the best
    (:data:`WORTHWHILE`), it is the one nearest to 1/2. Shares with a sum above ``max_errors`` are left out,
    unless all are.
    """
    total = errors.sum(axis=0)
    able = np.ones(total.shape, dtype=bool)
    if max_errors is not None:
        within = np.all(errors <= max_errors, axis=0)
        able = within | ~np.any(within, axis=0)
    best = np.expand_dims(np.where(able, total, np.inf).argmin(axis=0), (0, 1))
    good = able & np.all(WORTHWHILE * errors <= np.take_along_axis(errors, best, axis=1), axis=0)
    away = np.abs(np.subtract(SHARES, 0.5)).reshape(-1, *np.ones(total.ndim - 1, dtype=int))
    return np.asarray(np.where(good, away, np.inf).argmin(axis=0))


def fits(share: float, of_query: int, clients: int) -> bool:
    """Whether so many of the clients can have been asked for the query by coins of this share.

        P(as far from n f, on this side)  <=  exp(-n [a ln(a/f) + (1 - a) ln((1 - a)/(1 - f))])

    where:
        f, a  are the share that was said and the one that came, of n clients (Chernoff's bound).

    False at most once in 10,000 releases (:data:`MISFIT`) if all clients follow their coin.
    """
    if not clients:
        return True
    came = of_query / clients
    distance = 0.0
    for one, other in ((came, share), (1 - came, 1 - share)):
        if one > 0:
            distance += one * math.log(one / other) if other > 0 else math.inf
    return clients * distance <= math.log(2 / MISFIT)


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
    errors = predicted_errors([share], posterior, queries, cells, head_list, clients)
    return float(sum(errors[row][0] for row in _counted(sharpest)))


def _counted(sharpest: str) -> list[int]:
    """Which of the sums count: that of queries, that of records."""
    require_choice("sharpest", sharpest, SHARPEST)
    return [row for row, name in enumerate(("queries", "records")) if sharpest in (name, "both")]


def predicted_errors(
    shares: Sequence[float],
    posterior: Posterior,
    queries: FrequencyOracle,
    cells: FrequencyOracle,
    head_list: HeadList,
    clients: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of the standard errors of all listed queries, and of all listed records, for each of these shares."""
    rows = head_list.query_of_cell[:-1]
    expected = posterior.mean
    total = np.bincount(rows, weights=expected).astype(np.float64)
    rest = float(np.clip(1 - expected.sum(), 0.0, 1.0))
    asked = np.rint(np.multiply(shares, clients))[:, None]
    v = cells.variance(np.clip(expected, 0.0, 1.0), 1, rest) / np.maximum(clients - asked, 1)
    v_y = np.where(asked > 0, queries.variance(np.clip(total, 0.0, 1.0), 1, rest) / np.maximum(asked, 1), np.inf)
    both = posterior.variance * v / (posterior.variance + v)
    _, variance, _, query_variance = reconcile(expected, both, total, v_y, rows)
    return np.sqrt(query_variance).sum(axis=-1), np.sqrt(variance[:, head_list.record_cells]).sum(axis=-1)
