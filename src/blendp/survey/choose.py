"""CBP: how strongly each attribute of a group may be reported, so that nothing is told beyond the promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.arrays import Array
from blendp.errors import require_number
from blendp.survey.errors_of_reports import ReportErrors
from blendp.survey.models.base import Model

SLACK = 1e-9
"""How far below the promise losses are kept, so that no rounding of a recomputation can exceed it."""

_HALVINGS, _ROUGH_HALVINGS = 26, 13
_STEPS = (1.6, 1.2, 1.06)
_ROUNDS = 12
_GAIN = 1e-3
_SHARPENINGS = 20


@dataclass(frozen=True)
class Promise:
    """What a client is promised.

    where:
        epsilon  bounds the loss about every attribute under the model,
        record   bounds the epsilon of the whole record whatever the correlations are; None leaves it open: it is then
                 at most epsilon times the attributes that one client reports.
    """

    epsilon: float
    record: float | None = None

    def __post_init__(self) -> None:
        """Refuse promises that cannot be kept."""
        require_number(
            "epsilon", self.epsilon, above=0, max_value=50, legal="above 0 and at most 50", remedy="0.5 to 4 are usual."
        )
        if self.record is not None:
            require_number(
                "record_epsilon",
                self.record,
                min_value=self.epsilon,
                legal=f"at least epsilon, {self.epsilon:g}",
                remedy="At epsilon itself nothing rests on the model any more.",
            )

    @property
    def max_loss(self) -> float:
        """The largest loss that is taken."""
        return self.epsilon * (1 - SLACK)

    def kept(self, model: Model, epsilons: Array, single: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rows of epsilons keep it."""
        total = epsilons.sum(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of floats is not kept
            worst = np.fmin(model.losses(epsilons, single).max(axis=1), total)
        return np.asarray((worst <= self.max_loss) & self.allows_record(total))

    def allows_record(self, total: ArrayLike) -> NDArray[np.bool_]:
        """Whether records of these epsilons keep it."""
        return np.asarray(np.asarray(total) <= (np.inf if self.record is None else self.record))


@dataclass(frozen=True, eq=False)
class Chooser:
    """Finds the epsilons of groups of attributes that report together.

    Reporting an attribute less is a post-processing of reporting it more, so losses grow with every epsilon: what
    halving the intervals finds is safe (PROOF.md, theorem 3).
    """

    model: Model
    promise: Promise
    errors: ReportErrors
    single: NDArray[np.bool_]

    def largest(self, directions: Array, *, roughly: bool = False) -> Array:
        """For every row w: t w, cut at the promise, for the largest t that keeps the promise.

        ``roughly`` stops early, below the largest, which is enough to compare.
        """
        low = self.promise.max_loss / directions.sum(axis=1)  # then the whole record keeps within the promise
        high = self.promise.max_loss / np.where(directions > 0, directions, np.inf).min(axis=1)
        steps = _ROUGH_HALVINGS if roughly else _HALVINGS
        return self._halve(low, high, lambda t: np.minimum(t[:, None] * directions, self.promise.max_loss), steps)

    def _halve(self, low: Array, high: Array, epsilons: Callable[[Array], Array], steps: int = _HALVINGS) -> Array:
        """The rows at the largest t between ``low``, where the promise is kept, and ``high``."""
        kept = self.promise.kept(self.model, epsilons(high), self.single)
        low = np.where(kept, high, low)
        for _ in range(steps):
            middle = (low + high) / 2
            kept = self.promise.kept(self.model, epsilons(middle), self.single)
            low, high = np.where(kept, middle, low), np.where(kept, high, middle)
        return epsilons(low)

    def alike(self, groups: NDArray[np.bool_], *, roughly: bool = False) -> Array:
        """One epsilon for all attributes of each group, a row of True for its members."""
        return self.largest(groups.astype(np.float64), roughly=roughly)

    def error(self, epsilons: Array) -> Array:
        """The sum of the errors of the attributes that are reported, for every row.

        An attribute that is reported alone may be reported by a subset of its values, whatever ``single`` says: nothing
        is told beyond its own epsilon.
        """
        alone = (epsilons > 0).sum(axis=1, keepdims=True) == 1
        errors = self.errors.of(epsilons, self.single & ~alone)
        return np.asarray(np.where(epsilons > 0, errors, 0.0).sum(axis=1))

    def tailored(self, epsilons: Array) -> Array:
        """An epsilon for each attribute of one group, with a smaller sum of errors.

        Tries every attribute somewhat more and somewhat less against the others, takes the best, and goes on with
        smaller steps when nothing helps; at last raises each alone as far as it goes.
        """
        members = np.flatnonzero(epsilons > 0)
        if len(members) == 1:
            return epsilons
        best, steps = epsilons, list(_STEPS)
        for _ in range(_ROUNDS):
            tries = np.repeat(best[None], 2 * len(members), axis=0)
            for index, member in enumerate(members):
                tries[2 * index, member] *= steps[0]
                tries[2 * index + 1, member] /= steps[0]
            candidates = self.largest(tries, roughly=True)
            errors = self.error(candidates)
            if errors.min() < (1 - _GAIN) * self.error(best[None])[0]:
                best = candidates[int(errors.argmin())]
            elif len(steps) > 1:
                steps.pop(0)
            else:
                break
        return self._raised(best)

    def sharpened(self, epsilons: Array) -> Array:
        """All epsilons of one group raised alike as far as the exact losses allow, where these can be computed."""
        now = self.model.exact_losses(epsilons, self.single)
        if now is None or now.max() > self.model.losses(epsilons[None], self.single).max() * (1 - SLACK):
            return epsilons
        low, high = 1.0, self.promise.max_loss / float(epsilons.max())
        for _ in range(_SHARPENINGS):
            middle = (low + high) / 2
            exact = self.model.exact_losses(middle * epsilons, self.single)
            total = middle * float(epsilons.sum())
            kept = exact is not None and exact.max() <= self.promise.max_loss
            low, high = (middle, high) if kept and self.promise.allows_record(total) else (low, middle)
        return low * epsilons

    def _raised(self, epsilons: Array) -> Array:
        """Each attribute as strong as the others let it be, one after the other."""
        for member in np.flatnonzero(epsilons > 0).tolist():
            own, limit = np.array([epsilons[member]]), np.array([self.promise.max_loss])
            epsilons = self._halve(own, limit, partial(_with, epsilons, member))[0]
        return epsilons


def _with(epsilons: Array, member: int, values: Array) -> Array:
    """A row for each value of this member."""
    rows = np.repeat(epsilons[None], len(values), axis=0)
    rows[:, member] = values
    return rows
