"""Drawing from counts that come in blocks, as from all of them at once."""

import numpy as np
from numpy.typing import NDArray

from blendp.methods.people import in_blocks


def large(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Which records of a block have at least five people, and how many they have."""
    chosen = np.flatnonzero(counts >= 5)
    return chosen, counts[chosen]


def test_records_are_numbered_through_all_blocks() -> None:
    counts = np.array([7, 1, 5, 0, 9, 5, 2, 8])
    blocks = [counts[:3], counts[3:4], counts[4:]]
    for whole, parts in zip(large(counts), in_blocks(blocks, large), strict=True):
        assert parts.tolist() == whole.tolist()
    assert [part.tolist() for part in in_blocks([], large)] == [[], []]
