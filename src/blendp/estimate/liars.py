"""How far lying clients move a release: the clients who report are there, and some of them may lie.

    rise = max over targets, allocations of   estimate with m liars - estimate without them

where:
    target      is a listed record, which all liars name (none names another of its query), or a listed query, whose
                cells all of them name, in turn if a report names fewer; they name its query too,
    allocation  says how many of the m liars answer about the record; the others answer about the query. Nothing makes
                a client answer the question that its coin says, and few reports are many where few answer,
    estimate    is the clients' own, or the blend, computed anew from the sums of this release.

The liars are added to the reports at hand, and taken away from them, as far as so many name the target: they may be
among them already. All other reports stay as they are, so what chance has done to these is part of the result. The
difference between the groups (kappa) is taken as found; if it is not 0, liars may be why, and the release without them
is tried with 0 as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from blendp.arrays import Array, Bools, Ids, falling_order
from blendp.estimate.hybrid import InfluenceGuard, Parts, capped, renumbered
from blendp.estimate.posterior import Posterior
from blendp.estimate.split import Arm, Split

STEPS = 16
"""Steps of the share of liars who answer about the record; within a step both ends are granted, so none does more."""

_COMPUTED = 12
"""So many attacks on one query each are computed with the blend itself: the worst if densities were normal."""

_MIN_VARIANCE, _MAX_VARIANCE = 1e-300, 1e300
"""Variances between which nothing is divided by 0 or infinity."""


@dataclass(frozen=True)
class Influence:
    """How far a share of lying clients who work together raises a listed record or query in this release.

    where:
        share    is beta, the share of the clients who lie,
        clients  is how far they raise the clients' own estimate,
        blended  is how far the blend without the cap, and
        capped   with it: the most over all listed records and queries, and over what the liars may answer.
    """

    share: float
    clients: float
    blended: float
    capped: float


def influence(posterior: Posterior, split: Split, guard: InfluenceGuard, share: float) -> Influence:
    """What so many of these clients have done if they lied, or what as large a share that comes could do."""
    if len(split.query_of_cell) == 1 or not split.users:
        return Influence(share, 0.0, 0.0, 0.0)
    parts, attacks = Parts.of(posterior, split, guard), list(_attacks(split, share))
    own = _own(split)
    clients = max(float(attack.rises(own, map(_own, attack.splits)).max()) for attack in attacks)
    heard = [(attack, attack.heard(parts)) for attack in attacks]
    if guard.kappa > 0:
        alike = Parts.of(posterior, split, InfluenceGuard(guard.cap))
        heard += [(attack, attack.heard(alike)) for attack in attacks if attack.sign < 0]
    return Influence(share, clients, *(_rise_of_blend(parts, heard, cap) for cap in (None, guard.cap)))


def _rise_of_blend(parts: Parts, heard: Sequence[tuple[_Attack, Sequence[Parts]]], cap: float | None) -> float:
    """The most that one of these attacks raises the blend: found with normal densities, computed with the posterior."""
    rows, usual, guess = parts.rows, _blended(parts, cap), _roughly(parts, cap)
    guesses = np.zeros((len(heard), rows[-1] + 1))
    for (attack, after), by_query in zip(heard, guesses, strict=True):
        np.maximum.at(by_query, rows, attack.rises(guess, (_roughly(each, cap) for each in after)))
    worst = np.zeros(guesses.size, dtype=bool)
    worst[falling_order(guesses.ravel())[:_COMPUTED]] = True
    rise = 0.0
    for (attack, after), queries in zip(heard, worst.reshape(guesses.shape), strict=True):
        if queries.any():
            cells = queries[rows]
            rises = attack.of(cells).rises(usual.of(cells), (_blended(each.only(cells), cap) for each in after))
            rise = max(rise, float(rises.max()))
    return rise


@dataclass(frozen=True, eq=False)
class _Said:
    """Estimates of cells and of their queries, with variances, before they are made to agree: all by cell.

    ``cap`` says how far a query may be from the sum of its cells.
    """

    rows: Ids
    x: Array
    v: Array
    y: Array
    v_y: Array
    cap: float | None = None

    def of(self, cells: Bools) -> _Said:
        """Of these cells alone, which are all those of some queries."""
        x, v, y, v_y = (each[cells] for each in (self.x, self.v, self.y, self.v_y))
        return _Said(renumbered(self.rows[cells]), x, v, y, v_y, self.cap)

    def agreed(self, others: _Said) -> tuple[Array, Array]:
        """Every cell and its query, if the other cells of the query are as these others."""
        total = self.x + _sums(others.x, self.rows)[self.rows] - others.x
        spread = self.v + _sums(others.v, self.rows)[self.rows] - others.v
        gap = capped(self.y, total, spread + self.v_y, self.cap) - total
        gap *= spread / (spread + self.v_y)
        return self.x + self.v / spread * gap, total + gap


@dataclass(frozen=True, eq=False)
class _Attack:
    """So many liars more (sign 1), or fewer (sign -1), than there are.

    where:
        splits    are the clients' reports then: each cell as if it were the target, as if another of its query were,
                  and with all cells of its query named in turn,
        can_name  says, by cell, whether so many reports name it and its query that liars can be taken away,
        can_turn  whether so many name the cells of its query.
    """

    sign: int
    splits: tuple[Split, ...]
    can_name: Bools
    can_turn: Bools

    @classmethod
    def by(cls, split: Split, sign: int, of_record: int, of_query: int) -> Self:
        """With so many liars who answer about the record, and so many about the query."""
        rows, cells = split.query_of_cell[:-1], np.bincount(split.query_of_cell[:-1])
        listed = np.append(np.ones(len(rows)), 0.0)
        in_turn = np.append(np.minimum(1.0, split.cells.randomiser.size / cells)[rows], 0.0)
        queries = _with_liars(split.queries, sign * of_query, np.append(np.ones(len(cells)), 0.0))
        answers = [_with_liars(split.cells, sign * of_record, named) for named in (listed, 0 * listed, in_turn)]
        left = [(arm.supports[:-1] >= 0) | (sign > 0) for arm in (queries, answers[0], answers[2])]
        missing = np.bincount(rows, weights=~left[2])
        return cls(
            sign,
            tuple(Split(queries, each, split.query_of_cell) for each in answers),
            left[0][rows] & left[1],
            left[0][rows] & (missing == 0)[rows],
        )

    def of(self, cells: Bools) -> _Attack:
        """On these cells alone."""
        return replace(self, can_name=self.can_name[cells], can_turn=self.can_turn[cells])

    def heard(self, parts: Parts) -> list[Parts]:
        """The opt-in group beside these reports."""
        return [parts.beside(each) for each in self.splits]

    def rises(self, before: _Said, after: Iterable[_Said]) -> Array:
        """How far each cell or its query, whichever is more, rises as the target; 0 where so many do not name it."""
        named, others, in_turn = after
        (cell, query), (new_cell, new_query) = before.agreed(before), named.agreed(others)
        together = self.sign * (in_turn.agreed(in_turn)[1] - query)
        alone = np.maximum(self.sign * (new_cell - cell), self.sign * (new_query - query))
        return np.maximum(np.where(self.can_name, alone, 0.0), np.where(self.can_turn, together, 0.0))


def _attacks(split: Split, share: float) -> Iterator[_Attack]:
    """All that are compared: liars who come and who are there, and how they choose their question."""
    for sign, liars in ((1, share / (1 - share)), (-1, share)):
        for of_record, of_query in _allocations(split, math.ceil(liars * split.users)):
            if sign > 0 or (of_record < max(split.cells.users, 1) and of_query < max(split.queries.users, 1)):
                yield _Attack.by(split, sign, of_record, of_query)


def _allocations(split: Split, liars: int) -> list[tuple[int, int]]:
    """How many answer about the record, and about the query, at most in every step; all, if there is one question."""
    if not split.queries.users:
        return [(liars, 0)]
    if not split.cells.users:
        return [(0, liars)]
    return [(-(-liars * (i + 1) // STEPS), -(-liars * (STEPS - i) // STEPS)) for i in range(STEPS)]


def _with_liars(arm: Arm, liars: int, named: Array) -> Arm:
    """The arm with so many more reports, of which these shares name each item; every item for itself."""
    return Arm(arm.randomiser, arm.users + liars, arm.supports + np.rint(liars * named).astype(np.int64))


def _own(split: Split) -> _Said:
    """The clients' own estimates; who says nothing has no weight."""
    rows = split.query_of_cell[:-1]
    levels = split.cells.level, split.queries.level
    x, y = (np.nan_to_num(level.probability[:-1]) for level in levels)
    v, v_y = (np.clip(level.variance[:-1], _MIN_VARIANCE, _MAX_VARIANCE) for level in levels)
    return _Said(rows, x, v, y[rows], v_y[rows])


def _blended(parts: Parts, cap: float | None) -> _Said:
    """What the blend says of every cell, and the clients of its query."""
    cells = parts.cells(parts.x, cap)
    return _Said(parts.rows, cells.mean, cells.variance, parts.y[parts.rows], parts.v_y[parts.rows], cap)


def _roughly(parts: Parts, cap: float | None) -> _Said:
    """The same if the opt-in posterior is normal."""
    mean, variance = parts.own.mean, parts.own.variance
    gain = variance / (variance + parts.v)
    x = mean + gain * (capped(parts.x, mean, variance + parts.v, cap) - mean)
    return _Said(parts.rows, x, variance * (1 - gain), parts.y[parts.rows], parts.v_y[parts.rows], cap)


def _sums(values: Array, rows: Ids) -> Array:
    """The sum of the values of every query's cells."""
    return np.bincount(rows, weights=values).astype(np.float64)
