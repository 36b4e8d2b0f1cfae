"""Whole-number vectors of people, cut to a length in L2 without rounding up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from blendp.arrays import Ids

_FINE = 1 << 16  # standard deviations are multiples of one over this


def bounded(owner: Ids, values: Ids, length: int, *, grow: bool = False) -> Ids:
    """The vector of every owner, with an L2 norm of ``length`` at most:

        floor(values length/|values|)    where |values| > length, or everywhere with ``grow``

    where:
        owner   is whose number each of ``values`` (0 to 2^20) is,
        |.|     is the root of the sum of an owner's squares, below 2^26: doubles then add them up exactly.

    Roots are floats, so what they give, rounded up, is lowered in whole numbers until it is not too large: f is not if
    f^2 |values|^2 <= values^2 length^2.
    """
    squares = np.bincount(owner, weights=values * values).astype(np.int64)[owner]
    too_long = squares > 0 if grow else squares > length**2
    v, norm = values[too_long], squares[too_long]
    cut = np.ceil(v * (length / np.sqrt(norm))).astype(np.int64)
    while (high := cut * cut * norm > v * v * length**2).any():
        cut -= high
    result = values.copy()
    result[too_long] = cut
    return result


def root_up(square: Fraction) -> Fraction:
    """The square root, rounded up to a multiple of 2^-16, exactly."""
    return Fraction(math.isqrt(math.ceil(square * _FINE**2) - 1) + 1, _FINE)
