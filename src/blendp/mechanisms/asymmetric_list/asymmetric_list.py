"""Listing records with their noisy totals, and counting the rest. See PROOF.md beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_number
from blendp.mechanisms.asymmetric_laplace import AsymmetricLaplace
from blendp.mechanisms.asymmetric_list.shares import best_falling_share
from blendp.mechanisms.exact import WORD_BITS, ExactTail, below_tail, geometric_edges, power_bits
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, require_release


@dataclass(frozen=True)
class AsymmetricList:
    """Partition selection: list a record, together with its noisy total, when

        N + X >= T,   T = min {t >= 2 : P(X >= t - 1) <= delta},   epsilon = e_+ + e_- + f_-

    where:
        N         is the number of people whose record it is; each person has one record or none,
        X         is noise of falling rate e_+ and rising rate e_-, fresh for every record that occurs,
        f_-       is the rising rate of the noise of the wildcards, whose falling rate is e_+ too; 0 without them.

    Afterwards the people whose record is not listed may be counted once more, each in at most one of the cells that
    the list determines (<q,*> of every listed query; <*,*> too, if it is wanted), each cell with wildcard noise. The
    guarantee is (epsilon, delta) for the replacement of one person's record, list, totals and wildcards together.
    One condition is the caller's: whoever has a listed record, even one that is trimmed away later, counts in no cell.

    ``falling_share`` and ``wildcard_share`` are the shares of epsilon of e_+ and f_-; e_- has the rest. Without a
    falling share, the one that can be expected to list most is taken.
    """

    budget: Budget
    wildcards: bool = True
    falling_share: float | None = None
    wildcard_share: float = 0.12
    noise: AsymmetricLaplace = field(init=False)
    wildcard_noise: AsymmetricLaplace | None = field(init=False)
    min_total: int = field(init=False)
    """T."""

    def __post_init__(self) -> None:
        """Derive noise and least total, and refuse parameters for which the proof does not hold."""
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
        wildcard = Fraction(self.wildcard_share) if self.wildcards else Fraction(0)
        falling = epsilon * self._falling_share(wildcard)
        noise = AsymmetricLaplace(falling, epsilon * (1 - wildcard) - falling)
        if not _power_is_below(noise.rising, 1 - Fraction(delta)):
            raise ParameterError(
                "delta",
                delta,
                f"at most {-math.expm1(-noise.rising):.6g}, which is 1 - e^(-rising rate)",
                "Lower delta: the guarantee of this list is proved only then.",
            )
        object.__setattr__(self, "noise", noise)
        object.__setattr__(
            self, "wildcard_noise", AsymmetricLaplace(falling, epsilon * wildcard) if self.wildcards else None
        )
        object.__setattr__(self, "min_total", _min_total(noise, delta))

    def _falling_share(self, wildcard: Fraction) -> Fraction:
        """The share of epsilon of e_+: as asked for, or the best one."""
        if self.falling_share is None:
            return best_falling_share(float(self.budget.epsilon), float(self.budget.delta), wildcard)
        require_number(
            "falling_share",
            self.falling_share,
            above=0,
            below=float(1 - wildcard),
            legal=f"above 0 and below {float(1 - wildcard):g}",
            remedy="The rest of epsilon is the rising rate's; 0.7 is usual, None takes the best.",
        )
        return Fraction(self.falling_share)

    def listing_probability(self, counts: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """The probability that a record with this count is listed; 0 for a record that does not occur."""
        counts = np.asarray(counts, dtype=np.int64)
        return np.where(counts > 0, self.noise.at_least(self.min_total - counts), 0.0)

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
        """The noise that made the list: its totals are released."""
        return self.noise

    def loss(self) -> float:
        """Infinite: a record that one person alone holds is listed or cannot be, so a delta is needed."""
        return math.inf

    def delta_at(self, epsilon: float) -> float:
        """P(X >= T - 1), at the promised epsilon and above (PROOF.md); 1 below it, where nothing is proved."""
        stray = min(self.budget.delta, float(self.noise.at_least(self.min_total - 1)))
        return stray if epsilon >= self.budget.epsilon else 1.0

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

        Records at the least total or above take one draw of noise each. The many below it are grouped by count: how
        many of a group pass is drawn first, then which, so a rare record costs about two random bits. Noise that
        makes up for what is missing is memoryless: by how much it goes beyond is geometric.
        """
        high = np.flatnonzero(counts >= self.min_total)
        totals = counts[high] + self.noise.draw(len(high), random)
        passing = totals >= self.min_total
        low = self._passing_below(counts, random)
        beyond = self._beyond.above(random.words(len(low)), random)
        listed = np.concatenate([high[passing], low])
        order = np.argsort(listed)
        return listed[order], np.concatenate([totals[passing], self.min_total + beyond])[order]

    def _passing_below(self, counts: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
        """The records that occur less often than the least total and are listed all the same."""
        passing = [np.empty(0, dtype=np.int64)]
        sizes = np.bincount(counts[(counts > 0) & (counts < self.min_total)], minlength=1)
        for count in np.flatnonzero(sizes):
            size, missing = int(sizes[count]), self.min_total - int(count)
            many = self._how_many_pass(size, missing, random)
            if many:
                passing.append(np.flatnonzero(counts == count)[random.subset(size, many)])
        return np.concatenate(passing)

    def _how_many_pass(self, records: int, missing: int, random: Random) -> int:
        """How many of so many records that lack ``missing`` have noise that makes up for it."""
        return below_tail(records, lambda bits: self.noise.tail_bits(missing, bits), random)

    @cached_property
    def _beyond(self) -> ExactTail:
        """P(G >= g) = e^(-e_+ g) for g >= 1: by how much noise goes beyond what it had to reach."""

        def bits(g: int, bits: int) -> int:
            return power_bits(g * self.noise.falling, bits)

        step = bits(1, 2 * WORD_BITS)
        return ExactTail(bits, geometric_edges(step, step, bits))

    def draw_wildcards(self, counts: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
        """The noisy counts of the wildcards.

        ``counts`` tells for every cell that the list determines how many people with an unlisted record it holds.
        """
        if self.wildcard_noise is None:
            raise ParameterError(
                "wildcards", self.wildcards, "True for a list that counts them", "Make the list with wildcards=True."
            )
        return counts + self.wildcard_noise.draw(len(counts), random)

    def __str__(self) -> str:
        """One line for people."""
        wildcards = f", wildcards rising {float(self.wildcard_noise.rising):.4g}" if self.wildcard_noise else ""
        return (
            f"list of totals from {self.min_total} on, {self.budget}: "
            f"noise falling {float(self.noise.falling):.4g}, rising {float(self.noise.rising):.4g}{wildcards}"
        )


def _min_total(noise: AsymmetricLaplace, delta: float) -> int:
    """The least t >= 2 with P(X >= t - 1) <= delta, decided exactly.

    A double is a whole number of units 2^-bits, and floor(2^bits P) < u is the same as 2^bits P < u for a whole u.
    """
    units, denominator = delta.as_integer_ratio()
    bits = denominator.bit_length() - 1
    total = max(2, 1 + math.ceil((math.log(noise.upper) - math.log(delta)) / noise.falling))
    while noise.tail_bits(total - 1, bits) >= units:
        total += 1
    while total > 2 and noise.tail_bits(total - 2, bits) < units:
        total -= 1
    return total


def _power_is_below(rate: Fraction, bound: Fraction) -> bool:
    """Whether e^(-rate) <= bound, decided exactly, for a bound whose denominator is a power of two."""
    return power_bits(rate, bound.denominator.bit_length() - 1) < bound.numerator
