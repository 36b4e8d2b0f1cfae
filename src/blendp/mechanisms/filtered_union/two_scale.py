"""Counts of a list's cells from all records of each person, on two scales. See PROOF.md beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Ids
from blendp.errors import ParameterError
from blendp.mechanisms.filtered_union.bounded import bounded, root_up
from blendp.mechanisms.filtered_union.holdings import Holdings, added
from blendp.mechanisms.rounded_gaussian import RoundedGaussian
from blendp.randomness import Random

SHARE_GRID = 1024
"""One person's whole share, 1, in the whole numbers that are added up."""

CLIP = SHARE_GRID // 2
"""C: the length in L2 to which a person's shares are cut for the first scale; the excess has the rest at most."""

_DISPERSION_SHARE, _CLIPPED_SHARE, _EXCESS_SHARE = Fraction(2, 100), Fraction(69, 100), Fraction(29, 100)


class ShareSums(NamedTuple):
    """The exact sums behind :class:`CountsOfShares`, of the same names: never released."""

    clipped: Ids
    excess: Ids
    cell_dispersion: int
    query_dispersion: int


class CountsOfShares(NamedTuple):
    """What is released about the cells of a list, in multiples of one person's share over :data:`SHARE_GRID`.

    where:
        clipped             is the noisy sum Z of people's clipped shares in every cell but <*,*>,
        excess              is the noisy sum X of what was clipped,
        cell_dispersion     is the noisy sum over people of sum_j y_j^2,
        query_dispersion    is the same with the shares y_q of queries,
        y_j                 is which share of one person's occurrences falls into cell j.
    """

    clipped: NDArray[np.int64]
    excess: NDArray[np.int64]
    cell_dispersion: int
    query_dispersion: int


@dataclass(frozen=True)
class TwoScaleCounts:
    """The shares of people's records that fall into each cell of a list, added up on two scales:

        Z = sum over people of z + noise,   z = y min(1, C/|y|)
        X = sum over people of y - z + noise

    where:
        y    is the vector of a person's shares in the cells but <*,*>, all their occurrences counted,
        C    is half a share: few people have more than that in listed cells, so z needs half the noise that y would,
        the noise is rounded Gaussian, of sqrt(2) C/mu_Z and of sqrt(2) (1 - C)/mu_X.

    Z + X is the sum of y without a bias. With the two dispersions, mu_Z^2 + mu_X^2 + mu_D^2 = mu_3^2.
    """

    mu_squared: Fraction
    """mu_3^2."""

    def __post_init__(self) -> None:
        """Refuse a budget of nothing."""
        if self.mu_squared <= 0:
            raise ParameterError("mu_squared", float(self.mu_squared), "above 0", "Leave something for the counts.")

    @cached_property
    def clipped_noise(self) -> RoundedGaussian:
        """The noise of Z."""
        return self._noise(CLIP, _CLIPPED_SHARE)

    @cached_property
    def excess_noise(self) -> RoundedGaussian:
        """The noise of X."""
        return self._noise(SHARE_GRID - CLIP, _EXCESS_SHARE)

    @cached_property
    def dispersion_noise(self) -> RoundedGaussian:
        """The noise of the two dispersions, each of which one person moves by one share at most."""
        return self._noise(SHARE_GRID, _DISPERSION_SHARE)

    def _noise(self, length: int, share: Fraction) -> RoundedGaussian:
        """The noise for people whose vectors have this length at most, any two of them sqrt(2) times that apart."""
        return RoundedGaussian(root_up(2 * length**2 / (share * self.mu_squared)))

    def draw(
        self, holdings: Holdings, cell_of_row: Ids, query_of_cell: NDArray[np.int64], random: Random
    ) -> CountsOfShares:
        """The noisy sums of the list's cells, from what people hold (:func:`share_sums`)."""
        return self.noisy(share_sums(holdings, cell_of_row, query_of_cell), random)

    def noisy(self, sums: ShareSums, random: Random) -> CountsOfShares:
        """Fresh noise on every sum."""
        dispersions = np.array([sums.cell_dispersion, sums.query_dispersion])
        of_cells, of_queries = (dispersions + self.dispersion_noise.draw(2, random)).tolist()
        return CountsOfShares(
            sums.clipped + self.clipped_noise.draw(len(sums.clipped), random),
            sums.excess + self.excess_noise.draw(len(sums.excess), random),
            of_cells,
            of_queries,
        )


def share_sums(holdings: Holdings, cell_of_row: Ids, query_of_cell: NDArray[np.int64]) -> ShareSums:
    """The sums of a list's cells; the last cell, <*,*>, alone has the last query, and is left out.

    ``cell_of_row`` is the cell of every row of the holdings.
    """
    cells = len(query_of_cell)
    if cells < 1 or query_of_cell.min() < 0 or (query_of_cell[:-1] >= query_of_cell[-1]).any():
        legal = "the query of each cell, from 0 on, with the last query for the last cell alone"
        raise ParameterError("query_of_cell", query_of_cell.shape, legal, "Take it from the head list.")
    if cell_of_row.shape != holdings.owner.shape or (
        cell_of_row.size and not 0 <= int(cell_of_row.min()) <= int(cell_of_row.max()) < cells
    ):
        legal = f"one of {cells} cells for every row of the holdings"
        raise ParameterError("cell_of_row", cell_of_row.shape, legal, "Take both from one head list.")
    owner, cell, shares = _shares(holdings, cell_of_row, cells)
    clipped = bounded(owner, shares, CLIP)
    excess = bounded(owner, shares - clipped, SHARE_GRID - CLIP)
    of_query, _, query_shares = _shares(holdings, query_of_cell[cell_of_row], int(query_of_cell[-1]) + 1)
    return ShareSums(
        added(cell, clipped, cells - 1),
        added(cell, excess, cells - 1),
        _dispersion(owner, shares),
        _dispersion(of_query, query_shares),
    )


def _shares(holdings: Holdings, cell_of_row: Ids, cells: int) -> tuple[Ids, Ids, Ids]:
    """Owner, cell and share of everybody in every cell but the last, where they have any: rounded to whole numbers."""
    named = cell_of_row < cells - 1
    pairs, where = np.unique(holdings.owner[named] * cells + cell_of_row[named], return_inverse=True)
    owner, cell = np.divmod(pairs, cells)
    occurrences = np.bincount(where, weights=holdings.occurrences[named], minlength=len(pairs)).astype(np.int64)
    totals = holdings.totals[owner]
    return owner, cell, (2 * SHARE_GRID * occurrences + totals) // (2 * totals)


def _dispersion(owner: Ids, shares: Ids) -> int:
    """The sum over people of the sum of their squared shares, 1 at most for each."""
    of_person = np.bincount(owner, weights=shares * shares).astype(np.int64) // SHARE_GRID
    return int(np.minimum(of_person, SHARE_GRID).sum())
