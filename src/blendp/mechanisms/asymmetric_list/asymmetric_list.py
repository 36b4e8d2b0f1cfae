"""Listing records with their noisy totals, and counting the rest. See PROOF.md beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_number
from blendp.mechanisms.asymmetric_laplace import AsymmetricLaplace
from blendp.mechanisms.asymmetric_list.geometric_gap import GeometricGap
from blendp.mechanisms.asymmetric_list.shares import best_shares
from blendp.mechanisms.exact import WORD_BITS, ExactTail, below_tail, geometric_edges, power_bits
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, require_release


@dataclass(frozen=True)
class AsymmetricList:
    """Partition selection for one record a person: list a record, and release its total, or a query by its rest.

        a record   is listed when  N + X' - V >= T,  its total is N + X'
        a query    of which no record is listed, is listed when  R + Y >= T',  and that is its total

        epsilon = e_+ + e_- + f_-,     delta >= 1 - (1 - p)(1 - p'),    p = P(X' - V >= T - 1),  p' = P(Y >= T' - 1)

    where:
        N     is the number of people whose record it is, N >= 1; each person has one record or none,
        X'    is noise of falling rate e_+ and rising rate e_- + f_-, fresh for every record that occurs,
        V     is at least 0, and takes off X' what makes X = X' - V noise of the rates e_+ and e_-,
        R     is the number of people with the query whose record is not listed, R >= 1,
        Y     is noise of falling rate e_+ and rising rate f_-.

    Afterwards the rest R of every query that has a listed record is released with Y of its own, also where R = 0.
    The guarantee is (epsilon, delta) for the replacement of one person's record, list, totals and rests together.
    One condition is the caller's: whoever has a listed record, even one that is trimmed away later, is in no rest.

    Without ``wildcards`` (a log without URLs, or other people who are counted) no rest is released and no query listed
    by its rest: f_- = 0, V = 0 and p' = 0.

    ``falling_share`` and ``wildcard_share`` are the shares of epsilon of e_+ and f_-; e_- has the rest. Without a
    falling share, the one that can be expected to list most is taken.
    """

    budget: Budget
    wildcards: bool = True
    falling_share: float | None = None
    wildcard_share: float = 0.12
    noise: AsymmetricLaplace = field(init=False)
    """X', the noise of the records' totals."""

    list_noise: AsymmetricLaplace = field(init=False)
    """X, the noise by which records are listed."""

    wildcard_noise: AsymmetricLaplace | None = field(init=False)
    """Y, the noise of the rests."""

    min_total: int = field(init=False)
    """T."""

    min_rest: int | None = field(init=False)
    """T'."""

    def __post_init__(self) -> None:
        """Derive noise and least totals, and refuse parameters for which the proof does not hold."""
        epsilon, delta = Fraction(self.budget.epsilon), self.budget.delta
        if delta <= 0:
            raise ParameterError(
                "delta", delta, "above 0 and below 1", "A list of unknown strings needs a delta, such as 1e-5."
            )
        require_number(
            "wildcard_share",
            self.wildcard_share,
            above=0,
            max_value=0.8,
            legal="above 0 and at most 0.8",
            remedy="0.12 is usual; without wildcards nothing is spent on them.",
        )
        rest = Fraction(self.wildcard_share) if self.wildcards else Fraction(0)
        shares = best_shares(float(epsilon), float(delta), rest, self._asked_share(rest))
        falling, of_rest = epsilon * shares.falling, epsilon * rest
        listing = AsymmetricLaplace(falling, epsilon - of_rest - falling)
        if not _power_is_below(listing.rising, 1 - Fraction(delta)):
            raise ParameterError(
                "delta",
                delta,
                f"at most {-math.expm1(-listing.rising):.6g}, which is 1 - e^(-rising rate)",
                "Lower delta: the guarantee of this list is proved only then.",
            )
        wildcard = AsymmetricLaplace(falling, of_rest) if self.wildcards else None
        least = _least_total(listing, delta * shares.records)
        object.__setattr__(self, "list_noise", listing)
        object.__setattr__(self, "noise", AsymmetricLaplace(falling, epsilon - falling))
        object.__setattr__(self, "wildcard_noise", wildcard)
        object.__setattr__(self, "min_total", least)
        object.__setattr__(self, "min_rest", None if wildcard is None else _least_rest(wildcard, listing, least, delta))

    def _asked_share(self, rest: Fraction) -> Fraction | None:
        """The share of epsilon of e_+ that was asked for, if any."""
        if self.falling_share is None:
            return None
        require_number(
            "falling_share",
            self.falling_share,
            above=0,
            below=float(1 - rest),
            legal=f"above 0 and below {float(1 - rest):g}",
            remedy="The rest of epsilon is the rising rate's; 0.7 is usual, None takes the best.",
        )
        return Fraction(self.falling_share)

    def listing_probability(self, counts: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """The probability that a record with this count is listed; 0 for a record that does not occur."""
        counts = np.asarray(counts, dtype=np.int64)
        return np.where(counts > 0, self.list_noise.at_least(self.min_total - counts), 0.0)

    @property
    def records_per_user(self) -> int:
        """1: the proof is of one record a person."""
        return 1

    @property
    def min_people(self) -> float:
        """T: a count is one of people."""
        return float(self.min_total)

    @property
    def count_noise(self) -> AsymmetricLaplace:
        """The noise of the totals that are released."""
        return self.noise

    def loss(self) -> float:
        """Infinite: a record that one person alone holds is listed or cannot be, so a delta is needed."""
        return math.inf

    def delta_at(self, epsilon: float) -> float:
        """1 - (1 - p)(1 - p'), at the promised epsilon and above (PROOF.md); 1 below it, where nothing is proved."""
        if epsilon < self.budget.epsilon:
            return 1.0
        record = float(self.list_noise.at_least(self.min_total - 1))
        query = 0.0
        if self.wildcard_noise is not None and self.min_rest is not None:
            query = float(self.wildcard_noise.at_least(self.min_rest - 1))
        return min(self.budget.delta, record + query - record * query)

    @property
    def description(self) -> str:
        """In words."""
        return "threshold on asymmetric discrete Laplace counts"

    def release(self, counts: NDArray[np.int64], random: ReleaseRandom) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The indices of the listed records, ascending, and their noisy totals, for a list that is released."""
        require_release(random)
        return self.draw(counts, random)

    def draw(self, counts: NDArray[np.int64], random: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The indices of the listed records, ascending, and their noisy totals.

        Of a record at the least total or above, noise and gap are drawn. Of one below it that is listed, the total goes
        beyond the least by a geometric number, as noise is memoryless, and by a gap that is small where noise is rare.
        """
        high = np.flatnonzero(counts >= self.min_total)
        totals = counts[high] + self.noise.draw(len(high), random)
        passing = totals - _drawn(self.gap, len(high), random) >= self.min_total
        low = self._passing_below(counts, self.min_total, self.list_noise, random)
        beyond = self._beyond.above(random.words(len(low)), random) + _drawn(self.gap_below, len(low), random)
        return _in_order((high[passing], totals[passing]), (low, self.min_total + beyond))

    def draw_queries(self, counts: NDArray[np.int64], random: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The indices of the queries that are listed by their rests, ascending, and these noisy rests.

        ``counts`` tells how many people have each query. Queries with a listed record are among those drawn, as each
        has noise of its own: whoever knows them leaves them out.
        """
        noise, least = self._rests
        high = np.flatnonzero(counts >= least)
        totals = counts[high] + noise.draw(len(high), random)
        passing = totals >= least
        low = self._passing_below(counts, least, noise, random)
        beyond = self._beyond.above(random.words(len(low)), random)
        return _in_order((high[passing], totals[passing]), (low, least + beyond))

    @staticmethod
    def _passing_below(
        counts: NDArray[np.int64], min_total: int, noise: AsymmetricLaplace, random: Random
    ) -> NDArray[np.int64]:
        """The items that occur less often than the least total and are listed all the same.

        They are grouped by count: how many of a group pass is drawn first, then which, so a rare item costs about two
        random bits.
        """
        passing = [np.empty(0, dtype=np.int64)]
        sizes = np.bincount(counts[(counts > 0) & (counts < min_total)], minlength=1)
        for count in np.flatnonzero(sizes):
            tail = partial(noise.tail_bits, min_total - int(count))
            many = below_tail(int(sizes[count]), tail, random)
            if many:
                passing.append(np.flatnonzero(counts == count)[random.subset(int(sizes[count]), many)])
        return np.concatenate(passing)

    @cached_property
    def _beyond(self) -> ExactTail:
        """P(G >= g) = e^(-e_+ g) for g >= 1: by how much noise goes beyond what it had to reach."""

        def bits(g: int, bits: int) -> int:
            return power_bits(g * self.noise.falling, bits)

        step = bits(1, 2 * WORD_BITS)
        return ExactTail(bits, geometric_edges(step, step, bits))

    @cached_property
    def gap(self) -> GeometricGap | None:
        """V; None where it is 0."""
        return None if self.wildcard_noise is None else GeometricGap(self.list_noise.rising, self.noise.rising)

    @cached_property
    def gap_below(self) -> GeometricGap | None:
        """V given that a record below the least total is listed: each unit of it takes e_+ more of the noise."""
        if self.wildcard_noise is None:
            return None
        falling = self.noise.falling
        return GeometricGap(self.list_noise.rising + falling, self.noise.rising + falling)

    @property
    def _rests(self) -> tuple[AsymmetricLaplace, int]:
        """Y and T'."""
        if self.wildcard_noise is None or self.min_rest is None:
            raise ParameterError(
                "wildcards", self.wildcards, "True for a list that counts them", "Make the list with wildcards=True."
            )
        return self.wildcard_noise, self.min_rest

    def draw_wildcards(self, counts: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
        """The noisy counts of the wildcards.

        ``counts`` tells for every cell that the list determines how many people with an unlisted record it holds.
        """
        noise, _ = self._rests
        return counts + noise.draw(len(counts), random)

    def __str__(self) -> str:
        """One line for people."""
        rests = ""
        if self.wildcard_noise is not None:
            rests = (
                f", queries by rests from {self.min_rest} on, wildcards rising {float(self.wildcard_noise.rising):.4g}"
            )
        return (
            f"list of totals from {self.min_total} on, {self.budget}: "
            f"noise falling {float(self.noise.falling):.4g}, rising {float(self.list_noise.rising):.4g}{rests}"
        )


def _drawn(gap: GeometricGap | None, count: int, random: Random) -> NDArray[np.int64]:
    return np.zeros(count, dtype=np.int64) if gap is None else gap.draw(count, random)


def _in_order(*parts: tuple[NDArray[np.int64], NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices, ascending, and what belongs to each."""
    indices, totals = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(indices)
    return indices[order], totals[order]


def _least_total(noise: AsymmetricLaplace, delta: float) -> int:
    """The least t >= 2 with P(X >= t - 1) < delta, decided by whole numbers.

    The probability is rounded up, by less than 2^-64 of the last digit of delta: a double is a whole number of these.
    """
    units, bits = _in_units(delta)

    def holds(t: int) -> bool:
        return noise.tail_bits(t - 1, bits) + 1 < units

    total = max(2, 1 + math.ceil((math.log(noise.upper) - math.log(delta)) / noise.falling))
    while not holds(total):
        total += 1
    while total > 2 and holds(total - 1):
        total -= 1
    return total


def _least_rest(noise: AsymmetricLaplace, listing: AsymmetricLaplace, total: int, delta: float) -> int:
    """The least t >= 2 with 1 - (1 - P(X >= T - 1))(1 - P(Y >= t - 1)) <= delta, decided in the same way."""
    units, bits = _in_units(delta)
    one = 1 << bits
    unlisted = one - listing.tail_bits(total - 1, bits) - 1

    def holds(t: int) -> bool:
        return unlisted * (one - noise.tail_bits(t - 1, bits) - 1) >= (one - units) * one

    spare = float(1 - Fraction(one - units, unlisted))
    rest = max(2, 1 + math.ceil((math.log(noise.upper) - math.log(spare)) / noise.falling))
    while not holds(rest):
        rest += 1
    while rest > 2 and holds(rest - 1):
        rest -= 1
    return rest


def _in_units(delta: float) -> tuple[int, int]:
    """Delta as a whole number of units, and the bits of a unit: 64 more than the double needs."""
    units, denominator = delta.as_integer_ratio()
    return units << WORD_BITS, denominator.bit_length() - 1 + WORD_BITS


def _power_is_below(rate: Fraction, bound: Fraction) -> bool:
    """Whether e^(-rate) <= bound, decided exactly, for a bound whose denominator is a power of two."""
    return power_bits(rate, bound.denominator.bit_length() - 1) < bound.numerator
