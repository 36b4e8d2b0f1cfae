"""What a noisy table of all attributes says about the law of its people, of which no shape is assumed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.survey.models.base import margin_of

MAX_TOGETHER = 7
"""So many attributes are judged together; a group of more is taken to tell all that its record's epsilon allows."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """How many people gave each answer of an attribute: an estimate and how far off it may be.

    where:
        deviation  is the standard deviation of its noise,
        rounding   is what rounding the noise to integers can add to that.
    """

    counts: Array
    deviation: float
    rounding: float


@dataclass(frozen=True, eq=False)
class BoundedTable:
    """Bounds, with a given confidence, of P(b_T = o | b_i = s) for all attributes i and small sets T of others.

    where:
        counts    is the noisy number of people with every combination of answers, an axis for every attribute,
        sigma     is the standard deviation of the noise on each,
        margins   are how many people gave each answer of every attribute, known better than from the table alone,
        confidence  is the probability with which all bounds hold at once, for people drawn like those who were counted.

    A bound is a Clopper-Pearson interval around a number of people that the noise leaves open, as in
    :func:`~blendp.survey.opt_in.learn_tree`. See PROOF.md, theorem 6.
    """

    counts: NDArray[np.int64]
    sigma: float
    margins: tuple[Bounds, ...]
    confidence: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values every attribute has."""
        return self.counts.shape

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged."""
        return False

    @cached_property
    def _tail(self) -> float:
        """The probability with which one of the bounds may fail on one side, for noise or for drawing."""
        cells = sum(
            self.sizes[i] * math.prod(self.sizes[j] for j in others)
            for i in range(len(self.sizes))
            for others in _sets([j for j in range(len(self.sizes)) if j != i])
        )
        return (1 - self.confidence) / (4 * cells + 2 * sum(self.sizes))

    @cached_property
    def _boxes(self) -> dict[tuple[int, ...], tuple[Array, Array]]:
        return {}

    @cached_property
    def _stacks(self) -> dict[tuple[int, tuple[int, ...]], tuple[Array, Array]]:
        return {}

    def _box(self, attribute: int, others: tuple[int, ...]) -> tuple[Array, Array]:
        """Bounds of P(others | attribute), its values along axis 0."""
        key = (attribute, *others)
        if key not in self._boxes:
            from scipy import special

            z = float(special.ndtri(1 - self._tail))
            table = margin_of(self.counts.astype(np.float64), key)
            merged = self.counts.size // table.size
            reach = z * self.sigma * math.sqrt(merged) + merged / 2
            both = np.ceil(np.maximum(table - reach, 0)), np.floor(np.maximum(table + reach, 0))
            own = self.margins[attribute]
            total, slack = own.counts.reshape(-1, *(1 for _ in others)), z * own.deviation + own.rounding
            rest = np.maximum(total - slack - both[1], 0), np.maximum(total + slack - both[0], 0)
            low = np.where(both[0] > 0, special.betaincinv(np.maximum(both[0], 1), rest[1] + 1, self._tail), 0.0)
            high = special.betaincinv(both[1] + 1, np.maximum(rest[0], 1), 1 - self._tail)
            self._boxes[key] = low, np.where(rest[0] >= 1, high, 1.0)
        return self._boxes[key]

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """What reports tell about every attribute, at most; see :class:`~blendp.survey.models.base.Model`.

        Up to a factor that all values s share,

            P(B | b_i = s) = sum over T of  prod_{j in T} (e^epsilon_j - 1)  P(b_T = B_T | b_i = s)

        where:
            T  runs through the sets of other reported attributes, the empty one included.

        Reports of an attribute that are not single values are taken to tell all that the record's epsilon allows.
        """
        plain = np.asarray(single) | (np.array(self.sizes) == 2)
        rows = np.atleast_2d(epsilons)
        losses = np.empty(rows.shape)
        patterns, which = np.unique(rows > 0, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            same = which.ravel() == number
            for i in range(len(self.sizes)):
                others = tuple(j for j in np.flatnonzero(pattern).tolist() if j != i)
                losses[same, i] = self._losses(rows[same], i, others, bool(plain[list(others)].all()))
        return losses

    def _losses(self, epsilons: Array, attribute: int, others: tuple[int, ...], plain: bool) -> Array:
        """The losses about one attribute, for rows that report these others."""
        record_loss = epsilons.sum(axis=1)
        if not others or len(others) > MAX_TOGETHER or not plain:
            return np.asarray(record_loss)
        ratios = np.expm1(epsilons[:, list(others)])[:, None, :]
        weights = np.where(_members(len(others)), ratios, 1.0).prod(axis=2)
        low, high = self._reports(attribute, others)
        values = self.sizes[attribute]
        below, above = (1 + (weights @ bound).reshape(len(weights), values, -1) for bound in (low, high))
        quotients = above[:, :, None, :] / below[:, None, :, :]
        quotients[:, range(values), range(values)] = 1.0
        return np.asarray(np.minimum(record_loss, epsilons[:, attribute] + np.log(quotients.max(axis=(1, 2, 3)))))

    def _reports(self, attribute: int, others: tuple[int, ...]) -> tuple[Array, Array]:
        """The bounds of P(b_T = B_T | attribute): a row for every set T, a column for every value and report B."""
        key = (attribute, others)
        if key not in self._stacks:
            full = (self.sizes[attribute], *(self.sizes[j] for j in others))
            stacks: tuple[list[Array], list[Array]] = ([], [])
            for chosen in _sets(others):
                shape = (full[0], *(self.sizes[j] if j in chosen else 1 for j in others))
                for stack, bound in zip(stacks, self._box(attribute, chosen), strict=True):
                    stack.append(np.broadcast_to(bound.reshape(shape), full).ravel())
            self._stacks[key] = np.stack(stacks[0]), np.stack(stacks[1])
        return self._stacks[key]

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> None:
        """Never known exactly."""


@cache
def _members(others: int) -> NDArray[np.bool_]:
    """A row for each of the :func:`_sets`: which of so many attributes it holds."""
    return np.array([np.isin(range(others), chosen) for chosen in _sets(range(others))])


def _sets(others: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, MAX_TOGETHER + 1):
        yield from combinations(others, size)
