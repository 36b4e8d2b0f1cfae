"""What a slow geometric number has beyond a fast one: it is taken off noise to decide what is listed. See PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Ids
from blendp.errors import ParameterError
from blendp.mechanisms.exact import WORD_BITS, ExactTail, floor_bits, geometric_edges, power_bits
from blendp.randomness import Random


@dataclass(frozen=True)
class GeometricGap:
    """The number V >= 0 for which G(slow) has the law of G(fast) + V, V independent of G(fast):

        P(V >= v) = (b - c)/(1 - c) b^(v-1)  for v >= 1,     P(V = 0) = (1 - b)/(1 - c)

    where:
        G(rate)     is geometric, P(G >= g) = e^(-rate g),
        slow, fast  are rates, exact fractions, slow < fast; b = e^(-slow), c = e^(-fast).
    """

    slow: Fraction
    fast: Fraction

    def __post_init__(self) -> None:
        """Refuse rates between which there is no gap."""
        if not 0 < self.slow < self.fast:
            raise ParameterError(
                "slow rate", float(self.slow), f"above 0 and below {float(self.fast):g}", "Give the slower rate first."
            )

    def at_least(self, v: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(V >= v)."""
        v = np.asarray(v, dtype=np.int64)
        first = math.expm1(self.slow - self.fast) / math.expm1(-self.fast) * math.exp(-self.slow)
        return np.where(v >= 1, first * np.exp(-float(self.slow) * np.maximum(v - 1, 0)), 1.0)

    def tail_bits(self, v: int, bits: int) -> int:
        """floor(2^bits P(V >= v)), exactly, for v >= 1."""

        def tail() -> Decimal:
            slow, fast = (Decimal(rate.numerator) / rate.denominator for rate in (self.slow, self.fast))
            b, c = ((-rate).exp(getcontext()) for rate in (slow, fast))
            return (b - c) / (1 - c) * (-slow * (v - 1)).exp(getcontext())

        return floor_bits(tail, bits)

    @cached_property
    def _tail(self) -> ExactTail:
        wide = 2 * WORD_BITS
        edges = geometric_edges(self.tail_bits(1, wide), power_bits(self.slow, wide), self.tail_bits)
        return ExactTail(self.tail_bits, edges)

    def draw(self, count: int, random: Random) -> Ids:
        """``count`` independent draws, by exact inversion of one uniform number each."""
        return self._tail.above(random.words(count), random)
