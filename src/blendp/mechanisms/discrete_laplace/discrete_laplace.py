"""The discrete Laplace law, sampled exactly. See PROOF.md beside this file."""

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
class DiscreteLaplace:
    """Integer noise X with

        P(X = x) = (1 - a)/(1 + a) a^|x|,   a = e^(-rate)

    where:
        rate  is 1/b for the scale b of the Laplace law that it replaces, an exact fraction.

    Added to integer counts that one person moves by at most D in L1, it gives pure (rate D)-differential privacy.
    """

    rate: Fraction

    def __post_init__(self) -> None:
        """Refuse scales whose table would not fit."""
        if not Fraction(1, _MAX_SCALE) <= self.rate <= 100:
            raise ParameterError(
                "noise scale",
                float(1 / self.rate) if self.rate > 1e-300 else math.inf,
                f"from 0.01 to {_MAX_SCALE}",
                "The scale is 2 x records per user / epsilon: raise epsilon or take fewer records from each user.",
            )

    @classmethod
    def for_counts(cls, epsilon: float, records_per_user: int) -> DiscreteLaplace:
        """The noise of scale 2m/epsilon: replacing one user's m records moves the counts by at most 2m in L1."""
        return cls(Fraction(epsilon) / (2 * records_per_user))

    @property
    def scale(self) -> float:
        """b = 1/rate."""
        return float(1 / self.rate)

    @property
    def base(self) -> float:
        """a = e^(-rate)."""
        return math.exp(-self.rate)

    @property
    def variance(self) -> float:
        """2a/(1-a)^2, written so that it stays accurate for large scales."""
        return 1 / (2 * math.sinh(self.rate / 2) ** 2)

    def probability(self, x: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(X = x)."""
        return np.asarray(math.tanh(self.rate / 2) * np.exp(-float(self.rate) * np.abs(x)), dtype=np.float64)

    def at_least(self, x: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(X >= x) = a^x/(1+a) for x >= 1, and 1 - a^(1-x)/(1+a) below."""
        x = np.asarray(x, dtype=np.int64)
        tail = np.exp(-float(self.rate) * np.where(x >= 1, x, 1 - x)) / (1 + self.base)
        return np.where(x >= 1, tail, 1 - tail)

    def tail_bits(self, x: int, bits: int) -> int:
        """floor(2^bits P(X >= x)), exactly, for x >= 1."""

        def tail() -> Decimal:
            rate = Decimal(self.rate.numerator) / self.rate.denominator
            return (-rate * x).exp(getcontext()) / (1 + (-rate).exp(getcontext()))

        return floor_bits(tail, bits)

    @cached_property
    def _tail(self) -> ExactTail:
        """P(X >= x) for x >= 1."""
        wide = 2 * WORD_BITS
        return ExactTail(
            self.tail_bits, geometric_edges(self.tail_bits(1, wide), power_bits(self.rate, wide), self.tail_bits)
        )

    def loss(self) -> float:
        """The exact pure epsilon of a count that one person moves by 1: the rate."""
        return float(self.rate)

    def delta_at(self, epsilon: float) -> float:
        """The exact delta of a count that one person moves by 1: P(X >= 0) (1 - e^(epsilon - rate)), not below 0."""
        return max(0.0, -math.expm1(epsilon - self.rate)) / (1 + self.base)

    @property
    def description(self) -> str:
        """In words."""
        return self.description_per(1)

    def description_per(self, records: int) -> str:
        """The law of X/records in words."""
        return f"discrete Laplace, scale {self.scale / records:.4g}"

    def release(self, count: int, random: ReleaseRandom) -> NDArray[np.int64]:
        """``count`` independent draws for data that is released."""
        require_release(random)
        return self.draw(count, random)

    def draw(self, count: int, random: Random) -> NDArray[np.int64]:
        """``count`` independent draws by exact inversion of one uniform number U each.

        X >= x when U < P(X >= x), and X <= -x when 1 - U is, for x >= 1: both cannot be, as P(X >= 1) < 1/2.
        """
        uniforms = random.words(count)
        return self._tail.above(uniforms, random) - self._tail.above(~uniforms, random)
