"""Gaussian noise rounded to integers, sampled exactly. See PROOF.md beside this file."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import distinct
from blendp.errors import ParameterError
from blendp.mechanisms.exact import WORD_BITS, ExactTail, below_tail, floor_bits, power_bits
from blendp.privacy.gaussian import gaussian_delta, normal_tail
from blendp.randomness import Random, ReleaseRandom, require_release

MAX_TABLE_SIGMA = 100_000
"""The largest sigma for which a table of edges is made (about 10 sigma of them, some seconds)."""

_MIN_SIGMA, _MAX_SIGMA = Fraction(1, 16), 10**9
_FEW, _FEW_OF_SIGMA = 4, 8  # fewer draws than this, and than sigma over that, do not pay for a table
_STEPPED = 8  # from this sigma on, the table is made in steps
_FIXED = 160  # bits after the point of the numbers that make it
_SLACK_BITS = 64  # the last of them that errors may have changed
_THINNED = 4  # from so many leading zeros of the probability on, records are thinned before they take a word each


@dataclass(frozen=True)
class RoundedGaussian:
    """Integer noise X = round(N), with N normal of mean 0 and standard deviation sigma:

        P(X >= x) = Q((x - 1/2)/sigma),   P(X <= -x) = P(X >= x)

    where:
        sigma  is an exact fraction,
        Q(z)   is the probability that a standard normal number is at least z.

    Added to integer vectors it is the Gaussian mechanism followed by rounding, so it has that mechanism's privacy, in
    any dimension and in any sequence of adaptively chosen steps: mu = (L2 sensitivity)/sigma.
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        """Refuse scales that cannot be sampled."""
        if not _MIN_SIGMA <= self.sigma <= _MAX_SIGMA:
            raise ParameterError(
                "sigma",
                float(self.sigma),
                "from 1/16 to 10^9",
                "Sigma is the L2 sensitivity / mu: change epsilon, or take fewer records from each user.",
            )

    @property
    def variance(self) -> float:
        """sigma^2 + 1/12, to double precision; for sigma < 2, where that fails, the sum 2 sum_x (2x - 1) P(X >= x)."""
        if self.sigma >= 2:
            return float(self.sigma**2 + Fraction(1, 12))
        x = np.arange(1, 100)
        return float(2 * ((2 * x - 1) * self.at_least(x)).sum())

    def probability(self, x: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(X = x)."""
        size = np.abs(np.asarray(x, dtype=np.int64))
        return self.at_least(size) - self.at_least(size + 1)

    def at_least(self, x: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """P(X >= x)."""
        values, where = np.unique(np.asarray(x, dtype=np.int64), return_inverse=True)
        z = (values - 0.5) / float(self.sigma)
        return np.array([normal_tail(each) for each in z.tolist()], dtype=np.float64)[where.reshape(np.shape(x))]

    def tail_bits(self, x: int, bits: int) -> int:
        """floor(2^bits P(X >= x)), exactly, for x >= 1."""
        z = (x - Fraction(1, 2)) / self.sigma
        if 5 * z * z > 7 * bits:  # then P(X >= x) <= e^(-z^2/2)/2 < e^(-0.7 bits) < 2^-bits
            return 0
        return floor_bits(lambda: _upper_tail(z), bits)

    @cached_property
    def _drawn(self) -> list[int]:
        """How many were drawn so far."""
        return [0]

    def _pays_for_table(self, count: int) -> bool:
        """Whether a table costs less than all draws up to these would without it."""
        self._drawn[0] += count
        return self.sigma <= MAX_TABLE_SIGMA and self._drawn[0] >= max(_FEW, self.sigma // _FEW_OF_SIGMA)

    @cached_property
    def _tail(self) -> ExactTail:
        """P(X >= x) for x >= 1."""
        return ExactTail(self.tail_bits, _edges(self.sigma))

    def get_ready(self) -> None:
        """Make the table of edges, if there is none yet; else the first draw that pays for it does."""
        _ = self._tail

    def loss(self) -> float:
        """Infinite: the ratio of two probabilities grows without end, so a delta is needed."""
        return math.inf

    def delta_at(self, epsilon: float) -> float:
        """The delta of Gaussian noise of mu = 1/sigma: for counts moved by 1 in L2 by one person. Rounding is free."""
        return gaussian_delta(float(1 / self.sigma), epsilon)

    @property
    def description(self) -> str:
        """In words."""
        return self.description_per(1)

    def description_per(self, records: int) -> str:
        """The law of X/records in words."""
        return f"rounded Gaussian, sigma {float(self.sigma) / records:.4g}"

    def release(self, count: int, random: ReleaseRandom) -> NDArray[np.int64]:
        """``count`` independent draws for data that is released."""
        require_release(random)
        return self.draw(count, random)

    def draw(self, count: int, random: Random) -> NDArray[np.int64]:
        """``count`` independent draws by exact inversion of one uniform number U each.

        X >= x when U < P(X >= x), and X <= -x when 1 - U is, for x >= 1: both cannot be, as P(X >= 1) < 1/2.
        """
        uniforms = random.words(count)
        if self._pays_for_table(count):
            return self._tail.above(uniforms, random) - self._tail.above(~uniforms, random)
        return np.array([self._inverse(word, random) for word in uniforms.tolist()], dtype=np.int64)

    def _inverse(self, word: int, random: Random) -> int:
        """X for the uniform number that starts with this word, by bisection, without a table."""
        top = (1 << WORD_BITS) - 1
        return self._above(word, random) if word <= top // 2 else -self._above(top - word, random)

    def _above(self, word: int, random: Random) -> int:
        """How many x >= 1 have U < P(X >= x): doubles guess it, and exact edges have the word."""
        low, bits, guess = 0, WORD_BITS, self._guess(word)
        guesses = iter((guess, guess + 1, guess - 1))
        while True:
            high, edge = math.isqrt(math.ceil(self.sigma**2 * 7 * bits / 5)) + 2, 0  # tail_bits(high, bits) is 0
            while high - low > 1:
                middle = next((each for each in guesses if low < each < high), (low + high) // 2)
                here = self.tail_bits(middle, bits)
                low, high, edge = (middle, high, edge) if here > word else (low, middle, here)
            if edge < word:
                return low
            word = (word << WORD_BITS) | random.key()
            bits += WORD_BITS

    def _guess(self, word: int) -> int:
        """About how many x >= 1 have 2^64 P(X >= x) above the word."""
        sigma, p = float(self.sigma), word / 2**WORD_BITS
        return bisect_left(range(1, math.ceil(10 * sigma)), True, key=lambda x: normal_tail((x - 0.5) / sigma) <= p)

    def draw_reaching(
        self, thresholds: NDArray[np.int64], random: Random
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The positions, ascending, at which a fresh X is at least its threshold (1 or more), and X there.

        Positions are grouped by the leading zero bits of their probability: how many of a group have a uniform number
        that starts with so many zeros is drawn first, then which, then the other bits of these few. A rare event costs
        about two random bits. X is the inverse of the same uniform number.
        """
        edges = self._tail.edges[::-1]
        at = np.minimum(thresholds, len(edges)) - 1  # the last edge is 0, like all that follow
        zeros = (WORD_BITS - np.frexp(edges.astype(np.float64))[1]).astype(np.uint8)[at]
        order = np.argsort(zeros, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(zeros, minlength=1))]).tolist()
        reached, values = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for level in distinct(zeros).tolist():
            group = order[starts[level] : starts[level + 1]]
            thin = level >= _THINNED
            if thin:
                group = group[random.subset(len(group), _how_many_start_with(level, len(group), random))]
            uniforms = random.words(len(group))
            if thin:  # the thinning has drawn the zeros
                uniforms = uniforms >> np.uint64(level) if level < WORD_BITS else np.zeros_like(uniforms)
            likely = uniforms <= edges[at[group]]
            group = group[likely]
            x = self._tail.above(uniforms[likely], random)
            passed = x >= thresholds[group]
            reached.append(group[passed])
            values.append(x[passed])
        positions = np.concatenate(reached)
        order = np.argsort(positions)
        return positions[order], np.concatenate(values)[order]


