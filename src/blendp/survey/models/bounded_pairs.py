"""What noisy tables of pairs say, without any assumption on three attributes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.survey.models.any_law import AnyLaw
from blendp.survey.models.tree import Box


@dataclass(frozen=True, eq=False)
class BoundedPairs:
    """Bounds of the law of every attribute given any other, with a given confidence.

    They decide what RS+FD reveals. About reports of several attributes at once pairs say nothing, so these are taken to
    tell all that the record's epsilon allows.
    """

    sizes: tuple[int, ...]
    boxes: Mapping[tuple[int, int], Box]
    confidence: float

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged."""
        return True

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """The sum of all epsilons, for every attribute."""
        return AnyLaw(self.sizes).losses(epsilons, single)

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> None:
        """Never known exactly."""
