"""What one group of people says about the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VARIANCES = ("mended", "journal", "conference")
"""Which variance formulas and weights are used.

``mended``: unbiased variances and stable weights. ``journal`` and ``conference``: the formulas as printed in the
journal and the conference version, for reproduction only; the conference version's are wrong.
"""


@dataclass(frozen=True)
class Level:
    """Probabilities at one level (cells, or queries), with what is known about their errors.

    where:
        probability  is unbiased and may be negative or above 1; nan where the group says nothing,
        variance     estimates the variance of ``probability``; inf where it cannot be known,
        floor        is the variance that the noise alone gives to an item that nobody holds.
    """

    probability: NDArray[np.float64]
    variance: NDArray[np.float64]
    floor: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.probability, self.variance, self.floor):
            array.setflags(write=False)


@dataclass(frozen=True)
class GroupEstimate:
    """One group's estimates: of every cell of the list, and of every query (the wildcard last)."""

    users: int
    cells: Level
    queries: Level


def nothing(size: int) -> Level:
    """The level of a group that says nothing."""
    return Level(np.full(size, np.nan), np.full(size, np.inf), np.full(size, np.inf))
