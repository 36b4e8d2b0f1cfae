"""Types of arrays that many modules speak of, the one rule by which values are ranked, and long arrays in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

Array = NDArray[np.float64]
"""Real numbers: counts that carry noise, probabilities, scores."""

Ids = NDArray[np.int64]
"""Whole numbers that name things by their position in a list: users, records, queries, values."""

Bools = NDArray[np.bool_]
"""Yes or no for each of many."""


BLOCK = 1 << 18
"""How many elements of a long array exist at a time."""


def distinct(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """The different values, ascending, as ``numpy.unique`` has them, which would load NumPy's masked arrays."""
    ordered = np.sort(values, axis=None)
    return ordered[np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])]


def medians(values: Array) -> Array:
    """The medians along the last axis, as ``numpy.median`` has them, which would load NumPy's masked arrays."""
    length = values.shape[-1]
    middle = slice((length - 1) // 2, length // 2 + 1)
    ordered = np.partition(values, [middle.start, middle.stop - 1, length - 1], axis=-1)  # nan comes last
    return np.where(np.isnan(ordered[..., -1]), np.nan, np.mean(ordered[..., middle], axis=-1))


def falling_order(values: NDArray[Any]) -> Ids:
    """The positions of values from the largest to the smallest: ties stay as they stand, nan comes last."""
    return np.argsort(-values, kind="stable")


def ranks_in_groups(values: NDArray[Any], group: Ids) -> tuple[Ids, Ids]:
    """The order by group and then by falling value, and each one's rank in its group, from 0, in that order."""
    order = np.lexsort((-values, group))
    inside = group[order]
    return order, np.arange(len(order)) - np.searchsorted(inside, inside)


def repeated_in_blocks(values: Ids, times: Ids) -> Iterator[Ids]:
    """Every value so many times, one after the other as in ``numpy.repeat``, in blocks of :data:`BLOCK` at most."""
    ends = np.cumsum(times)
    for start in range(0, int(times.sum()), BLOCK):
        stop = start + BLOCK
        first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop) + 1
        inside = np.minimum(ends[first:last], stop) - np.maximum((ends - times)[first:last], start)
        yield np.repeat(values[first:last], inside)


def describe_marks(marks: NDArray[Any]) -> str:
    """What marks that were refused are, for people: how many, or of which kind."""
    number = "1 mark" if marks.size == 1 else f"{marks.size} marks"
    if marks.ndim != 1:
        return f"{number} in {marks.ndim} dimensions"
    return number if marks.dtype == np.bool_ else f"{number} that are not all True or False"
