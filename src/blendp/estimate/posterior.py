"""What the opt-in group's released counts say about each cell, before the clients are asked.

    density(L)  ~  prior(L) P(z | L)

    prior(L) = L^-alpha                             for listed records
             = mass at 0, and a log-normal density  for the <q,*> (:mod:`~blendp.estimate.rests`)
    P(z | L) = sum_N P(N | L) P(X = z - N)          small counts of one record a person
             = Normal(z; L, phi L + s^2)            all others

where:
    N      is the number of people, Poisson of mean L; at least 1 for listed records (see :func:`_numbers` for rests),
    L      is the expected number of opt-in people behind the cell (n_O times its probability),
    z      is the released number, X its noise, s^2 the variance of the noise, phi the dispersion,
    alpha  is the exponent of the power law that the listed counts follow (:func:`prior_exponent`).

Records are on the list because their numbers came out large, so the numbers are too large on average. Given the number,
how it was selected no longer matters: a density that starts from the law of all records is free of that effect. A
trimmed record is part of the rest of its query; the rest is then the sum of what is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, Ids, distinct
from blendp.curator.by_weight import Prediction
from blendp.curator.opt_in_counts import OptInCounts
from blendp.estimate.rests import rest_weights
from blendp.mechanisms import AsymmetricLaplace

WILDCARD_EXPONENT = 0.5

_POINTS = 240
_MIN_PEOPLE = 0.02
_MIN_REST = 1e-3
_SINGLE = 0.25
_EXACT_UP_TO = 80
_ELSEWHERE = 1.0
_REACH = 9.0  # standard deviations on either side of a grid
_COARSE = 4.0  # a variance that falls to less than one part in so many needs a finer grid
_SHIFT = 0.5  # by so much Poisson counts shift a power law of exponent 2
_USUAL_EXPONENT, _WEIGHT_OF_USUAL = 2.0, 6.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """A density over the probability of each cell but <*,*>, on a grid of its own for each, and perhaps mass at 0.

    where:
        grid        holds the probabilities, a row for every cell, each the same multiple of the one before,
        log_weight  holds the logarithm of the weight of every grid point: of the density times the grid,
        log_zero    is the logarithm of the weight of exactly 0, beside the sum of those of the grid; None for none.

    Beyond the ends of its grid a density goes on as that of the normal law with its mean and variance.
    """

    users: int
    grid: Array
    log_weight: Array
    log_zero: Array | None = None

    @cached_property
    def _weights(self) -> tuple[Array, Array]:
        """The weights of the grid's points and of 0; they sum to 1 in every cell."""
        zero = np.full(len(self.grid), -np.inf) if self.log_zero is None else self.log_zero
        highest = np.maximum(self.log_weight.max(axis=1), zero)
        weight, at_zero = np.exp(self.log_weight - highest[:, None]), np.exp(zero - highest)
        total = weight.sum(axis=1) + at_zero
        return weight / total[:, None], at_zero / total

    @property
    def zero(self) -> Array:
        """The probability that a cell is exactly 0."""
        return self._weights[1]

    @cached_property
    def mean(self) -> Array:
        """The mean of every cell."""
        return np.asarray((self._weights[0] * self.grid).sum(axis=1))

    @cached_property
    def variance(self) -> Array:
        """The variance of every cell."""
        weight, zero = self._weights
        return np.asarray((weight * (self.grid - self.mean[:, None]) ** 2).sum(axis=1) + zero * self.mean**2)

    def quantile(self, levels: Array) -> Array:
        """For every cell, the probability below which so much of its weight lies; one level a cell, or rows of them.

        With rows of levels, of shape (rows, cells), the result has that shape.
        """
        weight, zero = self._weights
        steps = zero[:, None] + np.cumsum(weight, axis=1) - weight / 2
        asked = np.atleast_2d(levels)
        quantiles = np.empty_like(asked, dtype=np.float64)
        for cell in range(len(self.grid)):
            quantiles[:, cell] = np.interp(asked[:, cell], steps[cell], self.grid[cell])
        quantiles[asked < zero] = 0.0
        return quantiles if levels.ndim == 2 else quantiles[0]

    def interval(self, confidence: float) -> tuple[Array, Array]:
        """The ends of an interval of every cell: with equal tails, or from 0 where the weight of 0 exceeds a tail.

        An interval of equal tails never holds 0. One that begins there goes up to where the positive values have so
        much of their own weight below them: it holds 0, and positive values as often as was asked for.
        """
        tail = (1 - confidence) / 2
        zero = self.zero
        from_zero = zero > tail
        low = self.quantile(np.where(from_zero, 0.0, tail))
        high = self.quantile(np.where(from_zero, zero + (1 - zero) * confidence, 1 - tail))
        return np.where(from_zero, 0.0, low), high

    def times_normal(self, mean: Array, variance: Array) -> Posterior:
        """With one more, independent, normal observation of every cell; an infinite variance says nothing.

        Where it says so much that the grid is too coarse for the product, or does not reach it, the grid is made anew.
        """
        known = np.isfinite(variance)
        mean, precision = np.where(known, mean, 0.0), np.where(known, 1 / variance, 0.0)
        narrow = 1 / (1 / self.variance + precision)
        centre = narrow * (self.mean / self.variance + mean * precision)
        reach = _REACH * np.sqrt(narrow)
        unfit = (_COARSE * narrow < self.variance) | (centre + reach / 2 > self.grid[:, -1])
        low = np.maximum(self.grid[:, 0], centre - reach)
        own = self._regridded(low, np.maximum(low, centre) + reach, unfit & known)
        distance = (own.grid - mean[:, None]) ** 2 * (precision[:, None] / 2)
        zero = None if own.log_zero is None else own.log_zero - mean**2 * precision / 2
        return Posterior(self.users, own.grid, own.log_weight - distance, zero)

    def flattened(self, share: Array) -> Posterior:
        """With this share of its information: a normal density of variance v gets the variance v/share. The weight of 0
        stays.
        """
        reach = _REACH * np.sqrt(self.variance / share)
        lowest = np.maximum(self.mean - reach, _MIN_PEOPLE / max(self.users, 1))
        low, high = np.minimum(self.grid[:, 0], lowest), np.maximum(self.grid[:, -1], self.mean + reach)
        wide = self._regridded(low, high, share < 1)
        spread = np.log(wide.grid)
        log_weight = (wide.log_weight - spread) * share[:, None] + spread
        if self.log_zero is None:
            return Posterior(self.users, wide.grid, log_weight)
        with np.errstate(divide="ignore"):
            odds = np.log(self.zero) - np.log1p(-self.zero)
        return Posterior(self.users, wide.grid, log_weight, odds + _log_sum(log_weight))

    def _regridded(self, low: Array, high: Array, where: NDArray[np.bool_]) -> Posterior:
        """The same densities, in these rows on grids from low to high."""
        rows = np.flatnonzero(where)
        if not len(rows):
            return self
        grid, log_weight = self.grid.copy(), self.log_weight.copy()
        grid[rows] = _geometric(low[rows], high[rows], grid.shape[1])
        log_weight[rows] = self._log_weight_at(rows, grid[rows])
        zero = None
        if self.log_zero is not None:  # weights of the grid are densities: as much of them lies in fewer wider steps
            zero = self.log_zero + np.log(_log_range(self.grid) / _log_range(grid))
        return Posterior(self.users, grid, log_weight, zero)

    def _log_weight_at(self, rows: NDArray[np.int64], x: Array) -> Array:
        """The logarithm of the density times x at other points: linear between those of the grid, normal beyond."""
        first, last = self.grid[rows, :1], self.grid[rows, -1:]
        inside = np.clip(x, first, last)
        position = np.log(inside / first) / np.log(last / first) * (self.grid.shape[1] - 1)
        left = np.clip(position.astype(np.int64), 0, self.grid.shape[1] - 2)
        below, above = (np.take_along_axis(self.log_weight[rows], left + step, axis=1) for step in (0, 1))
        mean, variance = self.mean[rows, None], self.variance[rows, None]
        beyond, edge = (np.log(y) - (y - mean) ** 2 / (2 * variance) for y in (x, inside))
        return np.asarray(below + (position - left) * (above - below) + beyond - edge)


