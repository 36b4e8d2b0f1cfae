"""Vectors cut to a length: never longer in exact arithmetic, and hardly shorter than they might be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blendp.mechanisms.filtered_union.bounded import bounded, root_up

VECTORS = st.lists(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=30), min_size=1, max_size=5)


def cut(vectors: list[list[int]], length: int, *, grow: bool = False) -> list[list[int]]:
    owner = np.repeat(np.arange(len(vectors)), [len(each) for each in vectors])
    flat = np.array([x for each in vectors for x in each], dtype=np.int64)
    result = bounded(owner, flat, length, grow=grow)
    return [result[owner == i].tolist() for i in range(len(vectors))]


@given(VECTORS, st.integers(1, 1024), st.booleans())
@example([[3, 4]], 5, True)
@example([[1] * 4, [0, 0], [512]], 512, True)
@example([[1 << 20] * 30], 1024, False)
def test_every_part_is_the_floor_of_the_exact_one(vectors: list[list[int]], length: int, grow: bool) -> None:
    """floor(v length/|v|) = isqrt(floor(v^2 length^2/|v|^2)), for every owner by themselves."""
    for before, after in zip(vectors, cut(vectors, length, grow=grow), strict=True):
        square = sum(v * v for v in before)
        if square > length**2 or (grow and square):
            assert after == [math.isqrt(v * v * length**2 // square) for v in before]
        else:
            assert after == before
        assert sum(v * v for v in after) <= length**2


def test_a_float_that_is_too_high_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots that come out too small, as a bad library's might."""
    monkeypatch.setattr("blendp.mechanisms.filtered_union.bounded.np.sqrt", lambda x: np.power(x, 0.5) * 0.9)
    assert cut([[3, 4], [7, 0, 24]], 100, grow=True) == [[60, 80], [28, 0, 96]]


def test_nothing_to_cut() -> None:
    nobody = np.zeros(0, dtype=np.int64)
    assert bounded(nobody, nobody, 5).tolist() == bounded(nobody, nobody, 5, grow=True).tolist() == []


@given(st.fractions(Fraction(1, 10**6), 10**15))
def test_roots_are_rounded_up_by_one_step_at_most(square: Fraction) -> None:
    root = root_up(square)
    assert root**2 >= square
    assert (root - Fraction(1, 1 << 16)) ** 2 < square or root == Fraction(1, 1 << 16)
    assert (1 << 16) % root.denominator == 0
