"""A list and its counts from several records of each person, with Gaussian noise. See PROOF.md beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_count, require_number
from blendp.mechanisms.rounded_gaussian import MAX_TABLE_SIGMA, RoundedGaussian
from blendp.privacy import Budget
from blendp.privacy.gaussian import ROUNDING, gaussian_delta, gaussian_mu
from blendp.randomness import Random, ReleaseRandom, require_release

GRID = 256
"""G: the weight of a person who has one record only."""

_MAX_RECORDS = 4096
_SPLITS = 32  # parts of delta that the choice of its split tries
_FINE = 1 << 16  # standard deviations are multiples of one over this


_Plan = tuple[int, float, RoundedGaussian]


class UnionCounts(NamedTuple):
    """What is released about the cells of a list.

    where:
        counts              are the noisy numbers of occurrences in every cell but <*,*>,
        cell_dispersion     is the noisy sum over people of sum_j c_j^2,
        query_dispersion    is the same with the numbers of occurrences c_q of queries,
        c_j                 is how many of one person's m occurrences fall into cell j.
    """

    counts: NDArray[np.int64]
    cell_dispersion: int
    query_dispersion: int


@dataclass(frozen=True)
class WeightedUnion:
    """Partition selection (weighted Gaussian set union): list a record that occurs when

        W + X >= rho,   W = sum over the people who have it of floor(G/sqrt(d))

    where:
        d    is how many different records the person has among the m that each contributes,
        X    is rounded Gaussian noise of standard deviation sigma_1 = sqrt(2) G/mu_1, fresh for every record,
        rho  is so large that the records of one person alone are listed with probability beta at most;

    then release the counts of the list's cells with rounded Gaussian noise of sigma_2 = sqrt(2) m/mu_2, and for free
    two sums that tell how one person's occurrences cluster. A person's squared weights add up to G^2 at most, however
    many records they have. With mu^2 = mu_1^2 + mu_2^2, list and counts together are (epsilon, delta)-private for the
    replacement of all records of one user,

        delta >= beta + delta_mu(epsilon + ln(1 - beta))

    where:
        delta_mu  is the delta of Gaussian noise (:func:`blendp.privacy.gaussian.gaussian_delta`).

    The split of delta is the one that gives the lowest rho.
    """

    budget: Budget
    records_per_user: int
    list_share: float = 0.5
    """mu_1^2/mu^2: the part of the budget that makes the list; the rest is for the counts."""

    mu: float = field(init=False)
    list_noise: RoundedGaussian = field(init=False)
    min_total: int = field(init=False)
    """rho."""
    delta_threshold: float = field(init=False)
    """beta, rounded up."""
    delta_gaussian: float = field(init=False)
    """delta_mu(epsilon + ln(1 - beta)), rounded up."""

    def __post_init__(self) -> None:
        """Split delta, derive noise and threshold, and check the promise."""
        m, delta = self.records_per_user, self.budget.delta
        require_count("records per user", m, min_value=1, remedy="Sample a few records of each user, such as 10.")
        if m > _MAX_RECORDS:
            raise ParameterError("records per user", m, f"at most {_MAX_RECORDS}", "Sample fewer records of each user.")
        require_number(
            "list share",
            self.list_share,
            above=0,
            max_value=1,
            legal="above 0 and at most 1",
            remedy="0.5 halves the budget between list and counts; 1 leaves nothing for counts.",
        )
        if delta < 1e-100:
            raise ParameterError(
                "delta", delta, "at least 1e-100 and below 1", "A list of unknown strings needs a delta, such as 1e-5."
            )
        best: _Plan | None = None
        for part in range(1, _SPLITS):
            best = self._better(delta * part / _SPLITS, best)
        if best is None:
            raise ParameterError(
                "delta", delta, f"small beside epsilon ({self.budget.epsilon:g})", "Lower delta or raise epsilon."
            )
        rho, mu, noise = best
        if noise.sigma > MAX_TABLE_SIGMA:
            raise ParameterError(
                "epsilon",
                self.budget.epsilon,
                f"so large that the list's noise (now {float(noise.sigma):.0f}) is below {MAX_TABLE_SIGMA}",
                "Raise epsilon, delta or the list share.",
            )
        object.__setattr__(self, "mu", mu)
        object.__setattr__(self, "list_noise", noise)
        object.__setattr__(self, "min_total", rho)
        beta = self._stray(noise, rho)
        object.__setattr__(self, "delta_threshold", beta)
        object.__setattr__(self, "delta_gaussian", gaussian_delta(mu, self.budget.epsilon + math.log1p(-beta)))
        if self.delta_threshold + self.delta_gaussian > delta:
            raise ArithmeticError("the split of delta spends more than delta: nothing may be released with it")

    @property
    def min_people(self) -> float:
        """rho as a number of people: how many, each with m different records and 1/m of a count for each, reach it."""
        return self.min_total / GRID / math.sqrt(self.records_per_user)

    def _better(self, beta: float, best: _Plan | None) -> _Plan | None:
        """rho, mu and the list's noise if the threshold takes this part of delta and rho is then lower than the best.

        A part that leaves no epsilon is out of the question.
        """
        left = self.budget.epsilon + math.log1p(-beta)
        if left <= 0:
            return best
        mu = gaussian_mu(left, (self.budget.delta - beta) * (1 - ROUNDING))
        noise = RoundedGaussian(_root_up(2 * GRID**2 / (Fraction(self.list_share) * Fraction(mu) ** 2)))
        low, high = 0, best[0] - 1 if best else GRID + math.ceil(40 * noise.sigma)
        if high < 1:
            return best
        if self._stray(noise, high) > beta:
            return best
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._stray(noise, middle) <= beta else (middle, high)
        return high, mu, noise

    def _stray(self, noise: RoundedGaussian, rho: int) -> float:
        """beta(rho) = max over t <= m of 1 - (1 - P(X >= rho - floor(G/sqrt(t))))^t, rounded up.

        where:
            t  is how many records a person has that nobody else has.
        """
        weights, records = self._extremes
        listed = noise.at_least(rho - weights)
        with np.errstate(divide="ignore"):  # a record that is listed for sure: 1 - e^(-inf) = 1
            stray = -np.expm1(records * np.log1p(-listed))
        return min(1.0, float(stray.max()) * (1 + ROUNDING))

    @cached_property
    def _extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every weight that occurs, and the most records of one person that can have it."""
        weights = self._weights[:0:-1]
        values, last = np.unique(weights, return_index=True)
        return values, self.records_per_user - last.astype(np.int64)

    @cached_property
    def _weights(self) -> NDArray[np.int64]:
        """floor(G/sqrt(d)) for d = 0, ..., m; 0 for 0."""
        return np.array([0] + [math.isqrt(GRID**2 // d) for d in range(1, self.records_per_user + 1)], dtype=np.int64)

    @cached_property
    def count_noise(self) -> RoundedGaussian:
        """The noise of the counts, sigma_2 = sqrt(2) m/mu_2 or slightly more."""
        left = (1 - Fraction(self.list_share)) * Fraction(self.mu) ** 2
        if not left:
            raise ParameterError(
                "list share", self.list_share, "below 1 where counts are released", "0.5 halves the budget."
            )
        return RoundedGaussian(_root_up(2 * self.records_per_user**2 / left))

    @cached_property
    def dispersion_noise(self) -> RoundedGaussian:
        """The noise of the two dispersions, sqrt(2) m sigma_2 or slightly more."""
        return RoundedGaussian(_root_up(2 * self.records_per_user**2 * self.count_noise.sigma**2))

    def weights(self, distinct: NDArray[np.int64]) -> NDArray[np.int64]:
        """The weight of each of the ``distinct`` (0 to m) different records of a person: floor(G/sqrt(distinct))."""
        return self._weights[distinct]

    def totals(self, records: NDArray[np.int64], distinct_records: int) -> NDArray[np.int64]:
        """W of every record id: each row of ``records`` holds the m ids of one person, -1 where there is none."""
        self._require_rows("records", records, distinct_records)
        rows = np.sort(records, axis=1)
        first = rows >= 0
        first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
        distinct = first.sum(axis=1)
        weights = np.repeat(self.weights(distinct), distinct)
        # sums of doubles that are whole numbers, exact up to 2^53
        return np.bincount(rows[first], weights=weights, minlength=distinct_records).astype(np.int64)

    def listing_probability(self, totals: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """The probability that a record with this total is listed; 0 for a record that does not occur."""
        totals = np.asarray(totals, dtype=np.int64)
        return np.where(totals > 0, self.list_noise.at_least(self.min_total - totals), 0.0)

    def loss(self) -> float:
        """Infinite: a record that one person alone holds is listed or cannot be, so a delta is needed."""
        return math.inf

    def delta_at(self, epsilon: float) -> float:
        """beta + delta_mu(epsilon + ln(1 - beta)), for list and counts together; 1 where no epsilon is left."""
        left = epsilon + math.log1p(-self.delta_threshold)
        return min(1.0, self.delta_threshold + gaussian_delta(self.mu, left)) if left >= 0 else 1.0

    @property
    def description(self) -> str:
        """In words."""
        return f"weighted Gaussian set union of {self.records_per_user} records a person"

    def release(self, totals: NDArray[np.int64], random: ReleaseRandom) -> NDArray[np.int64]:
        """The indices of the listed records, ascending, for a list that is released."""
        require_release(random)
        return self.draw(totals, random)

    def draw(self, totals: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
        """The indices of the listed records, ascending.

        Records at the threshold or above take one draw of noise each; the many below are thinned first.
        """
        high = np.flatnonzero((totals > 0) & (totals >= self.min_total))
        low = np.flatnonzero((totals > 0) & (totals < self.min_total))
        kept = high[totals[high] + self.list_noise.draw(len(high), random) >= self.min_total]
        raised = low[self.list_noise.draw_reaching(self.min_total - totals[low], random)]
        return np.sort(np.concatenate([kept, raised]))

    def draw_counts(
        self, cells: NDArray[np.int64], query_of_cell: NDArray[np.int64], cell_count: int, random: Random
    ) -> UnionCounts:
        """The noisy counts and dispersions of the list's cells.

        Each row of ``cells`` holds the m cells of one person. The last cell, <*,*>, alone has the last query; it is
        left out, like -1 (no record).
        """
        self._require_rows("cells", cells, cell_count)
        if cell_count < 1 or query_of_cell.shape != (cell_count,) or (query_of_cell[:-1] >= query_of_cell[-1]).any():
            raise ParameterError(
                "query_of_cell",
                query_of_cell.shape,
                f"the query of each of {cell_count} cells, with the last query for the last cell alone",
                "Take both from one head list.",
            )
        named = np.where(cells < cell_count - 1, cells, -1)
        queries = np.where(named >= 0, query_of_cell[named], -1)
        counts = np.bincount(named[named >= 0], minlength=cell_count - 1).astype(np.int64)
        of_cells, of_queries = self.dispersion_noise.draw(2, random).tolist()
        return UnionCounts(
            counts + self.count_noise.draw(len(counts), random),
            _sum_of_squares(named) + of_cells,
            _sum_of_squares(queries) + of_queries,
        )

    def _require_rows(self, name: str, rows: NDArray[np.int64], bound: int) -> None:
        """Refuse rows of another length than m, or with ids out of range: the promise would not hold."""
        m = self.records_per_user
        if rows.ndim != 2 or rows.shape[1] != m:
            raise ParameterError(name, rows.shape, f"rows of {m} each", "Sample as many records as promised.")
        if rows.size and not -1 <= int(rows.min()) <= int(rows.max()) < bound:
            raise ParameterError(name, (int(rows.min()), int(rows.max())), f"from -1 to {bound - 1}", "Number anew.")

    def __str__(self) -> str:
        """The rule in words."""
        return (
            f"{self.budget}: {self.records_per_user} records of each person, "
            f"listed from the weight of {self.min_total / GRID:.2f} people on"
        )


def _root_up(square: Fraction) -> Fraction:
    """The square root, rounded up to a multiple of 2^-16, exactly."""
    return Fraction(math.isqrt(math.ceil(square * _FINE**2) - 1) + 1, _FINE)


def _sum_of_squares(rows: NDArray[np.int64]) -> int:
    """The sum over rows of sum_j c_j^2, where c_j is how often the number j >= 0 stands in the row."""
    ordered = np.sort(rows, axis=1)
    first = np.ones_like(ordered, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=ordered.size)
    return int((lengths[ordered.ravel()[starts] >= 0] ** 2).sum())
