"""Putting the opt-in group's posterior and the clients' two answers together.

For every cell the posterior is multiplied by the clients' normal likelihood; the query is the sum of its cells, and
the clients who reported queries correct that sum (:func:`~blendp.estimate.split.reconcile`). So sum_u p_qu = p_q holds
exactly, no weight can leave [0, 1], and intervals of small counts are as lopsided as they must be.

Two things guard against clients who are not like the opt-in group:

* the *influence cap*: a client estimate farther than c standard errors of the difference from what the opt-in group
  says is moved to that distance, so that lying clients cannot move a result farther than that,
* *random effects*: where the groups differ throughout (:mod:`~blendp.estimate.agreement`), p_O = p_C + d with
  Var(d) = kappa^2 p^2, the opt-in group speaks for itself only: its variance grows by (1 - psi) kappa^2 p^2 and the
  clients' by psi kappa^2 p^2, psi the share of opt-in people in the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, Bools, distinct
from blendp.estimate.blending import CONFIDENCE, Blend
from blendp.estimate.posterior import Posterior
from blendp.estimate.split import Split, reconcile


@dataclass(frozen=True)
class InfluenceGuard:
    """How far the clients may pull an estimate, and how much the groups differ.

    where:
        cap    is c, in standard errors of the difference of the groups; None for no limit,
        kappa  is the relative standard deviation between the groups' probabilities, 0 if they are alike.
    """

    cap: float | None = None
    kappa: float = 0.0


@dataclass(frozen=True, eq=False)
class Parts:
    """The pieces of the blend: the opt-in posterior, what the clients say, and how they are weighed.

    where:
        rows     is the query of every cell,
        own      is the posterior, flattened by what is between the groups,
        between  is the clients' part of that, of every cell,
        x, v     is what the clients who report records say, and its variance,
        y, v_y   is the same of those who report queries.
    """

    rows: NDArray[np.int64]
    own: Posterior
    between: Array
    x: Array
    v: Array
    y: Array
    v_y: Array

    @classmethod
    def of(cls, posterior: Posterior, split: Split, guard: InfluenceGuard) -> Self:
        """Grow the variances by what is between the groups."""
        rows = split.query_of_cell[:-1]
        share_opt_in = posterior.users / max(posterior.users + split.users, 1)
        between = (guard.kappa * posterior.mean) ** 2
        own = posterior
        if guard.kappa > 0:
            own = posterior.flattened(posterior.variance / (posterior.variance + (1 - share_opt_in) * between))
        return cls(rows, own, share_opt_in * between, *_observed(split, own, rows, share_opt_in * between))

    def beside(self, split: Split) -> Self:
        """The same opt-in people beside these clients."""
        return type(self)(self.rows, self.own, self.between, *_observed(split, self.own, self.rows, self.between))

    def only(self, cells: Bools) -> Self:
        """Of these cells alone, which are all those of some queries."""
        queries, own = distinct(self.rows[cells]), self.own
        own = Posterior(own.users, own.grid[cells], own.log_weight[cells])
        by_cell, by_query = (self.between, self.x, self.v), (self.y, self.v_y)
        return type(self)(
            renumbered(self.rows[cells]), own, *(each[cells] for each in by_cell), *(each[queries] for each in by_query)
        )

    def cells(self, x: Array, cap: float | None) -> Posterior:
        """Every cell's posterior with what the clients who report records say."""
        return self.own.times_normal(capped(x, self.own.mean, self.own.variance + self.v, cap), self.v)


def _observed(
    split: Split, own: Posterior, rows: NDArray[np.int64], between: Array
) -> tuple[Array, Array, Array, Array]:
    """What the clients say of cells and queries, each with its variance."""
    x, v = split.cells.observe(own.mean)
    y, v_y = split.queries.observe(_sums(own.mean, rows))
    return x, v + between, y, v_y + _sums(between, rows)


