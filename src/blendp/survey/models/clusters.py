"""Groups of attributes that are independent of each other and correlated within."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.survey.models.joint import Joint
from blendp.survey.models.tree import Tree


@dataclass(frozen=True, eq=False)
class Clusters:
    """Independent clusters, each with the positions of its attributes and their law."""

    parts: tuple[tuple[tuple[int, ...], Joint | Tree], ...]

    def __post_init__(self) -> None:
        """Refuse clusters that do not share out the attributes."""
        attributes = sorted(attribute for members, _ in self.parts for attribute in members)
        if (
            not attributes
            or attributes != list(range(len(attributes)))
            or any(len(members) != len(law.sizes) for members, law in self.parts)
        ):
            raise ParameterError(
                "parts",
                [members for members, _ in self.parts],
                "every attribute from 0 on in one cluster, and as many as its law has",
                "Name each attribute once.",
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values every attribute has."""
        size_of = {
            attribute: size for members, law in self.parts for attribute, size in zip(members, law.sizes, strict=True)
        }
        return tuple(size_of[attribute] for attribute in sorted(size_of))

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged."""
        return all(law.takes_subsets for _, law in self.parts)

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """What reports tell about every attribute, at most: only those of its own cluster tell anything."""
        ratios = np.atleast_2d(epsilons)
        losses = np.empty(ratios.shape)
        for members, law in self.parts:
            at = list(members)
            losses[:, at] = law.losses(ratios[:, at], single[at])
        return losses

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array | None:
        """The same, exactly, where all clusters can tell."""
        losses = np.empty(len(epsilons))
        for members, law in self.parts:
            at = list(members)
            exact = law.exact_losses(epsilons[at], single[at])
            if exact is None:
                return None
            losses[at] = exact
        return losses
