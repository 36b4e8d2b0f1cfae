"""What is kept of the clients' reports (local model): sums over clients, never who sent what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.reports import Repeats, ReportSums


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
        counts = np.bincount(reports.ravel(), minlength=len(rows))
        if per_user == 1 or users == 0:
            return cls.of_counts(counts, cells_per_query)
        return cls._of_repeats(users, per_user, counts, Repeats.of(reports, rows), rows)

    @classmethod
    def of_sums(cls, sums: ReportSums, head_list: HeadList) -> Self:
        """The tally of reports that name a cell of this list, added up."""
        sums.require(head_list.sha256, sums.questions)
        if "cell" not in sums.supports:
            legal = "about the cell"
            raise ParameterError("reports", sorted(sums.questions), legal, "A Split is made of reports of subsets.")
        counts = sums.supports["cell"]
        if sums.repeats is None or sums.users == 0:
            return cls.of_counts(counts, head_list.cells_per_query)
        return cls._of_repeats(sums.users, sums.per_user, counts, sums.repeats, head_list.query_of_cell)

    @classmethod
    def _of_repeats(
        cls, users: int, per_user: int, counts: NDArray[np.int64], repeats: Repeats, rows: NDArray[np.int64]
    ) -> Self:
        reports, scale = users * per_user, users * per_user**2
        return cls(
            users,
            per_user,
            counts / reports,
            np.bincount(rows, weights=counts) / reports,
            repeats.cell_squares / scale,
            repeats.query_squares / scale,
            repeats.products / scale,
        )
