"""Counting the items of many encoded reports at once: :meth:`SubsetSelection.decode`, for all rows together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORD_BYTES = 8
_LIMB_BYTES, _LIMB_BITS = 7, 56
_LIMB = (1 << _LIMB_BITS) - 1
_ROUNDING = 2.0**-40
_BLOCK = 1 << 15
_LEAST = 1 << 12
_CACHE = 1 << 22
_GROUP = 1 << 27


def count_items(data: NDArray[np.uint8], items: int, size: int) -> NDArray[np.int64]:
    """How many of the reports contain each item, from their ranks: rows of bytes, all of them possible reports."""
    if data.shape[1] <= _WORD_BYTES and 2 * size <= items:
        return _count_by_search(data, items, size)
    totals = np.zeros(items, dtype=np.int64)
    length = max(1, _GROUP // _limb_count(data.shape[1]) // _WORD_BYTES)
    for start in range(0, len(data), length):
        totals += _count_by_walk(data[start : start + length], items, size)
    return totals


def _count_by_search(data: NDArray[np.uint8], items: int, size: int) -> NDArray[np.int64]:
    """Ranks of one word: the largest item of a report is the last c with C(c, left) <= rank, and so on below it.

    Up to size = items/2 no C(c, left) is above the number of reports, so all of them fit a word too.
    """
    steps = [np.arange(items, dtype=np.uint64)]
    for _ in range(1, size):
        steps.append(np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(steps[-1])[:-1]]))
    totals = np.zeros(items, dtype=np.int64)
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        words = np.zeros((len(block), _WORD_BYTES), dtype=np.uint8)
        words[:, _WORD_BYTES - data.shape[1] :] = block
        ranks = words.view(">u8").ravel().astype(np.uint64)
        for column in reversed(steps):
            largest = np.searchsorted(column, ranks, side="right") - 1
            totals += np.bincount(largest, minlength=items)
            ranks -= column[largest]
    return totals


def _count_by_walk(data: NDArray[np.uint8], items: int, size: int) -> NDArray[np.int64]:
    """Ranks of any length: from the last item down, as ``decode`` walks, once for all rows with as many items left.

        C(item, left) = C(item + 1, left) (item + 1 - left)/(item + 1)
        C(item, left - 1) = C(item + 1, left) - C(item, left)

    where:
        left  is how many items of a report are still to be found; the next is ``item`` when rank >= C(item, left).
    """
    totals = np.zeros(items, dtype=np.int64)
    parts = list(_parts(data, size))
    holders = np.zeros(size + 1, dtype=np.int64)
    holders[size] = len(data)
    below = {size: math.comb(items, size)}
    for item in range(items - 1, -1, -1):
        present = np.flatnonzero(holders[1:]) + 1
        if not len(present):
            break
        without = {left: below[left] * (item + 1 - left) // (item + 1) for left in present.tolist()}
        steps = _Steps.of(below, without, size)
        moved = np.zeros_like(holders)
        for part in parts:
            moved += part.step(steps)
        totals[item] = moved.sum()
        holders -= moved
        holders[:-1] += moved[1:]
        below = {left - 1: below[left] - without[left] for left in without} | without
    return totals


@dataclass(frozen=True, eq=False)
class _Steps:
    """C(item, left) of one item for every ``left`` that a row has.

    where:
        limbs   holds the numbers, a column each, in digits of 56 bits, the lowest first,
        place   is the column of every ``left`` in it,
        top     is the highest limb that a rank with so many items left may have,
        bounds  holds just below log2 C(item, left): ranks with a smaller logarithm do not reach it.
    """

    limbs: NDArray[np.int64]
    place: NDArray[np.int64]
    top: NDArray[np.int64]
    bounds: NDArray[np.float64]

    @classmethod
    def of(cls, below: dict[int, int], without: dict[int, int], size: int) -> _Steps:
        """From C(item + 1, left), which all ranks with so many items left are below, and C(item, left)."""
        tops = {left: (below[left].bit_length() - 1) // _LIMB_BITS for left in without}
        width = max(tops.values()) + 1
        data = b"".join(number.to_bytes(width * _LIMB_BYTES, "big") for number in without.values())
        place, top, bounds = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64), np.full(size + 1, np.inf)
        present = list(without)
        place[present] = np.arange(len(present))
        top[present] = list(tops.values())
        bounds[present] = [math.log2(number) if number else -math.inf for number in without.values()]
        limbs = _limbs(np.frombuffer(data, dtype=np.uint8).reshape(len(present), -1))
        return cls(limbs, place, top, bounds - width * _ROUNDING)


@dataclass(eq=False)
class _Part:
    """Reports that fit the processor's cache: their ranks, the ranks' logarithms, and how many items are left."""

    ranks: NDArray[np.int64]
    logs: NDArray[np.float64]
    left: NDArray[np.int64]

    def step(self, steps: _Steps) -> NDArray[np.int64]:
        """Take the item out of the reports that hold it; of these, how many there were for every ``left``.

        Logarithms, which are never too small, tell nearly always; where they do not, the difference is negative.
        """
        reached = np.flatnonzero(self.logs >= steps.bounds.take(self.left))
        left = self.left.take(reached)
        place = steps.place.take(left)
        rest = np.empty((len(steps.limbs), len(reached)), dtype=np.int64)
        for limb, own, taken in zip(rest, self.ranks, steps.limbs, strict=False):
            np.subtract(own.take(reached), taken.take(place), out=limb)
        _settle_borrows(rest)
        wrong = rest[-1] < 0
        if wrong.any():
            reached, left, rest = reached[~wrong], left[~wrong], rest[:, ~wrong]
        for limb, own in zip(rest, self.ranks, strict=False):
            own[reached] = limb
        self.logs[reached] = _log2(rest, steps.top[left])
        self.left[reached] = left - 1
        return np.bincount(left, minlength=len(steps.place))


def _parts(data: NDArray[np.uint8], size: int) -> Iterator[_Part]:
    length = max(_LEAST, _CACHE // (_limb_count(data.shape[1]) * _WORD_BYTES))
    for start in range(0, len(data), length):
        ranks = _limbs(data[start : start + length])
        logs = _log2(ranks, np.full(ranks.shape[1], len(ranks) - 1))
        yield _Part(ranks, logs, np.full(ranks.shape[1], size))


def _limb_count(width: int) -> int:
    """Limbs for so many bytes."""
    return -(-width // _LIMB_BYTES)


def _limbs(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Rows of bytes, the most significant first, as columns of limbs, the lowest first."""
    rows, width = data.shape
    count = _limb_count(width)
    padded = np.zeros((rows, count * _LIMB_BYTES), dtype=np.uint8)
    padded[:, padded.shape[1] - width :] = data
    words = np.zeros((rows, count, _WORD_BYTES), dtype=np.uint8)
    words[:, :, 1:] = padded.reshape(rows, count, _LIMB_BYTES)
    return np.ascontiguousarray(words.view(">i8")[:, ::-1, 0].T, dtype=np.int64)


def _settle_borrows(rest: NDArray[np.int64]) -> None:
    """Bring all limbs but the highest into their range; that has the sign of the whole."""
    for limb in range(len(rest) - 1):
        rest[limb + 1] += rest[limb] >> _LIMB_BITS
        rest[limb] &= _LIMB


def _log2(limbs: NDArray[np.int64], top: NDArray[np.int64]) -> NDArray[np.float64]:
    """log2 of every column, from the limbs ``top`` and the one below it; never too small but by rounding."""
    columns = limbs.shape[1]
    at = top * columns + np.arange(columns)
    low = np.where(top > 0, limbs.take(at - columns) + 1, 0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(limbs.take(at) + low * 2.0**-_LIMB_BITS) + _LIMB_BITS * top)
