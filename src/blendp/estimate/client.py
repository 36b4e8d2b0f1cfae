"""Probabilities from the clients' reports (figure 5, observation 4.4, theorem 4.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import require_choice
from blendp.estimate.group import GroupEstimate, Level, nothing
from blendp.estimate.names import VARIANCES
from blendp.estimate.tally import Tally
from blendp.mechanisms import TwoStage


@dataclass(frozen=True, eq=False)
class _Moments:
    """The variances of the mean shares r_qu and r_q of reports, and their covariances."""

    cell: Array
    query: Array
    covariance: Array


def client_estimate(tally: Tally, randomiser: TwoStage, variance: str = "mended") -> GroupEstimate:
    """The clients' estimate of every cell and query, from the tally of their reports.

        p_q  = (r_q - a)/(t - a),                          a = (1 - t)/(k - 1)
        p_qu = (r_qu + A p_q - a/k_q)/D,                   D = t (t_q - (1 - t_q)/(k_q - 1))
        A    = a/k_q - t (1 - t_q)/(k_q - 1)

        Var(p_q)  = Var(r_q)/(t - a)^2
        Var(p_qu) = [Var(r_qu) + A^2 Var(p_q) + 2 A Cov(r_qu, r_q)/(t - a)]/D^2

    where:
        r_q, r_qu  are the shares of reports that name query q, cell <q,u>,
        t, t_q, k, k_q  are as in :class:`~blendp.mechanisms.TwoStage`.

    Both estimates are unbiased, and sum_u p_qu = p_q holds exactly. The variances are sample variances over clients
    (with one report each, Var(r) = r(1-r)/(n-1) and Cov(r_qu, r_q) = r_qu(1-r_q)/(n-1)), so they are unbiased, never
    negative, and right for several correlated records of one client. Where k_q = 1, p_q* = p_q. With an empty list
    p_* = 1, exactly. With one client the variance is unknown (inf); with none nothing is said (nan).

    ``variance`` "journal" and "conference" take the formulas as printed, with n = the number of reports.
    """
    require_choice("variance", variance, VARIANCES)
    rows = randomiser.query_of_cell
    k, users, reports = len(randomiser.cells_per_query), tally.users, tally.users * tally.per_user
    if users == 0:
        return GroupEstimate(0, nothing(len(rows)), nothing(k))
    if k == 1:
        certain = Level(np.ones(1), np.zeros(1), np.zeros(1))
        return GroupEstimate(users, certain, certain)

    channel = _Channel(randomiser, rows)
    p_query = (tally.query - channel.a) / channel.contrast
    p_cell = (tally.cell + channel.A * p_query[rows] - channel.stranger) / channel.D
    p_cell = np.where(channel.alone, p_query[rows], p_cell)
    if users == 1:
        v_query, v_cell = np.full(k, np.inf), np.full(len(rows), np.inf)
    elif variance == "mended":
        v_query, v_cell = channel.variances(_moments(tally, rows), rows)
    else:
        v_query, v_cell = channel.printed(tally, rows, reports, variance)
    floor_query, floor_cell = channel.variances(_moments_of_nobody(channel, reports), rows)
    return GroupEstimate(users, Level(p_cell, v_cell, floor_cell), Level(p_query, v_query, floor_query))


class _Channel:
    """The constants of the formulas above, for every cell."""

    def __init__(self, randomiser: TwoStage, rows: NDArray[np.int64]) -> None:
        self.k = len(randomiser.cells_per_query)
        self.t = randomiser.query_truth
        self.a = (1 - self.t) / (self.k - 1)
        self.contrast = self.t - self.a
        k_q = randomiser.cells_per_query[rows].astype(np.float64)
        t_q = randomiser.url_truth[rows]
        self.alone = k_q == 1
        others = np.where(self.alone, 1, k_q - 1)
        self.stranger = self.a / k_q
        self.A = np.where(self.alone, 0.0, self.stranger - self.t * (1 - t_q) / others)
        self.D = np.where(self.alone, 1.0, self.t * (t_q - (1 - t_q) / others))

    def variances(self, moments: _Moments, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        """Var(p_q) and Var(p_qu)."""
        query = moments.query / self.contrast**2
        cell = moments.cell + self.A**2 * query[rows] + 2 * self.A * moments.covariance / self.contrast
        return query, np.where(self.alone, query[rows], np.maximum(cell, 0.0) / self.D**2)

    def printed(self, tally: Tally, rows: NDArray[np.int64], n: int, edition: str) -> tuple[Array, Array]:
        """Theorem 4.6 as printed, in the journal or in the conference version."""
        r, r_q = tally.cell, tally.query
        query = r_q * (1 - r_q) / (n - 1) / self.contrast**2
        if edition == "journal":
            covariance = r * (1 - r_q[rows]) / (n * self.contrast)
            inner = r * (1 - r) / n + self.A**2 * query[rows] + 2 * self.A * covariance
            cell = n / (n - 1) * inner
        else:
            covariance = (self.k - 2 + self.t) / (self.k * self.t - 1) * r
            cell = r * (1 - r) / (n - 1) + self.A**2 * query[rows] + 2 * n / (n - 1) * self.A * covariance
        return query, np.where(self.alone, query[rows], cell / self.D**2)


def _moments(tally: Tally, rows: NDArray[np.int64]) -> _Moments:
    """Sample variances over clients, divided by the number of clients."""
    r, r_q, spare = tally.cell, tally.query, tally.users - 1
    cell, query = tally.cell_square - r**2, tally.query_square - r_q**2
    return _Moments(cell / spare, query / spare, (tally.cross - r * r_q[rows]) / spare)


def _moments_of_nobody(channel: _Channel, reports: int) -> _Moments:
    """What the randomisation alone gives to items that nobody holds."""
    r, a = channel.stranger, channel.a
    return _Moments(r * (1 - r) / reports, np.full(channel.k, a * (1 - a) / reports), r * (1 - a) / reports)
