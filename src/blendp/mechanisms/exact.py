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
from decimal import ROUND_FLOOR, Context, Decimal, localcontext

from blendp.randomness import Random

WORD_BITS = 64

FloorBits = Callable[[int], int]
"""Gives floor(p 2^bits) for any number of bits."""

_GUARD_DIGITS = 12


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


def settle(word: int, floor: FloorBits, random: Random, bits: int = WORD_BITS) -> bool:
    """Whether the uniform number that starts with the ``bits`` bits of ``word`` is below p."""
    while word == (edge := floor(bits)):
        word = (word << WORD_BITS) | random.key()
        bits += WORD_BITS
    return word < edge
