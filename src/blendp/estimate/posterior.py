"""What the opt-in group's released counts say about each cell, before the clients are asked.

    density(L)  ~  prior(L) P(z | L)

    prior(L) = L^-alpha   for listed records,   L^(-1/2) for the <q,*>
    P(z | L) = sum_{N >= 1} Poisson(N; L) P(X = z - N)                      small counts of one record a person
             = Normal(z; L, phi L + s^2)                                     all others

where:
    L      is the expected number of opt-in people behind the cell (n_O times its probability),
    z      is the released number, X its noise, s^2 the variance of the noise, phi the dispersion,
    alpha  is the exponent of the power law that the listed counts follow (:func:`prior_exponent`).

Records are on the list because their numbers came out large, so the numbers are too large on average. Given the number,
how it was selected no longer matters: a density that starts from the law of all records is free of that effect.
The <q,*> are not selected: Jeffreys' prior leaves their sums without a bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, distinct
from blendp.curator.by_weight import Prediction
from blendp.curator.opt_in_counts import OptInCounts
from blendp.mechanisms import AsymmetricLaplace

WILDCARD_EXPONENT = 0.5

_POINTS = 240
_MIN_PEOPLE = 0.02
_EXACT_UP_TO = 80
_ELSEWHERE = 1.0
_REACH = 9.0  # standard deviations on either side of a grid
_COARSE = 4.0  # a variance that falls to less than one part in so many needs a finer grid
_SHIFT = 0.5  # by so much Poisson counts shift a power law of exponent 2
_USUAL_EXPONENT, _WEIGHT_OF_USUAL = 2.0, 6.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """A density over the probability of each cell but <*,*>, on a grid of its own for each.

    where:
        grid        holds the probabilities, a row for every cell, each the same multiple of the one before,
        log_weight  holds the logarithm of the weight of every grid point: of the density times the grid.

    Beyond the ends of its grid a density goes on as that of the normal law with its mean and variance.
    """

    users: int
    grid: Array
    log_weight: Array

    @cached_property
    def _weight(self) -> Array:
        weight = np.exp(self.log_weight - self.log_weight.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @cached_property
    def mean(self) -> Array:
        """The mean of every cell."""
        return np.asarray((self._weight * self.grid).sum(axis=1))

    @cached_property
    def variance(self) -> Array:
        """The variance of every cell."""
        return np.asarray((self._weight * (self.grid - self.mean[:, None]) ** 2).sum(axis=1))

    def quantile(self, levels: Array) -> Array:
        """For every cell, the probability below which so much of its weight lies; one level a cell, or rows of them.

        With rows of levels, of shape (rows, cells), the result has that shape.
        """
        steps = np.cumsum(self._weight, axis=1) - self._weight / 2
        asked = np.atleast_2d(levels)
        quantiles = np.empty_like(asked, dtype=np.float64)
        for cell in range(len(self.grid)):
            quantiles[:, cell] = np.interp(asked[:, cell], steps[cell], self.grid[cell])
        return quantiles if levels.ndim == 2 else quantiles[0]

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
        return Posterior(self.users, own.grid, own.log_weight - distance)

    def flattened(self, share: Array) -> Posterior:
        """With this share of its information: a normal density of variance v gets the variance v/share."""
        reach = _REACH * np.sqrt(self.variance / share)
        lowest = np.maximum(self.mean - reach, _MIN_PEOPLE / max(self.users, 1))
        low, high = np.minimum(self.grid[:, 0], lowest), np.maximum(self.grid[:, -1], self.mean + reach)
        wide = self._regridded(low, high, share < 1)
        spread = np.log(wide.grid)
        return Posterior(self.users, wide.grid, (wide.log_weight - spread) * share[:, None] + spread)

    def _regridded(self, low: Array, high: Array, where: NDArray[np.bool_]) -> Posterior:
        """The same densities, in these rows on grids from low to high."""
        rows = np.flatnonzero(where)
        if not len(rows):
            return self
        grid, log_weight = self.grid.copy(), self.log_weight.copy()
        grid[rows] = _geometric(low[rows], high[rows], grid.shape[1])
        log_weight[rows] = self._log_weight_at(rows, grid[rows])
        return Posterior(self.users, grid, log_weight)

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
    cells = counts.head_list.cells - 1
    people, noise = counts.people[:cells], counts.noise_variance[:cells]
    listed = np.zeros(cells, dtype=bool)
    listed[counts.head_list.record_cells] = True
    exponent = np.where(listed, prior_exponent(candidates) if prior == "power-law" else 0.0, WILDCARD_EXPONENT)
    spread = np.sqrt(counts.dispersion * np.maximum(people, 1.0) + noise)
    min_people = np.where(listed, counts.min_people, _MIN_PEOPLE)
    low = np.maximum(people - 7 * spread, min_people)
    high = np.maximum(people, min_people) + 9 * spread
    grid = _geometric(low, high, _POINTS)
    expected, sampling, log_prior = grid, counts.dispersion * grid, np.zeros_like(grid)
    if counts.prediction is not None and prior != "none":
        expected, sampling, log_prior = _with_prediction(grid, sampling, counts.prediction)
    variance = sampling + noise[:, None]
    log_weight = -((people[:, None] - expected) ** 2) / (2 * variance) - np.log(variance) / 2 + log_prior
    if counts.record_noise is not None:
        totals = np.rint(people + counts.record_noise.mean).astype(np.int64)
        for total in distinct(totals[listed & (totals <= _EXACT_UP_TO)]):
            same = np.flatnonzero(listed & (totals == total))
            log_weight[same] = np.log(_likelihood(int(total), grid[same[0]], counts.record_noise))
    log_weight += (1 - exponent[:, None]) * np.log(grid)  # grid steps are proportional to the grid itself
    return Posterior(counts.users, grid / max(counts.users, 1), log_weight)


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
    records = np.setdiff1d(counts.head_list.record_cells, bare)
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


def _geometric(low: Array, high: Array, points: int) -> Array:
    """A grid from low to high in every row, each point the same multiple of the one before."""
    return np.asarray(low[:, None] * (high / low)[:, None] ** np.linspace(0, 1, points))


def _likelihood(total: int, expected: Array, noise: AsymmetricLaplace) -> Array:
    """P(z = total | L) on a grid of L: a record that occurs N >= 1 times, N Poisson, and its noise."""
    max_people = int(expected[-1] + 12 * math.sqrt(expected[-1])) + 12
    n = np.arange(1, max_people + 1)
    log_factorial = np.cumsum(np.log(n))
    poisson = np.exp(n * np.log(expected)[:, None] - expected[:, None] - log_factorial)
    return np.asarray(poisson @ noise.probability(total - n))