def _how_many_start_with(zeros: int, numbers: int, random: Random) -> int:
    """How many of so many uniform numbers start with so many zero bits."""
    return below_tail(numbers, lambda bits: 1 << (bits - zeros), random)


@lru_cache(maxsize=128)
def _pi(digits: int) -> Decimal:
    """Machin's 16 arctan(1/5) - 4 arctan(1/239), in integers, to ``digits`` digits."""
    one = 10 ** (digits + 10)

    def arctan_of_one_over(x: int) -> int:
        power, total, n = one // x, 0, 0
        while power:
            total += (-1) ** n * (power // (2 * n + 1))
            power, n = power // (x * x), n + 1
        return total

    return Decimal(16 * arctan_of_one_over(5) - 4 * arctan_of_one_over(239)).scaleb(-digits - 10)


def _upper_tail(z: Fraction) -> Decimal:
    """Q(z) = 1/2 - phi(z) (z + z^3/3 + z^5/(3 5) + ...), z >= 0, in the current decimal context."""
    context = getcontext()
    term = total = Decimal(z.numerator) / z.denominator
    square, n = term * term, 1
    negligible = Decimal(10) ** -context.prec
    while term > negligible or square > n:  # from here on every term is less than half the one before
        n += 2
        term = term * square / n
        total += term
    density = (-square / 2).exp(context) / (2 * _pi(context.prec)).sqrt(context)
    return Decimal("0.5") - density * total


@lru_cache(maxsize=32)
def _edges(sigma: Fraction) -> NDArray[np.uint64]:
    """floor(2^64 P(X >= x)) for x = 1, 2, ... until it is 0, in ascending order."""
    edges = _stepped_edges(RoundedGaussian(sigma)) if sigma >= _STEPPED else _direct_edges(RoundedGaussian(sigma))
    ascending = np.array(edges[::-1], dtype=np.uint64)
    ascending.setflags(write=False)
    return ascending


def _direct_edges(noise: RoundedGaussian) -> list[int]:
    """Each computed by itself."""
    edges = [noise.tail_bits(1, WORD_BITS)]
    while edges[-1]:
        edges.append(noise.tail_bits(len(edges) + 1, WORD_BITS))
    return edges


def _stepped_edges(noise: RoundedGaussian) -> list[int]:
    """P(X >= x + 1) = P(X >= x) - P(X = x), in integers that stand for multiples of 2^-160, with

        P(X = x) = d(x) sum_k b_k y^k,   y = (x/(2 sigma^2))^2,   b_k = 1/(2k)! int_0^1 v^2k e^(-v^2/(8 sigma^2)) dv

    where:
        d(x)  is the normal density, d(x + 1) = d(x) r(x) and r(x + 1) = r(x) e^(-1/sigma^2).

    The error stays below 2^64 units; an edge that this could change is computed by itself.
    """
    wide, sigma = _FIXED, noise.sigma
    square = sigma**2
    density = floor_bits(lambda: 1 / (2 * _pi(getcontext().prec) * square.numerator / square.denominator).sqrt(), wide)
    ratio, step = power_bits(1 / (2 * square), wide), power_bits(1 / square, wide)
    unit = math.floor(2 ** (wide + WORD_BITS) / (4 * square**2))
    series = _series(square)
    tail, x, low = noise.tail_bits(1, wide), 1, wide - WORD_BITS
    slack, rest = 1 << _SLACK_BITS, (1 << low) - 1
    edges = [tail >> low]
    while edges[-1]:
        density, ratio = (density * ratio) >> wide, (ratio * step) >> wide
        y, factor = (x * x * unit) >> WORD_BITS, 0
        for coefficient in series:
            factor = coefficient + ((factor * y) >> wide)
        tail, x = tail - ((density * factor) >> wide), x + 1
        doubtful = not slack < tail & rest < rest - slack
        edges.append(noise.tail_bits(x, WORD_BITS) if doubtful else tail >> low)
    return edges


def _series(square: Fraction) -> list[int]:
    """floor(2^160 b_k), highest k first, as many as matter for y <= 24/sigma^2; off by at most 2.

    The integral is the alternating sum over j of 1/(j! (8 sigma^2)^j (2k + 2j + 1)).
    """
    bound, negligible = Fraction(24) / square, Fraction(1, 1 << (_FIXED + 2))
    powers = [Fraction(1)]
    while powers[-1] > negligible:
        powers.append(powers[-1] / (8 * square * len(powers)))
    series, power, k = [], Fraction(1), 0
    while power / math.factorial(2 * k + 1) > negligible:
        integral = sum((-1) ** j * each / (2 * k + 2 * j + 1) for j, each in enumerate(powers))
        series.append(math.floor(integral * 2**_FIXED / math.factorial(2 * k)))
        power, k = power * bound, k + 1
    return series[::-1]
