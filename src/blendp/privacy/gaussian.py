"""Exact accounting of Gaussian noise (Balle and Wang, ICML 2018, theorem 8; Dong, Roth and Su, JRSS-B 2022: mu-GDP)."""

from __future__ import annotations

import math

from blendp.errors import require_number

ROUNDING = 1e-12
"""Bounds the relative error of the normal tail and of what is computed from it here, many times over."""


def normal_tail(z: float) -> float:
    """Q(z) = P(N >= z) for standard normal N, to a relative error far below :data:`ROUNDING` down to 1e-200."""
    return math.erfc(z / math.sqrt(2)) / 2


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The smallest delta for which Gaussian noise is (epsilon, delta)-differentially private, rounded up.

        delta = Q(epsilon/mu - mu/2) - e^epsilon Q(epsilon/mu + mu/2)

    where:
        mu  is sensitivity / standard deviation: how far one person moves the answer, in L2, in units of the noise.

    Mechanisms that are used one after the other, each chosen by the answers before it, have the mu of
    mu^2 = mu_1^2 + mu_2^2 + ...
    The two tails differ by a factor of about 1 - mu^2/epsilon or less, so their difference keeps its leading digits.
    """
    require_number("mu", mu, above=0, legal="a number above 0", remedy="It is sensitivity / standard deviation.")
    require_number(
        "epsilon",
        epsilon,
        min_value=0,
        max_value=500,
        legal="a number from 0 to 500",
        remedy="Values from 0.5 to 4 are usual.",
    )
    first = normal_tail(epsilon / mu - mu / 2)
    second = math.exp(epsilon) * normal_tail(epsilon / mu + mu / 2)
    return max(0.0, min(1.0, first - second + ROUNDING * first))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which Gaussian noise is (epsilon, delta)-differentially private, rounded down.

        sigma = sensitivity / mu

    where:
        sigma  is the standard deviation that this budget asks for.
    """
    require_number(
        "epsilon",
        epsilon,
        above=0,
        max_value=500,
        legal="above 0 and at most 500",
        remedy="Values from 0.5 to 4 are usual.",
    )
    require_number(
        "delta",
        delta,
        min_value=1e-200,
        below=1,
        legal="a number from 1e-200 to 1 (1 excluded)",
        remedy="Use a value well below one over the number of people, such as 1e-5.",
    )
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    low = high / 2
    while gaussian_delta(low, epsilon) > delta:
        low, high = low / 2, low
    while low < (middle := (low + high) / 2) < high:
        if gaussian_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low
