"""The few ways in which blendp turns random words into choices, exact and vectorised."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.errors import ParameterError

COIN_BITS = 53
"""Coins compare this many random bits with a numerator: a coin's probability is numerator / 2^53."""


class Random(ABC):
    """A source of uniform 64-bit words, and exact choices made from them."""

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent uniform 64-bit words."""

    def key(self) -> int:
        """One uniform 64-bit number."""
        return int(self.words(1)[0])

    def coins(self, numerators: ArrayLike, count: int) -> NDArray[np.bool_]:
        """``count`` independent coins, each true with probability exactly numerator / 2^53."""
        return (self.words(count) >> np.uint64(64 - COIN_BITS)) < np.asarray(numerators, dtype=np.uint64)

    def below(self, bounds: ArrayLike, count: int) -> NDArray[np.int64]:
        """``count`` independent integers, each exactly uniform on 0 .. bound - 1, for bounds from 1 to 2^32.

        Lemire's method: with w uniform on 32 bits, floor(w * bound / 2^32) is uniform once the words whose
        low product falls under 2^32 mod bound are drawn again.
        """
        limits = np.asarray(bounds, dtype=np.uint64)
        if limits.size and int(limits.max()) > 1 << 32:
            raise ParameterError("bounds", int(limits.max()), "at most 2^32", "Draw two numbers instead.")
        result, open_ = self._below_once(limits, count)
        while len(open_):
            result[open_], again = self._below_once(limits if limits.ndim == 0 else limits[open_], len(open_))
            open_ = open_[again]
        return result

    def _below_once(self, limits: NDArray[np.uint64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Values, and the positions whose word has to be drawn again."""
        drawn = self.words((count + 1) // 2).view(np.uint32)[:count]
        product = drawn * limits
        low = product & np.uint64(0xFFFFFFFF)
        suspects = np.flatnonzero(low < limits)
        bounds = limits if limits.ndim == 0 else limits[suspects]
        refused = suspects[low[suspects] < np.uint64(1 << 32) % bounds]
        return (product >> np.uint64(32)).view(np.int64), refused

    def subset(self, population: int, size: int) -> NDArray[np.int64]:
        """``size`` of the numbers 0 .. population - 1, every subset equally likely, in ascending order.

        Large subsets take the numbers with the smallest words, drawn again if the last in and the first out are equal.
        """
        if size * 8 > population:
            while True:
                keys = self.words(population)
                if size == population:
                    return np.arange(size, dtype=np.int64)
                order = np.argpartition(keys, (size - 1, size))
                if keys[order[size - 1]] != keys[order[size]]:
                    return np.sort(order[:size]).astype(np.int64)
        chosen = np.empty(0, dtype=np.int64)
        while len(chosen) < size:
            more = self.below(population, size - len(chosen))
            fresh = more[~np.isin(more, chosen)]
            _, first = np.unique(fresh, return_index=True)
            chosen = np.concatenate([chosen, fresh[np.sort(first)]])
        return np.sort(chosen)
