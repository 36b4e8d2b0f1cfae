"""What is kept of the clients' reports: sums over clients, never who sent what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array


@dataclass(frozen=True, eq=False)
class Tally:
    """Means over clients of the share x of their reports that name a cell or query, and of its products.

    With one report each, x is 0 or 1, and the counts of the cells say everything; with several, the squares and
    products tell how alike one client's reports are.
    """

    users: int
    per_user: int
    cell: Array
    """Mean of x_cell: the share of reports that name the cell."""

    query: Array
    """Mean of x_query."""

    cell_square: Array
    query_square: Array
    cross: Array
    """Mean of x_cell times the x_query of the cell's query."""

    @classmethod
    def of_counts(cls, counts: NDArray[np.int64], cells_per_query: NDArray[np.int64]) -> Self:
        """The tally of clients who sent one report each, from how often each cell was named."""
        rows = np.repeat(np.arange(len(cells_per_query)), cells_per_query)
        users = int(counts.sum())
        cell = counts / max(users, 1)
        query = np.bincount(rows, weights=cell).astype(np.float64)
        return cls(users, 1, cell, query, cell, query, cell)

    @classmethod
    def of_reports(cls, reports: NDArray[np.int64], cells_per_query: NDArray[np.int64]) -> Self:
        """The tally of a row of reports for every client."""
        users, per_user = reports.shape
        rows = np.repeat(np.arange(len(cells_per_query)), cells_per_query)
        cells, k = len(rows), len(cells_per_query)
        counts = np.bincount(reports.ravel(), minlength=cells)
        if per_user == 1 or users == 0:
            return cls.of_counts(counts, cells_per_query)
        person = np.repeat(np.arange(users, dtype=np.int64), per_user)
        pair, times = np.unique(person * cells + reports.ravel(), return_counts=True)
        person, cell = np.divmod(pair, cells)
        pair_q, where = np.unique(person * k + rows[cell], return_inverse=True)
        times_q = np.bincount(where, weights=times)
        scale = users * per_user**2
        return cls(
            users,
            per_user,
            counts / reports.size,
            np.bincount(rows, weights=counts) / reports.size,
            np.bincount(cell, weights=times**2, minlength=cells) / scale,
            np.bincount(pair_q % k, weights=times_q**2, minlength=k) / scale,
            np.bincount(cell, weights=times * times_q[where], minlength=cells) / scale,
        )
