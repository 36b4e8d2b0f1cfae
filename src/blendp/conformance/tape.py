"""Random words that are written down: what is drawn from them can be drawn again, in any language."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blendp.randomness import ReleaseRandom

WORD_BYTES = 8


class TapeError(RuntimeError):
    """A tape that ends before the draw does: the vector is wrong, or more is drawn than the specification says."""


class Tape(ReleaseRandom):
    """The words of a tape, each 8 bytes, the least significant first, in the order in which they are drawn.

    It passes for released randomness, so that the very code that devices run can be replayed. What is drawn from it is
    about nobody: both are published.
    """

    def __init__(self, data: bytes) -> None:
        """The tape with these bytes."""
        super().__init__()
        self._data = np.frombuffer(data, dtype="<u8")
        self.used = 0
        """How many words were drawn so far."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next words of the tape."""
        end = self.used + count
        if end > len(self._data):
            raise TapeError(f"The tape has {len(self._data)} words, and word {end} is asked for.")
        drawn = self._data[self.used : end].astype(np.uint64)
        self.used = end
        return drawn
