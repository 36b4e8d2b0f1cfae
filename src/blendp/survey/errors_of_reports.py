"""How well frequency oracles know frequencies: closed forms, for the many cases that a search has to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError


@dataclass(frozen=True, eq=False)
class ReportErrors:
    """The mean squared error that one reporter's answer leaves, by attribute and epsilon; n reporters leave 1/n of it.

        error = [p(1-p) + (m-1) q(1-q)]/(m (p-q)^2) + (1 - sum_v f_v^2)/m

    where:
        p, q  are the probabilities that a report holds the true value, and any one other (as in ``SubsetSelection``),
        m     is the number of values, over which the error is averaged,
        f_v   are the frequencies of the values: the second term is that of drawing who is asked.
    """

    sizes: tuple[int, ...]
    frequencies: tuple[Array, ...] | None = None
    """What is known of the frequencies; equally frequent values, the worst case, if nothing is."""

    def __post_init__(self) -> None:
        """Refuse frequencies of other attributes."""
        if self.frequencies is not None:
            known = tuple(np.asarray(each, dtype=np.float64) for each in self.frequencies)
            if tuple(each.shape for each in known) != tuple((size,) for size in self.sizes):
                raise ParameterError(
                    "frequencies",
                    [each.shape for each in known],
                    f"for {self.sizes} values",
                    "Give one for each value.",
                )
            object.__setattr__(self, "frequencies", known)

    @cached_property
    def drawing(self) -> Array:
        """(1 - sum f^2)/m of every attribute."""
        known = self.frequencies or tuple(np.full(m, 1 / m) for m in self.sizes)
        squares = [float((np.clip(f, 0, 1) ** 2).sum()) for f in known]
        return np.array([(1 - min(1.0, square)) / m for square, m in zip(squares, self.sizes, strict=True)])

    def of(self, epsilons: Array, single: NDArray[np.bool_] | Sequence[bool]) -> Array:
        """The error of every attribute (along the last axis) with the best width: inf where epsilon is 0."""
        return self.best(epsilons, single)[0]

    def best(self, epsilons: Array, single: NDArray[np.bool_] | Sequence[bool]) -> tuple[Array, NDArray[np.int64]]:
        """The error of every attribute, and how many values a report should name: 1 where it is to be ``single``.

        The mean error over all values is least near w = m/(e^epsilon + 1); both neighbours are tried.
        """
        m = np.array(self.sizes, dtype=np.float64)
        ratio = np.exp(epsilons)
        ideal = np.floor(m / (ratio + 1))
        noise, widths = np.full(np.shape(epsilons), np.inf), np.ones(np.shape(epsilons), dtype=np.int64)
        for step in (0, 1):
            w = np.where(single, 1.0, np.clip(ideal + step, 1, m - 1))
            p = w * ratio / (w * ratio + m - w)
            q = (w - p) / (m - 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                each = (p * (1 - p) + (m - 1) * q * (1 - q)) / (m * (p - q) ** 2)
            better = (epsilons > 0) & (each < noise)
            noise, widths = np.where(better, each, noise), np.where(better, w.astype(np.int64), widths)
        return np.asarray(noise + self.drawing), widths
