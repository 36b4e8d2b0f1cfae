"""Types of arrays that many modules speak of, defined once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Real numbers: counts that carry noise, probabilities, scores."""

Ids = NDArray[np.int64]
"""Whole numbers that name things by their position in a list: users, records, queries, values."""

Bools = NDArray[np.bool_]
"""Yes or no for each of many."""
