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

from blendp.arrays import Array
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
class _Parts:
    """The pieces of the blend: the opt-in posterior, what the clients say, and how they are weighed."""

    rows: NDArray[np.int64]
    own: Posterior
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
        x, v = split.cells.observe(own.mean)
        y, v_y = split.queries.observe(_sums(own.mean, rows))
        return cls(rows, own, x, v + share_opt_in * between, y, v_y + share_opt_in * _sums(between, rows))

    def cells(self, x: Array, cap: float | None) -> Posterior:
        """Every cell's posterior with what the clients who report records say."""
        return self.own.times_normal(capped(x, self.own.mean, self.own.variance + self.v, cap), self.v)

    def rise(self, dx: float, dy: float, cap: float | None) -> float:
        """How far a record or its query rises, at most, when the clients' estimates of both rise so far above what
        the opt-in group says, and those of all others do not.
        """
        rows, v_y = self.rows, self.v_y[self.rows]
        usual, raised = (self.cells(self.own.mean + gain, cap) for gain in (0.0, dx))
        sums, spreads = _sums(usual.mean, rows)[rows], _sums(usual.variance, rows)[rows]
        y = _sums(self.own.mean, rows)[rows]

        def put_together(cells: Posterior, y: Array) -> tuple[Array, Array]:
            """Every cell and its query, when this cell is as told and the others of its query as usual."""
            total, spread = sums - usual.mean + cells.mean, spreads - usual.variance + cells.variance
            gap = spread / (spread + v_y) * (capped(y, total, spread + v_y, cap) - total)
            return cells.mean + cells.variance / spread * gap, total + gap

        before, after = put_together(usual, y), put_together(raised, y + dy)
        return max(float((new - old).max()) for old, new in zip(before, after, strict=True))


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
    parts = _Parts.of(posterior, split, guard)
    rows, cells = parts.rows, parts.cells(parts.x, guard.cap)
    y = capped(parts.y, _sums(cells.mean, rows), _sums(cells.variance, rows) + parts.v_y, guard.cap)
    p, variance, p_q, v_q = reconcile(cells.mean, cells.variance, y, parts.v_y, rows)
    narrower = np.sqrt(variance / cells.variance)
    tail = (1 - CONFIDENCE) / 2
    low, high = (cells.quantile(np.full(len(p), level)) - cells.mean for level in (tail, 1 - tail))
    own = 1 / (1 + parts.own.variance / parts.v)
    own_q = _sums(parts.own.variance * own, rows) / _sums(parts.own.variance, rows)
    weight = np.minimum(own * variance / cells.variance, 1.0)
    weight_q = np.minimum(own_q * v_q / _sums(cells.variance, rows), 1.0)
    queries = Blend.normal(p_q, v_q, weight_q)
    rest = _rest(posterior, split, guard, listed_variance)
    return (
        _followed_by(Blend(p, variance, weight, p + low * narrower, p + high * narrower), rest),
        _followed_by(queries, rest),
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


def influence(posterior: Posterior, split: Split, guard: InfluenceGuard, share: float) -> Influence:
    """The maximal gain of a targeted attack (Cao, Jia and Gong, 2021): every liar names one record and its query.

    client gain = beta (g - f),     f about 0

    where:
        g  is what one report adds to n times the estimate of an item that it names (``gain`` of the oracle),
        f  is the item's frequency.

    The blend is computed twice, with clients who say what the opt-in group says, and with the gain added to that.
    """
    if len(split.query_of_cell) == 1 or not split.users:
        return Influence(share, 0.0, 0.0, 0.0)
    parts = _Parts.of(posterior, split, guard)
    dx, dy = (share * arm.randomiser.gain if arm.users else 0.0 for arm in (split.cells, split.queries))
    return Influence(share, float(max(dx, dy)), parts.rise(dx, dy, None), parts.rise(dx, dy, guard.cap))


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
