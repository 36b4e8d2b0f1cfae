"""What a model of correlated attributes has to answer, and the checks all models share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError

MAX_CELLS = 1 << 16
"""How many cells of a table are gone through one by one."""


class Model(Protocol):
    """A law of the answers of one person, public or learnt, that a guarantee may rest on."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values every attribute has."""

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged."""

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """What reports tell about every attribute, at most: a row for every row of ``epsilons``.

            loss_i = max over values s, s' of attribute i and reports B of  ln P(B | b_i = s)/P(B | b_i = s')

        where:
            epsilons[., j]  is the likelihood ratio that attribute j is reported with, 0 if it is not reported,
            single[j]       says that a report names one value (k-ary randomised response); otherwise it is any
                            report of that likelihood ratio, such as a subset.
        """

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array | None:
        """The same for one vector, exactly and not at most, or None where that cannot be computed."""


def require_epsilons(epsilons: Sequence[float] | Array, sizes: tuple[int, ...]) -> Array:
    """One finite ratio of at least 0 for every attribute, as an array."""
    values = np.asarray(epsilons, dtype=np.float64)
    if values.shape != (len(sizes),) or not np.isfinite(values).all() or (values < 0).any() or (values > 50).any():
        raise ParameterError(
            "epsilons",
            values.tolist(),
            f"{len(sizes)} numbers from 0 to 50",
            "Give one for every attribute, 0 where it is not reported.",
        )
    return values


def needs_subsets(epsilons: Array, single: NDArray[np.bool_], sizes: tuple[int, ...]) -> bool:
    """Whether an attribute is reported by sets of its values."""
    return bool(((epsilons > 0) & ~np.asarray(single) & (np.array(sizes) > 2)).any())


def require_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Numbers of values, each at least 2."""
    for attribute, size in enumerate(sizes):
        if size < 2:
            raise ParameterError(
                f"values of attribute {attribute}", size, "at least 2", "An attribute with one value tells nothing."
            )
    return tuple(int(size) for size in sizes)


def margin_of(table: Array, kept: tuple[int, ...]) -> Array:
    """The sums of a table over all axes but these, which come in this order."""
    margin = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in kept))
    left = sorted(kept)
    return np.transpose(margin, [left.index(axis) for axis in kept])
