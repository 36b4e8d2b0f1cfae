"""The Euclidean projection on the probability simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def project_on_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest vector with entries of at least 0 that sum to 1.

        x_i = max(v_i - s, 0),   s such that the x_i sum to 1

    Sorting finds s (Wang and Carreira-Perpinan, 2013).
    """
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    shift = excess[np.flatnonzero(descending > excess)[-1]]
    return np.asarray(np.maximum(values - shift, 0.0))
