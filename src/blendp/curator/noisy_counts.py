"""Counting the listed records among the opt-in users who did not make the list, and keeping the largest.

EstimateOptinProbabilities (figure 4), lines 5-15: count, add noise, keep the M largest, fold the others into the
wildcards. Everything after the noise is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import falling_order
from blendp.errors import require_choice, require_count
from blendp.headlist import HeadList
from blendp.mechanisms import DiscreteLaplace
from blendp.randomness import Random

WILDCARDS = ("shared", "figure-4")
"""What an opt-in record <q,u'> with a listed query and an unlisted URL counts for.

``shared``: for <q,*>, as on the clients' side, so that both groups estimate the same thing.
``figure-4``: for <*,*>, as printed; then the opt-in group says nothing about <q,*>, its queries lack their other URLs,
and blends of queries and of <*,*> mix two quantities. For reproduction only.
"""

TRIM_UNITS = ("record", "query")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many of people's records fall into each cell of a list: exact, never released."""

    counts: NDArray[np.int64]
    users: int
    records_per_user: int

    @classmethod
    def of(cls, cells: NDArray[np.int64] | CellCounts, head_list: HeadList) -> CellCounts:
        """From a row of cells for every person and a column for every record taken from them, unless it was counted."""
        if isinstance(cells, CellCounts):
            return cells
        return cls(np.bincount(cells.ravel(), minlength=head_list.cells).astype(np.int64), *cells.shape)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Released counts of a list's cells.

    ``terms`` tells how many independent noises each count carries: 1, more where counts were folded together, 0
    where nothing was counted.
    """

    head_list: HeadList
    counts: NDArray[np.int64]
    terms: NDArray[np.int64]
    users: int
    records_per_user: int
    noise: DiscreteLaplace


def add_noise(
    head_list: HeadList,
    cells: NDArray[np.int64] | CellCounts,
    noise: DiscreteLaplace,
    random: Random,
    wildcard: str = "shared",
) -> NoisyCounts:
    """Count the users' cells and add noise to every count.

    ``cells`` has a row for every user and a column for every record taken from them, so the number of records is
    public and replacing one user moves the counts by at most 2m in L1.
    """
    require_choice("wildcard", wildcard, WILDCARDS)
    counted = CellCounts.of(cells, head_list)
    counts = counted.counts.copy()
    terms = np.ones(head_list.cells, dtype=np.int64)
    if wildcard == "figure-4":
        unlisted = np.ones(head_list.cells, dtype=bool)
        unlisted[head_list.record_cells] = False
        unlisted[-1] = False
        counts[-1] += counts[unlisted].sum()
        counts[unlisted] = 0
        terms[unlisted] = 0
    drawn = noise.draw(head_list.cells, random)
    return NoisyCounts(head_list, counts + drawn * terms, terms, counted.users, counted.records_per_user, noise)


def trim(noisy: NoisyCounts, size: int | None, unit: str = "record") -> NoisyCounts:
    """Keep the ``size`` records (or queries) with the largest noisy counts; fold the others into the wildcards.

    Ties are broken by the list's canonical order, so the result depends on the released counts only.
    """
    kept = largest(noisy.head_list, noisy.counts, size, unit)
    return noisy if kept is None else only(noisy, kept)


def only(noisy: NoisyCounts, kept: NDArray[np.int64]) -> NoisyCounts:
    """Keep the records of these cells; fold the others into the wildcards."""
    whole = noisy.head_list
    trimmed, target = fold(whole, kept)
    if not noisy.terms.all():
        lost = np.ones(whole.cells, dtype=bool)
        lost[kept] = False
        target[lost] = trimmed.cells - 1
    return NoisyCounts(
        trimmed,
        np.bincount(target, weights=noisy.counts, minlength=trimmed.cells).astype(np.int64),
        np.bincount(target, weights=noisy.terms, minlength=trimmed.cells).astype(np.int64),
        noisy.users,
        noisy.records_per_user,
        noisy.noise,
    )


def largest(
    head_list: HeadList, counts: NDArray[np.int64] | NDArray[np.float64], size: int | None, unit: str
) -> NDArray[np.int64] | None:
    """The cells of the ``size`` records (or of the records of so many queries) with the largest counts, ties in
    canonical order; None where that is the whole list.

    Among records, a query without any URL comes after all that have one: it is no record that somebody asked for.
    """
    require_choice("trim_unit", unit, TRIM_UNITS)
    cells = head_list.record_cells
    if size is None or size >= (head_list.records if unit == "record" else head_list.queries):
        return None
    require_count("size", size, min_value=1, remedy="Ask for at least one record.")
    if unit == "record":
        of_cells = counts[cells].astype(np.float64)
        of_cells[np.isin(cells, head_list.bare_cells)] -= np.ptp(of_cells) + 1
        return cells[falling_order(of_cells)[:size]]
    totals = np.bincount(head_list.query_of_cell, weights=counts)[:-1]
    rows = falling_order(totals)[:size]
    return cells[np.isin(head_list.query_of_cell[cells], rows)]


def fold(head_list: HeadList, kept: NDArray[np.int64]) -> tuple[HeadList, NDArray[np.int64]]:
    """The list of these cells' records alone, and where every cell of the whole list falls in it."""
    labels = head_list.labels
    trimmed = HeadList.of_records([(str(labels[i][0]), labels[i][1]) for i in kept], head_list.levels)
    return trimmed, np.array([trimmed.cell_of(*label) for label in labels], dtype=np.int64)
