"""What is true of a log, to hold estimates against; never released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import falling_order
from blendp.errors import require_count


@dataclass(frozen=True, eq=False)
class Truth:
    """The probability of every record when a user is drawn uniformly, then one of the user's occurrences.

        record[r] = 1/users * sum over users u of (occurrences of r at u) / (occurrences at u)

    where:
        record    is by record id,
        query_id  is the query of every record,
        query     is by query id: the sum of its records.

    Users without a record hold the wildcard, so the probabilities sum to one minus the share of these users.
    """

    record: NDArray[np.float64]
    query_id: NDArray[np.int64]
    query: NDArray[np.float64]

    def head(self, size: int) -> NDArray[np.int64]:
        """The ids of the ``size`` most frequent records, most frequent first and ties in order of their ids.

        A log of fewer records gives all of them.
        """
        require_count("size", size, min_value=0, remedy="Ask for a head of some records.")
        return falling_order(comparable(self.record))[:size]


def comparable(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same sums, where those that differ by rounding alone (less than one part in 2^40) are equal."""
    mantissa, exponent = np.frexp(sums)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40), dtype=np.float64)
