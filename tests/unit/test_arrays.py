"""The one rule by which values are ranked, and long arrays in blocks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from hypothesis.extra.numpy import arrays as some_arrays
from numpy.typing import NDArray

from blendp import arrays
from blendp.arrays import distinct, falling_order, medians, ranks_in_groups


def test_the_largest_comes_first_ties_stay_as_they_stand_and_nan_comes_last() -> None:
    assert falling_order(np.array([1.0, np.nan, 3.0, 1.0, np.nan, -np.inf])).tolist() == [2, 0, 3, 5, 1, 4]
    assert falling_order(np.array([2, 5, 5, 0])).tolist() == [1, 2, 0, 3]


def test_ranks_start_anew_in_every_group() -> None:
    order, rank = ranks_in_groups(np.array([1.0, 9.0, 4.0, 9.0, 2.0]), np.array([1, 0, 1, 1, 0]))
    assert order.tolist() == [1, 4, 3, 2, 0]
    assert rank.tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("times", [[0, 3, 0, 7, 1], [4, 4], [5], [], [0, 0], [1] * 11, [20, 0, 1]])
def test_blocks_are_the_repeated_values(monkeypatch: pytest.MonkeyPatch, times: list[int]) -> None:
    monkeypatch.setattr(arrays, "BLOCK", 4)
    values, counts = 10 * np.arange(len(times)), np.array(times, dtype=np.int64)
    blocks = list(arrays.repeated_in_blocks(values, counts))
    assert [len(block) for block in blocks[:-1]] == [4] * (len(blocks) - 1)
    assert np.concatenate([*blocks, []]).tolist() == np.repeat(values, counts).tolist()


@given(
    some_arrays(
        st.sampled_from(["i8", "i4", "u1", "?", "f8", "<U2"]).map(np.dtype),
        array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=20),
    )
)
def test_different_values_are_those_of_numpy(values: NDArray[Any]) -> None:
    if values.dtype.kind == "f":
        values = np.nan_to_num(values)
    ours, expected = distinct(values), np.unique(values)
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours, expected)


@given(some_arrays(np.float64, array_shapes(min_dims=1, max_dims=3, max_side=9)))
def test_medians_are_those_of_numpy(values: NDArray[np.float64]) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(medians(values), np.median(values, axis=-1))
