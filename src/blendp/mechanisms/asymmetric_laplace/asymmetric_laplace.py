"""The discrete Laplace law with a rate of its own on each side, sampled exactly. See PROOF.md beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.mechanisms.exact import WORD_BITS, ExactTail, floor_bits, geometric_edges, power_bits
from blendp.randomness import Random, ReleaseRandom, require_release

_MAX_SCALE = 20_000


@dataclass(frozen=True)
class AsymmetricLaplace:
    """Integer noise X with

        P(X = x) = C e^(-falling x) for x >= 0,   C e^(rising x) for x < 0,   C = (1 - a)(1 - b)/(1 - ab)

    where:
        falling  is the rate of the upper side, a = e^(-falling), an exact fraction,
        rising   is the rate of the lower side, b = e^(-rising), an exact fraction.

    Added to a count, it answers "one less" with at most e^falling the odds, and "one more" with at most e^rising.
    """

    falling: Fraction
    rising: Fraction

    def __post_init__(self) -> None:
        """Refuse rates whose table would not fit."""
        for name, rate in (("falling rate", self.falling), ("rising rate", self.rising)):
            if not Fraction(1, _MAX_SCALE) <= rate <= 100:
                raise ParameterError(
                    name,
                    float(rate),
                    f"from 1/{_MAX_SCALE} to 100",
                    "A rate is a share of epsilon: raise epsilon, or give this side a larger share.",
                )

    @property
    def mean(self) -> float:
        """a/(1-a) - b/(1-b), written so that rates that nearly agree lose no digits."""
        difference = math.exp(self.falling) * math.expm1(self.rising - self.falling)
        return difference / (math.expm1(self.falling) * math.expm1(self.rising))

    @property
    def variance(self) -> float:
        """a/(1-a)^2 + b/(1-b)^2, written so that it stays accurate for small rates."""
        return (math.sinh(self.falling / 2) ** -2 + math.sinh(self.rising / 2) ** -2) / 4

    @property
    def upper(self) -> float:
        """P(X >= 0) = (1 - b)/(1 - ab)."""
        return math.expm1(-self.rising) / math.expm1(-(self.falling + self.rising))

    @property
    def lower(self) -> float:
        """P(X <= 0) = (1 - a)/(1 - ab)."""
        return math.expm1(-self.falling) / math.expm1(-(self.falling + self.rising))

    def probability(self, x: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(X = x)."""
        x = np.asarray(x, dtype=np.int64)
        rates = np.where(x >= 0, float(self.falling), float(self.rising))
        return np.asarray(-math.expm1(-self.falling) * self.upper * np.exp(-rates * np.abs(x)), dtype=np.float64)

    def at_least(self, x: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(X >= x) = P(X >= 0) a^x for x >= 0, and 1 - P(X <= 0) b^(1-x) below."""
        x = np.asarray(x, dtype=np.int64)
        above = self.upper * np.exp(-float(self.falling) * np.maximum(x, 0))
        below = self.lower * np.exp(-float(self.rising) * np.maximum(1 - x, 0))
        return np.where(x >= 0, above, 1 - below)

    def tail_bits(self, x: int, bits: int) -> int:
        """floor(2^bits P(X >= x)), exactly, for x >= 0."""
        return _side_bits(self.falling, self.rising, x, bits)

    def lower_bits(self, x: int, bits: int) -> int:
        """floor(2^bits P(X <= -x)), exactly, for x >= 0."""
        return _side_bits(self.rising, self.falling, x, bits)

    @cached_property
    def _tail(self) -> ExactTail:
        """P(X >= x) for x >= 1."""
        wide = 2 * WORD_BITS
        return ExactTail(
            self.tail_bits, geometric_edges(self.tail_bits(1, wide), power_bits(self.falling, wide), self.tail_bits)
        )

    @cached_property
    def _lower_tail(self) -> ExactTail:
        """P(X <= -x) for x >= 1."""
        wide = 2 * WORD_BITS
        return ExactTail(
            self.lower_bits, geometric_edges(self.lower_bits(1, wide), power_bits(self.rising, wide), self.lower_bits)
        )

    def loss(self) -> float:
        """The exact pure epsilon of a count that one person moves by 1, up or down: the larger rate."""
        return float(max(self.falling, self.rising))

    def delta_at(self, epsilon: float) -> float:
        """The exact delta of a count that one person moves by 1, the larger of both directions:

        P(X >= 0) (1 - e^(epsilon - falling))   down,      P(X <= 0) (1 - e^(epsilon - rising))   up,    not below 0
        """
        down, up = (max(0.0, -math.expm1(epsilon - rate)) for rate in (self.falling, self.rising))
        return max(self.upper * down, self.lower * up)

    @property
    def description(self) -> str:
        """In words."""
        return self.description_per(1)

    def description_per(self, records: int) -> str:
        """The law of X/records in words."""
        above, below = (float(rate * records) for rate in (self.falling, self.rising))
        return f"asymmetric discrete Laplace, rates {above:.4g} above and {below:.4g} below 0"

    def release(self, count: int, random: ReleaseRandom) -> NDArray[np.int64]:
        """``count`` independent draws for data that is released."""
        require_release(random)
        return self.draw(count, random)

    def draw(self, count: int, random: Random) -> NDArray[np.int64]:
        """``count`` independent draws by exact inversion of one uniform number U each.

        X >= x when U < P(X >= x), and X <= -x when 1 - U < P(X <= -x), for x >= 1: both cannot be, as the two
        probabilities sum to less than 1.
        """
        uniforms = random.words(count)
        return self._tail.above(uniforms, random) - self._lower_tail.above(~uniforms, random)


def _side_bits(rate: Fraction, other: Fraction, x: int, bits: int) -> int:
    """floor(2^bits a^x (1 - b)/(1 - ab)) for a = e^(-rate) and b = e^(-other): either tail, seen from its own side."""

    def tail() -> Decimal:
        own, across = (Decimal(r.numerator) / r.denominator for r in (rate, other))
        a, b = ((-r).exp(getcontext()) for r in (own, across))
        return (-own * x).exp(getcontext()) * (1 - b) / (1 - a * b)

    return floor_bits(tail, bits)