def opt_in_posterior(counts: OptInCounts, candidates: OptInCounts, prior: str = "power-law") -> Posterior:
    """The posterior of every cell of the list; ``candidates`` are the counts before trimming, which tell the prior."""
    every = _of_candidates(candidates, prior)
    if counts.head_list.sha256 == candidates.head_list.sha256:
        return every
    target = [counts.head_list.cell_of(*label) for label in candidates.head_list.labels[:-1]]
    return _folded(every, np.array(target, dtype=np.int64), counts.head_list.cells - 1)


def _of_candidates(counts: OptInCounts, prior: str) -> Posterior:
    """The posterior of every cell of a list that was not trimmed."""
    users = max(counts.users, 1)
    listed = np.zeros(counts.head_list.cells - 1, dtype=bool)
    listed[counts.head_list.record_cells] = True
    grid, log_likelihood, log_at_zero = _likelihoods(counts, listed, prior)
    exponent = np.where(listed, prior_exponent(counts) if prior == "power-law" else 0.0, WILDCARD_EXPONENT)
    log_weight = log_likelihood + (1 - exponent[:, None]) * np.log(grid)  # grid steps are proportional to the grid
    if prior == "none":
        return Posterior(counts.users, grid / users, log_weight)
    rows = counts.head_list.query_of_cell[:-1]
    people = Posterior(users, grid, log_weight).mean
    behind = np.bincount(rows[listed], weights=people[listed]).astype(np.float64)
    log_zero = np.full(len(grid), -np.inf)
    rests = np.flatnonzero(~listed)
    log_weight[rests], log_zero[rests] = rest_weights(
        grid[rests], behind[rows[rests]], log_likelihood[rests], log_at_zero[rests]
    )
    return Posterior(counts.users, grid / users, log_weight, log_zero)


