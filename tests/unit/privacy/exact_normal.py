"""The normal law in whole numbers, by series that share nothing with the code's."""

from __future__ import annotations

import math
from fractions import Fraction


def _arctan(x: Fraction, bits: int) -> int:
    power, total, n = math.floor(x * 2**bits), 0, 0
    square = x * x
    while power:
        total += (-1) ** n * (power // (2 * n + 1))
        power, n = math.floor(power * square), n + 1
    return total


def pi(bits: int) -> int:
    """floor(2^bits pi), give or take a few: Euler's 4 arctan(1/2) + 4 arctan(1/3)."""
    extra = 40
    return 4 * (_arctan(Fraction(1, 2), bits + extra) + _arctan(Fraction(1, 3), bits + extra)) >> extra


def upper_tail(z: Fraction, bits: int = 400) -> Fraction:
    """Q(z) to about 2^-bits, from the alternating series of the error function.

    Q(z) = 1/2 - (z - z^3/(2 3) + z^5/(2^2 2! 5) - ...)/sqrt(2 pi)
    """
    wide = bits + 40 + math.ceil(1.5 * z * z)
    power, total, n = math.floor(abs(z) * 2**wide), 0, 0
    while power:
        total += (-1) ** n * (power // (2 * n + 1))
        n += 1
        power = math.floor(power * z * z / (2 * n))
    within = Fraction(total, math.isqrt(2 * pi(wide) << wide))
    return Fraction(1, 2) - within if z >= 0 else Fraction(1, 2) + within


def exp(x: Fraction, terms: int = 300) -> Fraction:
    """e^x from its power series."""
    total = term = Fraction(1)
    for i in range(1, terms):
        term = Fraction(math.floor(term * x / i * 2**600), 2**600)
        total += term
    return total
