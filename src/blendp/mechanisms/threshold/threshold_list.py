"""Listing the records whose noisy count exceeds a threshold. See PROOF.md beside this file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_count
from blendp.mechanisms.discrete_laplace import DiscreteLaplace
from blendp.mechanisms.exact import below_tail
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, require_release


@dataclass(frozen=True)
class ThresholdList:
    """Partition selection by CreateHeadList (figure 3): list a record when

        N + X > tau,   tau = b (ln(e^(epsilon/2) + m - 1) - ln delta),   b = 2m/epsilon

    where:
        N    is the number of times the record occurs among all contributed records,
        X    is discrete Laplace noise of scale b, fresh for every record that occurs,
        m    is how many records each user contributes at most.

    tau exceeds m, so no person alone can put a record on the list but by noise. The guarantee is (epsilon, delta)
    for the replacement of all records of one user.
    """

    budget: Budget
    records_per_user: int = 1
    noise: DiscreteLaplace = field(init=False)
    threshold: float = field(init=False)

    def __post_init__(self) -> None:
        """Derive noise and threshold, and refuse parameters for which the proof does not hold."""
        epsilon, delta, m = self.budget.epsilon, self.budget.delta, self.records_per_user
        require_count("records per user", m, min_value=1, remedy="1 is the published choice.")
        if delta <= 0:
            raise ParameterError(
                "delta", delta, "above 0 and below 1", "A list of unknown strings needs a delta, such as 1e-5."
            )
        object.__setattr__(self, "noise", DiscreteLaplace.for_counts(epsilon, m))
        tau = 2 * m / epsilon * (math.log(math.exp(epsilon / 2) + m - 1) - math.log(delta))
        object.__setattr__(self, "threshold", tau)
        a, z = self.noise.base, self.noise.base**self.min_total
        if z > a * (1 - a * a) or z > a / (1 + a):
            raise ParameterError(
                "delta",
                delta,
                f"small beside epsilon / records per user ({epsilon / m:g})",
                "Lower delta: the guarantee of this threshold is proved only then.",
            )

    @property
    def min_total(self) -> int:
        """The smallest whole noisy count above the threshold."""
        return math.floor(self.threshold) + 1

    def listing_probability(self, counts: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """The probability that a record with this count is listed; 0 for a record that does not occur."""
        counts = np.asarray(counts, dtype=np.int64)
        return np.where(counts > 0, self.noise.at_least(self.min_total - counts), 0.0)

    @property
    def min_people(self) -> float:
        """tau/m: more people than this, noise included, each with m occurrences of the record."""
        return self.threshold / self.records_per_user

    @property
    def count_noise(self) -> DiscreteLaplace:
        """The noise on the counts of people who did not make the list: the same law, for the same budget."""
        return self.noise

    def loss(self) -> float:
        """Infinite: a record that one person alone holds is listed or cannot be, so a delta is needed."""
        return math.inf

    def delta_at(self, epsilon: float) -> float:
        """The promised delta, at the promised epsilon and above (PROOF.md); 1 below it, where nothing is proved."""
        return self.budget.delta if epsilon >= self.budget.epsilon else 1.0

    @property
    def description(self) -> str:
        """In words."""
        return "threshold on discrete Laplace counts (figure 3)"

    def release(self, counts: NDArray[np.int64], random: ReleaseRandom) -> NDArray[np.int64]:
        """The indices of the listed records, ascending, for a list that is released."""
        require_release(random)
        return self.draw(counts, random)

    def draw(self, counts: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
        """The indices of the listed records, ascending.

        Records at the threshold or above take one draw of noise each. The many below it are grouped by count: how
        many of a group pass is drawn first, then which, so a rare record costs about two random bits.
        """
        high = np.flatnonzero(counts >= self.min_total)
        listed = [high[counts[high] + self.noise.draw(len(high), random) >= self.min_total]]
        sizes = np.bincount(counts[(counts > 0) & (counts < self.min_total)], minlength=1)
        for count in np.flatnonzero(sizes):
            passing = self._how_many_pass(int(sizes[count]), self.min_total - int(count), random)
            if passing:
                listed.append(np.flatnonzero(counts == count)[random.subset(int(sizes[count]), passing)])
        return np.sort(np.concatenate(listed))

    def _how_many_pass(self, records: int, missing: int, random: Random) -> int:
        """How many of so many records that lack ``missing`` have noise that makes up for it."""
        return below_tail(records, lambda bits: self.noise.tail_bits(missing, bits), random)