def _likelihoods(counts: OptInCounts, listed: NDArray[np.bool_], prior: str) -> tuple[Array, Array, Array]:
    """A grid of L for every cell, and the logarithms of P(z | L) there and of P(z | 0)."""
    people, noise = counts.people[:-1], counts.noise_variance[:-1]
    spread = np.sqrt(counts.dispersion * np.maximum(people, 1.0) + noise)
    min_people = np.where(listed, counts.min_people, _MIN_REST)
    low = np.maximum(people - 7 * spread, min_people)
    grid = _geometric(low, np.maximum(people, min_people) + 9 * spread, _POINTS)
    expected, sampling, log_prior = grid, counts.dispersion * grid, np.zeros_like(grid)
    if counts.prediction is not None and prior != "none":
        expected, sampling, log_prior = _with_prediction(grid, sampling, counts.prediction)
    variance = sampling + noise[:, None]
    log_likelihood = -((people[:, None] - expected) ** 2) / (2 * variance) - np.log(variance) / 2 + log_prior
    log_at_zero = -(people**2) / (2 * noise) - np.log(noise) / 2
    unlisted = _unlisted(counts)
    for same, total, law in _exact(counts, listed):
        n, numbers = _numbers(grid[same[0]], None if listed[same[0]] else unlisted)
        log_likelihood[same] = np.log(numbers @ law.probability(total - n))
        log_at_zero[same] = np.log(law.probability(total))
    return grid, log_likelihood, log_at_zero


def _exact(
    counts: OptInCounts, listed: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], int, AsymmetricLaplace]]:
    """The cells of small counts whose noise has a law of its own, in groups of one number: (cells, z, law)."""
    of_rest = ~listed
    of_rest[counts.head_list.bare_cells] = True
    for chosen, law in ((~of_rest, counts.record_noise), (of_rest, counts.rest_noise)):
        if law is None:
            continue
        alone = np.isclose(counts.noise_variance[:-1], law.variance, rtol=1e-6)  # no record is folded into it
        totals = np.rint(counts.people[:-1] + law.mean).astype(np.int64)
        small = chosen & alone & (totals <= _EXACT_UP_TO)
        for total in distinct(totals[small]):
            for kind in (listed, ~listed):
                same = np.flatnonzero(small & kind & (totals == total))
                if len(same):
                    yield same, int(total), law


def _folded(every: Posterior, target: Ids, cells: int) -> Posterior:
    """The posterior of a trimmed list, of which a cell is the sum of those with this target; others are in <*,*>.

    A sum is taken as a gamma variable with the mean and the variance of the sum: its parts are independent.
    """
    kept = target < cells
    parts = np.bincount(target[kept], minlength=cells)
    source = np.zeros(cells, dtype=np.int64)
    source[target[kept]] = np.flatnonzero(kept)
    grid, log_weight = every.grid[source], every.log_weight[source]
    zero = None if every.log_zero is None else np.where(parts > 1, -np.inf, every.log_zero[source])
    sums = np.flatnonzero(parts > 1)
    mean, variance = (
        np.bincount(target[kept], weights=values[kept], minlength=cells)[sums]
        for values in (every.mean, every.variance)
    )
    reach = np.sqrt(variance)
    grid[sums] = _geometric(np.maximum(mean - 7 * reach, mean * 1e-3), mean + 9 * reach, grid.shape[1])
    shape, rate = (mean**2 / variance)[:, None], (mean / variance)[:, None]
    log_weight[sums] = shape * np.log(grid[sums] / mean[:, None]) - rate * (grid[sums] - mean[:, None])
    return Posterior(every.users, grid, log_weight, zero)


