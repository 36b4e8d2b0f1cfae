"""The law of a few attributes as a table, and what reports tell under it, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError, require_number
from blendp.survey.models.base import MAX_CELLS, margin_of, needs_subsets, require_epsilons, require_sizes

MAX_REPORTS = 1 << 20
"""How many values and reports are gone through one by one."""

_SUM_ERROR = 1e-9


@dataclass(frozen=True, eq=False)
class Joint:
    """The probability of every combination of values: an array with an axis for every attribute."""

    probabilities: Array

    def __post_init__(self) -> None:
        """Refuse what is no law, is too large to go through, or has a value that nobody can have."""
        table = np.array(self.probabilities, dtype=np.float64)
        if table.size > MAX_CELLS:
            raise ParameterError(
                "probabilities", f"{table.size} cells", f"at most {MAX_CELLS} cells", "Use a Tree, or clusters of it."
            )
        require_sizes(table.shape)
        fine = table.ndim and np.isfinite(table).all() and (table >= 0).all()
        if not fine or abs(table.sum() - 1) > _SUM_ERROR:
            raise ParameterError(
                "probabilities", float(table.sum()), "numbers of at least 0 that sum to 1", "Divide by the sum."
            )
        for attribute in range(table.ndim):
            margin = margin_of(table, (attribute,))
            if not margin.min() > 0:
                raise ParameterError(
                    f"value {int(margin.argmin())} of attribute {attribute}",
                    0.0,
                    "of a probability above 0",
                    "Leave out values that nobody can have.",
                )
        table.setflags(write=False)
        object.__setattr__(self, "probabilities", table)

    @classmethod
    def of_pair(cls, first: float, second: float, correlation: float) -> Joint:
        """Two yes/no attributes (value 1 is yes) of given frequencies and correlation.

            P11 = f s + rho sqrt(f (1 - f) s (1 - s)),   P10 = f - P11,   P01 = s - P11,   P00 = 1 - f - s + P11

        where:
            f, s  are the frequencies of yes, above 0 and below 1,
            rho   is the correlation; there is such a law only if max(0, f + s - 1) <= P11 <= min(f, s).
        """
        for name, value in (("first", first), ("second", second)):
            require_number(name, value, above=0, below=1, legal="above 0 and below 1", remedy="It is a frequency.")
        require_correlation(correlation, -1)
        deviation = math.sqrt(first * (1 - first) * second * (1 - second))
        both = first * second + correlation * deviation
        low_both, high_both = max(0.0, first + second - 1), min(first, second)
        if not low_both - 1e-12 <= both <= high_both + 1e-12:
            low, high = ((end - first * second) / deviation for end in (low_both, high_both))
            raise ParameterError(
                "correlation",
                correlation,
                f"from {low:.4g} to {high:.4g} for frequencies {first:g} and {second:g}",
                "No two attributes of these frequencies have this correlation.",
            )
        both = min(max(both, low_both), high_both)
        neither = max(0.0, 1 - first - second + both)
        return cls(np.array([[neither, second - both], [first - both, both]]))

    @classmethod
    def independent(cls, *margins: ArrayLike) -> Joint:
        """Attributes of these frequencies that have nothing to do with each other."""
        table = np.ones(())
        for margin in margins:
            table = np.multiply.outer(table, np.asarray(margin, dtype=np.float64))
        return cls(table)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values every attribute has."""
        return self.probabilities.shape

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged: if there are few enough sets of values."""
        return math.prod(m if m == 2 else 2**m for m in self.sizes) <= MAX_REPORTS

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """What reports tell about every attribute; see :class:`~blendp.survey.models.base.Model`.

        The law of all other reports given b_i = s is made channel by channel along the axes. Given b_i its own report
        is independent of the others, so the largest ratios of both multiply. Where a report is not ``single``, all sets
        of values are gone through.
        """
        return np.array([self._losses(require_epsilons(row, self.sizes), single) for row in np.atleast_2d(epsilons)])

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array | None:
        """The same, exactly: None with reports that are not ``single``, of which only some sets occur."""
        ratios = require_epsilons(epsilons, self.sizes)
        return None if needs_subsets(ratios, single, self.sizes) else self._losses(ratios, single)

    def _losses(self, ratios: Array, single: NDArray[np.bool_]) -> Array:
        reported = [j for j in range(len(ratios)) if ratios[j] > 0]
        losses = np.empty(len(ratios))
        for i in range(len(ratios)):
            others = [j for j in reported if j != i]
            losses[i] = ratios[i] + loss_through(self._given(i, others), ratios[others], single[others])
        return losses

    @cached_property
    def _conditionals(self) -> dict[tuple[int, ...], Array]:
        return {}

    def _given(self, attribute: int, others: list[int]) -> Array:
        """P(others | attribute), with the attribute's values along axis 0."""
        key = (attribute, *others)
        if key not in self._conditionals:
            table = np.ascontiguousarray(margin_of(self.probabilities, key))
            self._conditionals[key] = table / table.sum(axis=tuple(range(1, table.ndim)), keepdims=True)
        return self._conditionals[key]

    @cached_property
    def margins(self) -> tuple[Array, ...]:
        """The frequencies of every attribute's values."""
        return tuple(margin_of(self.probabilities, (j,)) for j in range(len(self.sizes)))

    def pairs(self) -> dict[tuple[int, int], Array]:
        """P(b_j = x | b_i = s) as ``pairs[i, j][s, x]`` for all ordered pairs."""
        axes = range(len(self.sizes))
        return {(i, j): self._given(i, [j]) for i in axes for j in axes if i != j}


def loss_through(given: Array, epsilons: Array, single: NDArray[np.bool_]) -> float:
    """What reports about other attributes tell about one: exactly, or with too many sets of values at most.

    where:
        given  is the law of the others given its value, which is axis 0; ``epsilons`` and ``single`` are theirs.
    """
    reports = [m if one or m == 2 else 2**m for m, one in zip(given.shape[1:], single, strict=True)]
    if math.prod(reports) * len(given) > MAX_REPORTS:
        return float(epsilons.sum())
    logs = np.log(_channelled(given, epsilons, single))
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


def require_correlation(correlation: float, min_correlation: float) -> None:
    """Raise unless a correlation lies between the least possible and 1."""
    require_number(
        "correlation",
        correlation,
        min_value=min_correlation,
        max_value=1,
        legal=f"a number from {min_correlation:g} to 1",
        remedy="Correlations lie between -1 and 1; many attributes alike cannot all be negatively correlated."
        if min_correlation == 0
        else "No attributes have another correlation.",
    )


def _channelled(table: Array, epsilons: Array, single: NDArray[np.bool_]) -> Array:
    """Apply the channel of every axis but the first, up to a factor: e^epsilon for values in a report, else 1."""
    for axis, (epsilon, one) in enumerate(zip(epsilons, single, strict=True), start=1):
        inside = table if one or table.shape[axis] == 2 else _subset_sums(table, axis)
        table = table.sum(axis=axis, keepdims=True) + math.expm1(epsilon) * inside
    return table


def _subset_sums(table: Array, axis: int) -> Array:
    """The sums over every set of values of this axis but the empty one and all."""
    values = table.shape[axis]
    chosen = [each for size in range(1, values) for each in combinations(range(values), size)]
    subsets = np.array([np.bincount(each, minlength=values) for each in chosen], dtype=np.float64)
    return np.moveaxis(np.tensordot(subsets, table, axes=(1, axis)), 0, axis)
