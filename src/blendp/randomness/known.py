"""Words that everybody can compute: for checks that two programs draw alike, never for data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blendp.randomness.random import Random

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class KnownWords(Random):
    """The words of SplitMix64 from a seed. Releases refuse it: whoever knows the seed knows every word.

    word_i = mix(seed + i gamma mod 2^64),    i = 1, 2, ...

    where:
        gamma  is 0x9E3779B97F4A7C15, and
        mix    is z ^= z >> 30, z *= 0xBF58476D1CE4E5B9, z ^= z >> 27, z *= 0x94D049BB133111EB, z ^= z >> 31.
    """

    def __init__(self, seed: int) -> None:
        """Start the words of this 64-bit seed."""
        self._seed, self._drawn = np.uint64(seed), 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words."""
        steps = np.arange(self._drawn + 1, self._drawn + count + 1, dtype=np.uint64)
        self._drawn += count
        z = self._seed + steps * _GAMMA
        z = (z ^ z >> np.uint64(30)) * _FIRST
        z = (z ^ z >> np.uint64(27)) * _SECOND
        return z ^ z >> np.uint64(31)