def _with_prediction(grid: Array, sampling: Array, prediction: Prediction) -> tuple[Array, Array, Array]:
    """Mean and sampling variance of a number, given L and what its weight predicts, and the log-density of L by that.

        z ~ Normal(L + b (P - L), phi L - b c L + s^2),   b = min(1, c L/(t P)^2)
        ln L ~ Normal(ln P - u^2/2, t^2)

    where:
        P, t, c  are what was predicted, its spread, and what the two have in common
                 (:class:`~blendp.curator.by_weight.Prediction`): the same people stand behind both,
        u        is the spread that records show. t is larger out of caution, but P is the mean of what they show: half
                 of t^2 would pull all of them down.

    Cells without a prediction stay as they are.
    """
    p, t, u, c = (each[: len(grid), None] for each in prediction)
    known = ~np.isnan(p)
    slope = np.minimum(1.0, c * grid / (t * p) ** 2)
    log_prior = -((np.log(grid / p) + u * u / 2) ** 2) / (2 * t * t)
    expected = np.where(known, grid + slope * (p - grid), grid)
    return expected, np.where(known, sampling - slope * c * grid, sampling), np.where(known, log_prior, 0.0)


def prior_exponent(counts: OptInCounts) -> float:
    """alpha: that of the listed records where these very numbers chose them; 1 where others did, since then the
    numbers are hardly too large, and as many records are expected in every octave above the least.
    """
    return _ELSEWHERE if counts.selected_above is None else power_law_exponent(counts)


def power_law_exponent(counts: OptInCounts) -> float:
    """The exponent of the density L^-alpha of the listed records' numbers of people, by Hill's estimator.

        alpha = 1 + (k + w)/(sum ln((z - 1/2)/(z_0 - 1/2)) + w/(alpha_0 - 1))

    where:
        z_0  is a number above which selection hardly matters, k how many records z reach it: records with a URL by
             theirs, and queries without any by their own,
        alpha_0 = 2 counts as much as w = 6 records, so that short lists do not run wild.
    """
    bare = counts.head_list.bare_cells
    records = np.array(sorted({*counts.head_list.record_cells.tolist()} - {*bare.tolist()}), dtype=np.int64)
    known, octaves = _WEIGHT_OF_USUAL, _WEIGHT_OF_USUAL / (_USUAL_EXPONENT - 1)
    for cells, above, law in (
        (records, counts.selected_above, counts.list_noise),
        (bare, counts.queries_above, counts.rest_noise),
    ):
        if len(cells):
            least = max(above or 1.0, 1.0)
            noise = float(counts.noise_variance[cells].max()) if law is None else law.variance
            start = least + 2 * math.sqrt(noise + least)
            reach = counts.people[cells][counts.people[cells] >= start]
            known += len(reach)
            octaves += float(np.log((reach - _SHIFT) / (start - _SHIFT)).sum())
    return float(1 + known / octaves)


def _log_range(grid: Array) -> Array:
    """How far every row goes, in logarithms."""
    return np.asarray(np.log(grid[:, -1] / grid[:, 0]))


def _log_sum(log_weight: Array) -> Array:
    """ln sum exp of every row."""
    highest = log_weight.max(axis=1)
    return np.asarray(highest + np.log(np.exp(log_weight - highest[:, None]).sum(axis=1)))


def _geometric(low: Array, high: Array, points: int) -> Array:
    """A grid from low to high in every row, each point the same multiple of the one before."""
    return np.asarray(low[:, None] * (high / low)[:, None] ** np.linspace(0, 1, points))


def _unlisted(counts: OptInCounts) -> Callable[[Ids], Array]:
    """The probability that a record of n people is not listed, for every n >= 0."""
    law, total = counts.list_noise, counts.selected_above
    if law is None or total is None or counts.record_noise is None:
        return lambda n: np.ones(len(n))
    least = round(total + counts.record_noise.mean)
    return lambda n: np.where(n > 0, 1 - law.at_least(least - n), 1.0)


def _numbers(expected: Array, unlisted: Callable[[Ids], Array] | None) -> tuple[Ids, Array]:
    """Numbers N of people, and P(N | L) for a grid of L.

        listed record   Poisson(N; L),  N >= 1
        rest            (1 - w) Poisson(N; L) + w Poisson(N; L) U(N)/sum_n Poisson(n; L) U(n)

    where:
        U(n)  is the probability that a record of n people is not listed. A rest that is one record is a rest only
              because few people had it, or noise hid them, so its number is smaller than L on average,
        w     is the share of rests taken to be one record: the others are many records too rare for that to matter.
    """
    n = np.arange(0 if unlisted else 1, int(expected[-1] + 12 * math.sqrt(expected[-1])) + 13)
    log_factorial = np.cumsum(np.log(np.maximum(n, 1)))
    poisson = np.exp(n * np.log(expected)[:, None] - expected[:, None] - log_factorial)
    if unlisted is None:
        return n, poisson
    single = poisson * unlisted(n)
    single /= np.maximum(single.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return n, (1 - _SINGLE) * poisson + _SINGLE * single
