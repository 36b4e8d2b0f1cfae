"""A list from all records of each person, in two rounds, and what is left for its counts. See PROOF.md beside."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import cycle
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from blendp.arrays import Array, Ids
from blendp.errors import ParameterError, require_number
from blendp.mechanisms.filtered_union.bounded import root_up
from blendp.mechanisms.filtered_union.holdings import GRID, MAX_DIFFERENT, HeldRecords, filter_weights
from blendp.mechanisms.filtered_union.two_scale import TwoScaleCounts
from blendp.mechanisms.rounded_gaussian import MAX_TABLE_SIGMA, RoundedGaussian
from blendp.privacy import Budget
from blendp.privacy.gaussian import gaussian_delta, gaussian_mu
from blendp.randomness import Random, ReleaseRandom, require_release

STRAY_ROUNDING = 1e-10
"""Bounds the relative error of what is computed about strays, down to a delta of 1e-100."""

PASSING = Fraction(3, 2)
"""t: a record passes the first round from so many standard deviations of its noise on."""

_EMPHASIS = 64  # c is a multiple of one over this
_SPLITS = 8  # parts of delta that the choice of its split tries
_SLOPES = 8  # of the slopes that may bound the strays every so manieth is tried: more find no lower threshold
_RESERVED = 1e-3  # of epsilon, for gamma

_Plan = tuple[int, float, RoundedGaussian, RoundedGaussian]


class ListedRecords(NamedTuple):
    """The records of the list, ascending, and the noisy weight W + X of each, which cost the same budget."""

    records: Ids
    totals: Ids


@dataclass(frozen=True)
class FilteredUnion:
    """Partition selection in two rounds. Most of a person's different records can never be listed, so the first round,
    which is not released, tells for which of them a person's weight is not wasted:

        1.  V(r) = sum over the holders of r of floor(G/sqrt(d)),   r passes when  V(r) + X_1 >= t s_1
        2.  W(r) = sum over the holders of r of floor(G c_r/|c|),   r is listed when  W(r) + X_2 >= rho

    where:
        d    is how many different records a person has, at most 100,
        X_1  is rounded Gaussian noise of standard deviation s_1 = sqrt(2) G/mu_1, fresh for every record that occurs,
        c_r  is min(1, rho/(V(r) + X_1)): less for what is far above the threshold anyway,
        |c|  is the root of the sum of c_r^2 over those records of the person that pass,
        X_2  is rounded Gaussian noise of standard deviation s_2 = sqrt(2) G/mu_2, fresh for every record that passes,
        rho  is so large that the records of one person alone are listed with probability beta at most.

    With mu^2 = mu_1^2 + mu_2^2 + mu_3^2, and the rest mu_3 for counts (:attr:`counts`), list and counts together are
    (epsilon, delta)-private for the replacement of all records of one user,

        delta >= beta + delta_mu(epsilon + ln(1 - gamma))

    where:
        beta      bounds, over a person's records and the first round's noise on them, that one of them is listed,
        gamma     bounds the same for the worst outcome of that noise,
        delta_mu  is the delta of Gaussian noise (:func:`blendp.privacy.gaussian.gaussian_delta`).

    The split of delta is the one that gives the lowest rho.
    """

    budget: Budget
    filter_share: float = 0.15
    """mu_1^2/mu^2: the part of the budget for the first round."""

    list_share: float = 0.25
    """mu_2^2/mu^2: the part of the budget for the second round; what is left is for the counts."""

    mu: float = field(init=False)
    filter_noise: RoundedGaussian = field(init=False)
    """X_1."""
    list_noise: RoundedGaussian = field(init=False)
    """X_2."""
    min_total: int = field(init=False)
    """rho."""
    delta_threshold: float = field(init=False)
    """beta, rounded up."""
    worst_threshold: float = field(init=False)
    """gamma, rounded up."""
    delta_gaussian: float = field(init=False)
    """delta_mu(epsilon + ln(1 - gamma)), rounded up."""

    def __post_init__(self) -> None:
        """Split delta, derive noise and thresholds, and check the promise."""
        delta = self.budget.delta
        for name, share in (("filter share", self.filter_share), ("list share", self.list_share)):
            require_number(
                name,
                share,
                above=0,
                below=1,
                legal="above 0 and below 1",
                remedy="0.15 and 0.25 leave most for counts.",
            )
        left = 1 - Fraction(self.filter_share) - Fraction(self.list_share)
        if left <= 0:
            legal = f"below {1 - self.filter_share:g}, so that something is left for the counts"
            raise ParameterError("list share", self.list_share, legal, "0.15 and 0.25 leave most for counts.")
        if delta < 1e-100:
            raise ParameterError(
                "delta", delta, "at least 1e-100 and below 1", "A list of unknown strings needs a delta, such as 1e-5."
            )
        best: _Plan | None = None
        for part in range(1, _SPLITS):
            best = self._better(delta * part / _SPLITS, best)
        if best is None and not self.has_room(self.budget, self.filter_share, self.list_share):
            legal = f"so large that the list's noise is below {MAX_TABLE_SIGMA}"
            raise ParameterError("epsilon", self.budget.epsilon, legal, "Raise epsilon or delta.")
        if best is None:
            raise ParameterError(
                "delta", delta, f"small beside epsilon ({self.budget.epsilon:g})", "Lower delta or raise epsilon."
            )
        rho, mu, filter_noise, list_noise = best
        self._settle(mu=mu, filter_noise=filter_noise, list_noise=list_noise, min_total=rho)
        beta, gamma = self._stray(rho)
        spent = gaussian_delta(mu, self.budget.epsilon + math.log1p(-gamma))
        self._settle(delta_threshold=beta, worst_threshold=gamma, delta_gaussian=spent)
        if beta + spent > delta:
            raise ArithmeticError("the split of delta spends more than delta: nothing may be released with it")

    @staticmethod
    def has_room(budget: Budget, filter_share: float, list_share: float) -> bool:
        """Whether this budget's noise is surely small enough to be drawn; cheaper than trying."""
        half = Budget(budget.epsilon * (1 - _RESERVED), budget.delta / 2)
        if half.delta < 1e-100:
            return False
        return 1.05 * math.sqrt(2 / min(filter_share, list_share)) * GRID < MAX_TABLE_SIGMA * gaussian_mu(
            half.epsilon, half.delta
        )

    def _settle(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _better(self, part: float, best: _Plan | None) -> _Plan | None:
        """rho, mu and the noise if the strays take this part of delta and rho is then lower than the best.

        As gamma is not known yet, a little of epsilon is kept for it. A part with which the noise is too wide to be
        drawn is out of the question.
        """
        reserve = self.budget.epsilon * _RESERVED
        mu = gaussian_mu(self.budget.epsilon - reserve, self.budget.delta - part)
        noise = [RoundedGaussian(root_up(2 * GRID**2 / (share * Fraction(mu) ** 2))) for share in self._list_shares]
        if max(each.sigma for each in noise) > MAX_TABLE_SIGMA:
            return best
        self._settle(filter_noise=noise[0], list_noise=noise[1])

        def tried(rho: int) -> tuple[bool, int]:
            """Whether rho is high enough; and about which one just is, as strays fall like the tail of the noise."""
            beta, gamma = self._stray(rho)
            fits = beta <= part and gamma < 1 and math.log1p(-gamma) > -reserve
            return fits, rho + math.ceil((_quantile(part) - _quantile(beta)) * float(noise[1].sigma))

        low, high = 0, best[0] - 1 if best else GRID + math.ceil(40 * noise[1].sigma)
        if high < 1:
            return best
        fits, guess = tried(high)
        if not fits:
            return best
        for guessed in cycle((True, True, True, False)):
            if high - low == 1:
                break
            middle = min(max(guess, low + 1), high - 1) if guessed else (low + high) // 2
            fits, guess = tried(middle)
            low, high = (low, middle) if fits else (middle, high)
        return high, mu, noise[0], noise[1]

    @property
    def _list_shares(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.filter_share), Fraction(self.list_share)

    @property
    def passing_total(self) -> int:
        """t s_1, rounded up: what a record needs to pass the first round, noise included."""
        return _passing_total(self.filter_noise)

    @cached_property
    def counts(self) -> TwoScaleCounts:
        """How the cells of the list are counted, with mu_3^2 = mu^2 - mu_1^2 - mu_2^2."""
        return TwoScaleCounts((1 - sum(self._list_shares)) * Fraction(self.mu) ** 2)

    def _stray(self, rho: int) -> tuple[float, float]:
        """beta and gamma, rounded up.

            beta = max over d <= 100 of sum_k Bin(k; d, P(X_1 >= t s_1 - floor(G/sqrt(d)))) (1 - e^(-H_k))
            gamma = 1 - e^(-H_100)

        where:
            d  is how many records a person has that nobody else has, k how many of them pass.
        """
        listed = self._stray_listed(rho)
        passed = _passed_strays(self.filter_noise, MAX_DIFFERENT)
        beta, gamma = float((passed @ listed).max()), float(listed[-1])
        return min(1.0, beta * (1 + STRAY_ROUNDING)), min(1.0, gamma * (1 + STRAY_ROUNDING))

    def _stray_listed(self, rho: int) -> Array:
        """1 - e^(-H_k) for k = 0, ..., 100: a bound on the probability that one of k records of one person is listed.

            H_k = min over lambda >= 0 of  lambda G^2 + k max_w (f(w) - lambda w^2),   f(w) = -ln P(X_2 < rho - w)

        where:
            H_k  bounds the sum of f over their weights, however they are spread: the squares of k weights add up to
                 G^2 at most. Every lambda gives a bound, so it does not matter which are tried.
        """
        w, k = np.arange(GRID + 1), np.arange(MAX_DIFFERENT + 1)
        tails = self.list_noise.at_least(rho - w)
        if tails[-1] >= 1:
            return np.minimum(k, 1.0)
        f, squares = -np.log1p(-tails), (w * w).astype(np.float64)
        steps, chords = np.diff(f) / np.diff(squares), (f[-1] - f[:-1]) / (squares[-1] - squares[:-1])
        slopes = np.concatenate([[0.0], steps[::_SLOPES], chords[::_SLOPES]])
        peaks = (f - np.outer(slopes, squares)).max(axis=1)
        listed = -np.expm1(-(slopes * GRID**2 + np.outer(k, peaks)).min(axis=1))
        listed[0] = 0.0
        return np.asarray(listed)

    @property
    def records_per_user(self) -> int:
        """How many different records of a person may weigh in the list."""
        return MAX_DIFFERENT

    @property
    def min_people(self) -> float:
        """rho as a number of people: how many reach it who hold no other record that passes."""
        return self.min_total / GRID

    @property
    def description(self) -> str:
        """In words."""
        return f"filtered Gaussian set union, at most {MAX_DIFFERENT} different records a person"

    def loss(self) -> float:
        """Infinite: a record that one person alone holds is listed or cannot be, so a delta is needed."""
        return math.inf

    def delta_at(self, epsilon: float) -> float:
        """beta + delta_mu(epsilon + ln(1 - gamma)), for list and counts together; 1 where no epsilon is left."""
        left = epsilon + math.log1p(-self.worst_threshold)
        return min(1.0, self.delta_threshold + gaussian_delta(self.mu, left)) if left >= 0 else 1.0

    def get_ready(self) -> None:
        """Make the tables that noise is drawn from, if there are none yet; else the first draw does."""
        for noise in (self.filter_noise, self.list_noise):
            noise.get_ready()

    def release(self, holdings: HeldRecords, random: ReleaseRandom) -> ListedRecords:
        """The listed records with their noisy weights, for a list that is released."""
        require_release(random)
        return self.draw(holdings, random)

    def draw(self, holdings: HeldRecords, random: Random) -> ListedRecords:
        """The listed records with their noisy weights."""
        passing, noisy = _reaching_in_blocks(holdings.filter_totals(), self.passing_total, self.filter_noise, random)
        emphasis = np.clip(_EMPHASIS * self.min_total // np.maximum(noisy, 1), 1, _EMPHASIS)
        totals = holdings.list_totals(passing, emphasis)
        listed, noisy = _reaching(totals, self.min_total, self.list_noise, random)
        return ListedRecords(holdings.named(passing[listed]), noisy)

    def __str__(self) -> str:
        """The rule in words."""
        return (
            f"{self.budget}: at most {MAX_DIFFERENT} different records of each person, "
            f"listed from the weight of {self.min_people:.2f} people on"
        )


def _reaching_in_blocks(
    blocks: Iterable[Ids], threshold: int, noise: RoundedGaussian, random: Random
) -> tuple[Ids, Ids]:
    """The same as :func:`_reaching` for totals that come in blocks, one after the other: noise is independent."""
    start, positions, noisy = 0, [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for totals in blocks:
        within, with_noise = _reaching(totals, threshold, noise, random)
        positions.append(start + within)
        noisy.append(with_noise)
        start += len(totals)
    return np.concatenate(positions), np.concatenate(noisy)


def _reaching(totals: Ids, threshold: int, noise: RoundedGaussian, random: Random) -> tuple[Ids, Ids]:
    """The positions, ascending, whose total with fresh noise is at least the threshold, and what it is there.

    Totals at the threshold or above take one draw of noise each; the many below are thinned first.
    """
    high, low = np.flatnonzero(totals >= threshold), np.flatnonzero(totals < threshold)
    noisy = totals[high] + noise.draw(len(high), random)
    raised, x = noise.draw_reaching(threshold - totals[low], random)
    fine = noisy >= threshold
    positions = np.concatenate([high[fine], low[raised]])
    order = np.argsort(positions)
    return positions[order], np.concatenate([noisy[fine], totals[low[raised]] + x])[order]


def _quantile(probability: float) -> float:
    """The z with Q(z) = probability, about, for one of 1/2 at most."""
    return -NormalDist().inv_cdf(min(max(probability, 1e-300), 0.5))


def _passing_total(filter_noise: RoundedGaussian) -> int:
    """t s_1, rounded up."""
    return math.ceil(PASSING * filter_noise.sigma)


@lru_cache(maxsize=64)
def _passed_strays(filter_noise: RoundedGaussian, max_different: int) -> Array:
    """The law of how many of a person's d records pass that nobody else has: a row for every d from 1 to so many."""
    d, k = np.arange(1, max_different + 1), np.arange(max_different + 1)
    p = filter_noise.at_least(_passing_total(filter_noise) - filter_weights()[d])[:, None]
    return np.asarray(_ways(max_different) * p**k * (1 - p) ** np.maximum(d[:, None] - k, 0))


@lru_cache(maxsize=4)
def _ways(max_different: int) -> Array:
    """How many ways there are to choose k of d: a row for every d from 1, a column for every k from 0 to so many."""
    return np.array(
        [[math.comb(d, k) for k in range(max_different + 1)] for d in range(1, max_different + 1)], dtype=np.float64
    )
