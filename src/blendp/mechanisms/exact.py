"""Comparing a uniform number with a probability, exactly, without floating point.

A uniform number U in [0, 1) is an endless string of random bits. Whether U < p is settled by the first bits of
U in which it differs from p, so it is enough to know p to those bits:

    U in [w/2^B, (w+1)/2^B)   and   f = floor(p 2^B):   w < f  =>  U < p;   w > f  =>  U > p;   w = f: read on

where:
    w  is the number that the first B bits of U make.

The first 64 bits leave the question open with probability 2^-64; then 64 more are drawn, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from blendp.randomness import Random

WORD_BITS = 64

FloorBits = Callable[[int], int]
"""Gives floor(p 2^bits) for any number of bits."""

_GUARD_DIGITS = 12
_POWER_DIGITS = 50


def floor_bits(evaluate: Callable[[], Decimal], bits: int) -> int:
    """floor(p 2^bits) for the probability that ``evaluate`` computes in the current decimal context.

    ``evaluate`` must be accurate to within 10^(12 - precision): the precision is raised until that error can no
    longer change the answer.
    """
    digits = bits // 3 + 2 * _GUARD_DIGITS
    while True:
        with localcontext(Context(prec=digits)):
            scaled = evaluate() * (1 << bits)
            slack = Decimal(10) ** (_GUARD_DIGITS - digits) * (1 << bits)
            low, high = (int(x.to_integral_value(ROUND_FLOOR)) for x in (scaled - slack, scaled + slack))
        if low == high:
            return low
        digits *= 2


def exact_power(epsilon: float) -> Fraction:
    """e^epsilon to 50 digits, as a fraction: for exact losses, never for a draw."""
    with localcontext(Context(prec=_POWER_DIGITS)):
        return Fraction(Decimal(epsilon).exp(getcontext()))


def power_bits(rate: Fraction, bits: int) -> int:
    """floor(2^bits e^(-rate))."""

    def power() -> Decimal:
        return (Decimal(-rate.numerator) / rate.denominator).exp(getcontext())

    return floor_bits(power, bits)


def settle(word: int, floor: FloorBits, random: Random, bits: int = WORD_BITS) -> bool:
    """Whether the uniform number that starts with the ``bits`` bits of ``word`` is below p."""
    while word == (edge := floor(bits)):
        word = (word << WORD_BITS) | random.key()
        bits += WORD_BITS
    return word < edge


@dataclass(frozen=True, eq=False)
class ExactTail:
    """The tail P(X >= x), x = 1, 2, ..., of an integer law, ready for exact inversion.

    where:
        bits(x, B)  is floor(2^B P(X >= x)),
        edges       holds bits(x, 64) for x = 1, 2, ... until it is 0, in ascending order.
    """

    bits: Callable[[int, int], int]
    edges: NDArray[np.uint64]

    def above(self, uniforms: NDArray[np.uint64], random: Random) -> NDArray[np.int64]:
        """How many x >= 1 have U < P(X >= x), for the uniform U that start with these words."""
        after = np.searchsorted(self.edges, uniforms, side="right")
        result = (len(self.edges) - after).astype(np.int64)
        still_open = np.flatnonzero(self.edges[np.maximum(after, 1) - 1] == uniforms)
        for i in still_open:
            result[i] = self._settled(int(uniforms[i]), random)
        return result

    def _settled(self, word: int, random: Random) -> int:
        """The same for one word that equals an edge: read on until no edge is met."""
        bits = WORD_BITS
        while True:
            x = 0
            while (edge := self.bits(x + 1, bits)) > word:
                x += 1
            if edge < word:
                return x
            word = (word << WORD_BITS) | random.key()
            bits += WORD_BITS


def geometric_edges(first: int, step: int, bits: Callable[[int, int], int]) -> NDArray[np.uint64]:
    """The edges of a tail that falls by one factor: P(X >= x + 1) = e^(-rate) P(X >= x).

    ``first`` and ``step`` are floor(2^128 P(X >= 1)) and floor(2^128 e^(-rate)). Powers are taken one after the other
    with 128 bits; the x-th is low by less than 2x + 1 units of 2^-128, and is computed afresh where that could change
    its first 64 bits.
    """
    wide = 2 * WORD_BITS
    tail, edges, x, rest = first, [first >> WORD_BITS], 1, (1 << WORD_BITS) - 1
    while edges[-1]:
        tail, x = (tail * step) >> wide, x + 1
        doubtful = (tail & rest) + 2 * x + 1 > rest
        edges.append(bits(x, WORD_BITS) if doubtful else tail >> WORD_BITS)
    return np.array(edges[::-1], dtype=np.uint64)


def below_tail(trials: int, tail: FloorBits, random: Random) -> int:
    """How many of so many independent uniform numbers fall below p, where ``tail`` gives the bits of p.

    With 2^-s >= p, only numbers that start with s zero bits can; each further zero bit halves the field, so a number
    costs about two random bits when p is small.
    """
    edge = tail(WORD_BITS)
    zeros = WORD_BITS - edge.bit_length() if edge else WORD_BITS
    for _ in range(zeros):
        if not trials:
            return 0
        trials = _heads(trials, random)
    uniforms = random.words(trials) >> np.uint64(zeros) if zeros < WORD_BITS else np.zeros(trials, np.uint64)
    below = int((uniforms < np.uint64(edge)).sum())
    ties = int((uniforms == np.uint64(edge)).sum())
    for _ in range(ties):
        below += settle(edge, tail, random)
    return below


def _heads(coins: int, random: Random) -> int:
    """How many of so many fair coins show heads: the set bits among so many random bits."""
    flips = random.words((coins + 63) // 64)
    spare = 64 * len(flips) - coins
    if spare:
        flips = flips.copy()
        flips[-1] >>= np.uint64(spare)
    return int(np.bitwise_count(flips).sum())
