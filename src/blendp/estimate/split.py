"""Probabilities from clients of whom some report the query and the others the record, each with the full epsilon.

    x_j    every cell j, from the clients who report the record
    y      every query, from the clients who report the query

and a query is the sum of its cells, so the two are put together by least squares:

    x_j += (v_j/S) g (y - sum x),   g = S/(S + v_y),   S = sum v_j
    Var(x_j) = v_j (1 - (v_j/S) g),    Var(query) = S v_y/(S + v_y)

where:
    x_j, y    are the estimates of the :class:`~blendp.mechanisms.FrequencyOracle` by which clients report,
    v_j, v_y  are the variances of the two estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.estimate.group import GroupEstimate, Level, nothing
from blendp.headlist import HeadList
from blendp.mechanisms import FrequencyOracle
from blendp.reports import ReportSums


@dataclass(frozen=True, eq=False)
class Arm:
    """The reports of the clients who answer one of the two questions, added up."""

    randomiser: FrequencyOracle
    users: int
    supports: NDArray[np.int64]
    """How many of the reports contain each item."""

    def __post_init__(self) -> None:
        """Refuse supports of other items."""
        if self.supports.shape != (self.randomiser.items,):
            raise ParameterError(
                "supports", self.supports.shape, f"one number for each of {self.randomiser.items} items", "Count anew."
            )
        self.supports.setflags(write=False)

    @property
    def level(self) -> Level:
        """Unbiased estimates of every item, with their variances."""
        if not self.users:
            return nothing(self.randomiser.items)
        p = self.randomiser.estimate(self.supports, self.users)
        inside = np.clip(p, 0.0, 1.0)
        listed, rest = inside[:-1], inside[-1]
        oracle, users = self.randomiser, self.users
        variance = np.append(oracle.variance(listed, users, rest), oracle.rest_variance(rest, users))
        floor = np.append(oracle.variance(np.zeros_like(listed), users, rest), oracle.rest_variance(0.0, users))
        return Level(p, variance, floor)

    def rest_variance(self, expected: Array) -> float:
        """The variance of the estimate of the last item, if the others are as expected."""
        return float(self.randomiser.rest_variance(_rest(expected), self.users))

    def observe(self, expected: Array) -> tuple[Array, Array]:
        """Estimates of every item but the last, <*,*>, and their variances if the truth is as expected."""
        if not self.users:
            return np.zeros(len(expected)), np.full(len(expected), np.inf)
        variance = self.randomiser.variance(np.clip(expected, 0.0, 1.0), self.users, _rest(expected))
        return self.randomiser.estimate(self.supports, self.users)[:-1], variance

    def observe_rest(self, expected: Array) -> tuple[float, float]:
        """The same of <*,*>, if the others are as expected."""
        if not self.users:
            return 0.0, np.inf
        return float(self.randomiser.estimate(self.supports, self.users)[-1]), self.rest_variance(expected)


@dataclass(frozen=True, eq=False)
class Split:
    """Both arms: the clients who report queries, and those who report records (cells of the list)."""

    queries: Arm
    cells: Arm
    query_of_cell: NDArray[np.int64]

    @classmethod
    def of_sums(cls, sums: ReportSums, head_list: HeadList) -> Self:
        """The arms of the reports about this list that name sets, added up."""
        sums.require(head_list.sha256, sums.questions)
        return cls(_arm(sums, "query"), _arm(sums, "record"), head_list.query_of_cell)

    @property
    def users(self) -> int:
        """How many clients reported."""
        return self.queries.users + self.cells.users


def _rest(expected: Array) -> float:
    """The frequency of *, if the listed items are as expected."""
    return min(max(1.0 - float(expected.sum()), 0.0), 1.0)


def _arm(sums: ReportSums, question: str) -> Arm:
    asked = sums.questions.get(question)
    randomiser = None if asked is None else asked.answers[0]
    if not isinstance(randomiser, FrequencyOracle):
        legal = f"by sets about the {question}"
        raise ParameterError("reports", sorted(sums.questions), legal, "A Tally is made of reports that name a cell.")
    return Arm(randomiser, sums.reports[question], sums.supports[question])


def split_estimate(split: Split) -> GroupEstimate:
    """The clients' own estimates of every cell and query, both arms put together."""
    if not split.users:
        return GroupEstimate(0, nothing(len(split.query_of_cell)), nothing(len(split.queries.supports)))
    cells, queries = split.cells.level, split.queries.level
    p, v, p_q, v_q = reconcile(
        cells.probability, cells.variance, queries.probability, queries.variance, split.query_of_cell
    )
    _, floor, _, floor_q = reconcile(
        cells.probability, cells.floor, queries.probability, queries.floor, split.query_of_cell
    )
    return GroupEstimate(split.users, Level(p, v, floor), Level(p_q, v_q, floor_q))


def reconcile(x: Array, v: Array, y: Array, v_y: Array, rows: NDArray[np.int64]) -> tuple[Array, Array, Array, Array]:
    """Cells x and queries y, with their variances, made to agree by least squares: (cells, variances, queries,
    variances). Where all v, or a v_y, are infinite, the other side stands alone. Arrays may have leading axes.
    """
    if not np.isfinite(v).all():
        return np.full_like(x, np.nan), np.full_like(v, np.inf), y, v_y
    starts = np.flatnonzero(np.r_[True, np.diff(rows) > 0])
    total, spread = np.add.reduceat(x, starts, axis=-1), np.add.reduceat(v, starts, axis=-1)
    with np.errstate(invalid="ignore"):
        gain = np.where(np.isinf(v_y) | (spread == 0), 0.0, spread / (spread + v_y))
        share = np.where(v > 0, v / spread[..., rows], 0.0)
    gap = np.where(gain > 0, gain * (y - total), 0.0)
    return (x + share * gap[..., rows], v * (1 - share * gain[..., rows]), total + gap, spread * (1 - gain))
