"""What one group of people says about the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_count


@dataclass(frozen=True, eq=False)
class Level:
    """Probabilities at one level (cells, or queries), with what is known about their errors.

    where:
        probability  is unbiased for a given list, and may be negative or above 1; nan where the group says nothing,
        variance     estimates the variance of ``probability``; inf where it cannot be known,
        floor        is the variance that the noise alone gives to an item that nobody holds.
    """

    probability: NDArray[np.float64]
    variance: NDArray[np.float64]
    floor: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together, and freeze them."""
        freeze_alike(self.probability, self.variance, self.floor)


@dataclass(frozen=True, eq=False)
class GroupEstimate:
    """One group's estimates: of every cell of the list, and of every query (the wildcard last)."""

    users: int
    cells: Level
    queries: Level

    def __post_init__(self) -> None:
        """Refuse a negative number of people."""
        require_count("users", self.users, min_value=0, remedy="Count the people of the group.")

    def __str__(self) -> str:
        """One line for people."""
        errors = np.sqrt(np.maximum(self.queries.variance[:-1], 0))
        typical = f"±{np.median(errors):.2g}" if len(errors) and np.isfinite(errors).all() else "unknown"
        return (
            f"{self.users:,} people on {len(self.cells.probability)} cells of {len(self.queries.probability)} queries, "
            f"typical error of a query {typical}"
        )


def freeze_alike(*arrays: NDArray[np.float64]) -> None:
    """Refuse arrays of unequal shapes, and make the arrays read-only."""
    shapes = [array.shape for array in arrays]
    if len(set(shapes)) > 1 or arrays[0].ndim != 1:
        raise ParameterError("arrays", shapes, "vectors of one length", "Give one number for every item.")
    for array in arrays:
        array.setflags(write=False)


def nothing(size: int) -> Level:
    """The level of a group that says nothing."""
    return Level(np.full(size, np.nan), np.full(size, np.inf), np.full(size, np.inf))
