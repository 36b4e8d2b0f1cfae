"""Putting the opt-in group's posterior and the clients' two answers together.

For every cell the posterior is multiplied by the clients' normal likelihood; the query is the sum of its cells, and
the clients who reported queries correct that sum (:func:`~blendp.estimate.split.reconcile`). So sum_u p_qu = p_q holds
exactly, no weight can leave [0, 1], and intervals of small counts are as lopsided as they must be.

Two things guard against clients who are not like the opt-in group:

* the *influence cap*: a client estimate farther than c standard errors of the difference from what the opt-in group
  says is moved to that distance, so that lying clients cannot move a result farther than that,
* *random effects*: where the groups differ throughout (:mod:`~blendp.estimate.cross_check`), p_O = p_C + d with
  Var(d) = kappa^2 p^2, the opt-in group speaks for itself only: its variance grows by (1 - psi) kappa^2 p^2 and the
  clients' by psi kappa^2 p^2, psi the share of opt-in people in the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blendp.estimate.blend import CONFIDENCE, Blend
from blendp.estimate.posterior import Posterior
from blendp.estimate.split import Split, reconcile

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Guard:
    """How far the clients may pull an estimate, and how much the groups differ.

    where:
        cap    is c, in standard errors of the difference of the groups; None for no limit,
        kappa  is the relative standard deviation between the groups' probabilities, 0 if they are alike.
    """

    cap: float | None = None
    kappa: float = 0.0


@dataclass(frozen=True, eq=False)
class _Parts:
    """The pieces of the blend: the opt-in posterior, what the clients say, and how they are weighed."""

    rows: NDArray[np.int64]
    own: Posterior
    x: Array
    v: Array
    y: Array
    v_y: Array

    @classmethod
    def of(cls, posterior: Posterior, split: Split, guard: Guard) -> Self:
        """Grow the variances by what is between the groups."""
        rows = split.query_of_cell[:-1]
        share_opt_in = posterior.users / max(posterior.users + split.users, 1)
        between = (guard.kappa * posterior.mean) ** 2
        own = posterior
        if guard.kappa > 0:
            own = posterior.flattened(posterior.variance / (posterior.variance + (1 - share_opt_in) * between))
        x, v = split.cells.observe(own.mean)
        y, v_y = split.queries.observe(_sums(own.mean, rows))
        return cls(rows, own, x, v + share_opt_in * between, y, v_y + share_opt_in * _sums(between, rows))

    def cells(self, cap: float | None) -> Posterior:
        """Every cell's posterior with the clients who report records."""
        return self.own.times_normal(capped(self.x, self.own.mean, self.own.variance + self.v, cap), self.v)


def hybrid_blend(posterior: Posterior, split: Split, guard: Guard) -> tuple[Blend, Blend]:
    """The blend of all cells and of all queries, <*,*> last in both."""
    if len(split.query_of_cell) == 1:
        certain = Blend.normal(np.ones(1), np.zeros(1), np.zeros(1))
        return certain, certain
    parts = _Parts.of(posterior, split, guard)
    rows, cells = parts.rows, parts.cells(guard.cap)
    y = capped(parts.y, _sums(cells.mean, rows), _sums(cells.variance, rows) + parts.v_y, guard.cap)
    p, variance, p_q, v_q = reconcile(cells.mean, cells.variance, y, parts.v_y, rows)
    narrower = np.sqrt(variance / cells.variance)
    tail = (1 - CONFIDENCE) / 2
    low, high = (cells.quantile(np.full(len(p), level)) - cells.mean for level in (tail, 1 - tail))
    weight, weight_q = variance / parts.own.variance, v_q / _sums(parts.own.variance, rows)
    queries = Blend.normal(p_q, v_q, weight_q)
    return (
        _with_rest(p, variance, weight, p + low * narrower, p + high * narrower),
        _with_rest(p_q, v_q, weight_q, queries.low, queries.high),
    )


@dataclass(frozen=True)
class Influence:
    """How far a share of lying clients who work together can raise a listed query, at most.

    where:
        share    is beta, the share of the clients who lie,
        clients  is how far the clients' own estimate of a query rises when all of them name it,
        blended  is how far the blend then rises without the cap, and
        capped   with it: the most over all listed records and their queries.
    """

    share: float
    clients: float
    blended: float
    capped: float


def influence(posterior: Posterior, split: Split, guard: Guard, share: float) -> Influence:
    """The maximal gain of a targeted attack (Cao, Jia and Gong, 2021): every liar names one record and its query.

    client gain = beta [(1 - q)/(p - q) - f],     f about 0
    """
    if len(split.query_of_cell) == 1 or not split.users:
        return Influence(share, 0.0, 0.0, 0.0)
    parts = _Parts.of(posterior, split, guard)
    cells = parts.cells(guard.cap)
    total = _sums(cells.variance, parts.rows)
    gain = np.where(np.isfinite(parts.v_y), total / (total + parts.v_y), 0.0)
    pull = np.where(np.isfinite(parts.v), cells.variance / parts.v, 0.0)
    dx, dy = (
        share * (1 - arm.randomiser.stray) / (arm.randomiser.hit - arm.randomiser.stray) if arm.users else 0.0
        for arm in (split.cells, split.queries)
    )

    def moved(reach_x: Array, reach_y: Array) -> float:
        of_cell = pull * np.minimum(dx, reach_x)
        spread = of_cell * (1 - gain[parts.rows]) + (gain * np.minimum(dy, reach_y))[parts.rows]
        return float(spread.max())

    free = np.full(len(parts.rows), np.inf), np.full(len(total), np.inf)
    cap = np.inf if guard.cap is None else guard.cap
    reach = cap * np.sqrt(parts.own.variance + parts.v), cap * np.sqrt(total + parts.v_y)
    return Influence(share, float(max(dx, dy)), moved(*free), moved(*reach))


def _sums(values: Array, rows: NDArray[np.int64]) -> Array:
    """The sum of the values of every query's cells."""
    return np.bincount(rows, weights=values).astype(np.float64)


def capped(estimate: Array, centre: Array, variance: Array, cap: float | None) -> Array:
    """The estimate, moved to at most ``cap`` standard errors from the centre."""
    if cap is None:
        return estimate
    reach = cap * np.sqrt(variance)
    return np.asarray(np.clip(estimate, centre - reach, centre + reach))


def _with_rest(p: Array, v: Array, weight: Array, low: Array, high: Array) -> Blend:
    """Give <*,*> what the others leave."""
    total = v.sum()
    rest = Blend.normal(
        np.array([1 - p.sum()]), np.array([total]), np.array([(weight * v).sum() / total if total > 0 else 0.0])
    )
    return Blend(
        np.append(p, rest.probability),
        np.append(v, rest.variance),
        np.append(weight, rest.weight_opt_in),
        np.append(low, rest.low),
        np.append(high, rest.high),
    )
