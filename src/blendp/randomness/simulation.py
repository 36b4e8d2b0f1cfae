"""Randomness for experiments: seeded, reproducible, and of a type that releases refuse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blendp.errors import require_count
from blendp.randomness.random import Random


class SimulationRandom(Random):
    """A PCG64 stream from a seed. Never for data that is released: whoever knows the seed undoes the noise."""

    def __init__(self, seed: int) -> None:
        """Start the stream of this seed."""
        require_count("seed", seed, min_value=0, remedy="Use a whole number such as 0.")
        self._sequence = np.random.SeedSequence(seed)
        self._bits = np.random.PCG64(self._sequence)

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent uniform 64-bit words."""
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)

    @property
    def generator(self) -> np.random.Generator:
        """NumPy's laws on this stream, for what only experiments draw."""
        return np.random.Generator(self._bits)

    def spawn(self) -> SimulationRandom:
        """An independent stream, determined by this one's seed and how many were spawned before."""
        child = SimulationRandom.__new__(SimulationRandom)
        child._sequence = self._sequence.spawn(1)[0]
        child._bits = np.random.PCG64(child._sequence)
        return child
