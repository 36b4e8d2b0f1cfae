"""How many different records an opt-in person has, on average, with noise: it decides how the list is made.

    mean = (sum over people of min(d, R) + X)/n

where:
    d  is how many different records a person has: what is repeated helps a list of many records little,
    R  bounds what one person adds,
    X  is discrete Laplace noise of scale R/epsilon, so that the mean is epsilon-private for the replacement of all
       records of one user (one person moves the sum by R at most; n is public).

A mean that is far above what decides need not be exact, so R is small.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from blendp.mechanisms import DiscreteLaplace
from blendp.mechanisms.filtered_union import HeldRecords
from blendp.randomness import Random

MAX_COUNTED = 20
"""R."""


def noisy_mean_records(holdings: HeldRecords, epsilon: Fraction, random: Random) -> float:
    """The noisy mean of the people who hold these records, for this part of epsilon."""
    total = holdings.different_up_to(MAX_COUNTED) + int(mean_noise(epsilon).draw(1, random)[0])
    return total / max(holdings.people, 1)


@lru_cache(maxsize=8)
def mean_noise(epsilon: Fraction) -> DiscreteLaplace:
    """The noise of the sum; the same for runs that follow each other, as its exact law takes a while to work out."""
    return DiscreteLaplace(epsilon / MAX_COUNTED)
