"""The exact privacy loss of a mechanism with finitely many outputs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def hockey_stick(first: NDArray[np.float64], second: NDArray[np.float64], epsilon: float) -> float:
    """The smallest delta for which the pair is (epsilon, delta)-indistinguishable in this direction.

        delta(epsilon) = sum_y max(0, P(y) - e^epsilon Q(y))

    where:
        P, Q  are the probabilities of every output y under the two inputs.
    """
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


def worst_log_ratio(channel: NDArray[np.float64]) -> float:
    """The pure epsilon of a channel: the largest ln P(y|x)/P(y|x') over outputs y and inputs x, x'.

    ``channel[x, y]`` is the probability of output y for input x. Infinite if an output is impossible for one
    input only.
    """
    possible = channel[:, channel.max(axis=0) > 0]
    if possible.min() <= 0:
        return math.inf
    return float(np.log(possible.max(axis=0) / possible.min(axis=0)).max())


def pure_delta(loss: float, epsilon: float) -> float:
    """The delta that every mechanism of this pure loss has at epsilon, that of randomised response, which is worst.

    delta = (e^loss - e^epsilon)/(e^loss + 1),    not below 0
    """
    return max(0.0, -math.expm1(epsilon - loss) / (1 + math.exp(-loss)))
