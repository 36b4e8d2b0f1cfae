"""Nothing is assumed about how attributes hang together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array


@dataclass(frozen=True)
class AnyLaw:
    """Any law at all: reports tell about an attribute whatever they tell about the record, plain local privacy."""

    sizes: tuple[int, ...]

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged."""
        return True

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:  # noqa: ARG002
        """The sum of all epsilons, for every attribute."""
        ratios = np.atleast_2d(epsilons)
        return np.repeat(ratios.sum(axis=1, keepdims=True), ratios.shape[1], axis=1)

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """The same: it is reached if all attributes are one."""
        return np.asarray(self.losses(epsilons, single)[0])
