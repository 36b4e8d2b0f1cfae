"""The one rule by which values are ranked."""

from __future__ import annotations

import numpy as np

from blendp.arrays import falling_order, holders, ranks_in_groups


def test_the_largest_comes_first_ties_stay_as_they_stand_and_nan_comes_last() -> None:
    assert falling_order(np.array([1.0, np.nan, 3.0, 1.0, np.nan, -np.inf])).tolist() == [2, 0, 3, 5, 1, 4]
    assert falling_order(np.array([2, 5, 5, 0])).tolist() == [1, 2, 0, 3]


def test_ranks_start_anew_in_every_group() -> None:
    order, rank = ranks_in_groups(np.array([1.0, 9.0, 4.0, 9.0, 2.0]), np.array([1, 0, 1, 1, 0]))
    assert order.tolist() == [1, 4, 3, 2, 0]
    assert rank.tolist() == [0, 1, 0, 1, 2]


def test_holders_come_in_blocks_as_often_as_they_are_counted() -> None:
    blocks = list(holders(np.array([2, 0, 3, 1]), 4))
    assert [block.tolist() for block in blocks] == [[0, 0, 2, 2], [2, 3]]
    assert not list(holders(np.array([0, 0])))