def hybrid_blend(
    posterior: Posterior, split: Split, guard: InfluenceGuard, listed_variance: float | None = None
) -> tuple[Blend, Blend]:
    """The blend of all cells and of all queries, <*,*> last in both.

    ``listed_variance`` is that of the sum of all cells in the opt-in group; None where they are independent.

    The opt-in group's weight is what an estimate keeps of its own when the clients' of the record and its query move,
    if the opt-in posterior is normal and no cap is reached; of few people it is not, and the weight is about right:

        w_O = v/(v_O + v) t/s

    where:
        v_O, v  are the variances of the opt-in posterior and of what the clients who report records say,
        s, t    are those of the blend before and after the clients who report queries have spoken.
    """
    if len(split.query_of_cell) == 1:
        certain = Blend.normal(np.ones(1), np.zeros(1), np.zeros(1))
        return certain, certain
    parts = Parts.of(posterior, split, guard)
    rows, cells = parts.rows, parts.cells(parts.x, guard.cap)
    y = capped(parts.y, _sums(cells.mean, rows), _sums(cells.variance, rows) + parts.v_y, guard.cap)
    p, variance, p_q, v_q = reconcile(cells.mean, cells.variance, y, parts.v_y, rows)
    others = _sums(cells.mean, rows)[rows] - cells.mean, _sums(cells.variance, rows)[rows] - cells.variance
    low, high = cells.times_normal(y[rows] - others[0], parts.v_y[rows] + others[1]).interval(CONFIDENCE)
    own = 1 / (1 + parts.own.variance / parts.v)
    own_q = _sums(parts.own.variance * own, rows) / _sums(parts.own.variance, rows)
    weight = np.minimum(own * variance / cells.variance, 1.0)
    weight_q = np.minimum(own_q * v_q / _sums(cells.variance, rows), 1.0)
    queries = Blend.normal(p_q, v_q, weight_q)
    rest = _rest(posterior, split, guard, listed_variance)
    return (
        _followed_by(Blend(p, variance, weight, np.minimum(low, p), np.maximum(high, p)), rest),
        _followed_by(queries, rest),
    )


def _rest(posterior: Posterior, split: Split, guard: InfluenceGuard, listed_variance: float | None) -> Blend:
    """<*,*>, from what either group says of all that is listed together.

        p = w p_O + (1 - w) p_C,    w = v_C/(v_O + v_C),    Var(p) = w v_O

    where:
        p_O, v_O  are 1 less the sum of the opt-in group's cells, and the variance of that sum,
        p_C, v_C  are the clients' answers to both questions, weighed by their variances.

    It is not 1 less the blended queries: errors of cells go together, in either group, so a small one in all of them is
    a large one in their sum, of which the clients know more than of each cell.
    """
    p, total = posterior.mean, float(posterior.mean.sum())
    answers = split.cells.observe_rest(p), split.queries.observe_rest(_sums(p, split.query_of_cell[:-1]))
    precision = sum(1 / v for _, v in answers)
    share_opt_in = posterior.users / max(posterior.users + split.users, 1)
    between = float(((guard.kappa * p) ** 2).sum())
    own = float(posterior.variance.sum()) if listed_variance is None else listed_variance
    own += (1 - share_opt_in) * between
    if not precision:
        return Blend.normal(np.array([1 - total]), np.array([own]), np.ones(1))
    clients = 1 / precision + share_opt_in * between
    said = capped(
        np.array([sum(x / v for x, v in answers) / precision]), np.array(1 - total), np.array(own + clients), guard.cap
    )
    weight = 1 / (1 + own / clients)
    return Blend.normal(weight * (1 - total) + (1 - weight) * said, np.array([own * weight]), np.array([weight]))


def _sums(values: Array, rows: NDArray[np.int64]) -> Array:
    """The sum of the values of every query's cells."""
    return np.bincount(rows, weights=values).astype(np.float64)


def renumbered(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ascending rows as 0, 1, 2 ..."""
    return np.cumsum(np.diff(rows, prepend=rows[:1]) > 0)


def capped(estimate: Array, centre: Array, variance: Array, cap: float | None) -> Array:
    """The estimate, moved to at most ``cap`` standard errors from the centre."""
    if cap is None:
        return estimate
    reach = cap * np.sqrt(variance)
    return np.asarray(np.clip(estimate, centre - reach, centre + reach))


def _followed_by(listed: Blend, rest: Blend) -> Blend:
    """The listed, and last <*,*>."""
    return Blend(
        np.append(listed.probability, rest.probability),
        np.append(listed.variance, rest.variance),
        np.append(listed.weight_opt_in, rest.weight_opt_in),
        np.append(listed.low, rest.low),
        np.append(listed.high, rest.high),
    )
