"""The released counts of a list, whichever mechanism made them, as noisy numbers of people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.curator.by_weight import Prediction
from blendp.curator.noisy_counts import CellCounts, NoisyCounts, fold, largest
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricLaplace, AsymmetricList
from blendp.randomness import Random


@dataclass(frozen=True, eq=False)
class OptInCounts:
    """How many opt-in people stand behind each cell of the list, with noise.

    A person counts in each cell for the share of their records that falls into it.

    where:
        people            is the noisy number, the mean of the noise removed; the last cell, <*,*>, has the rest,
        noise_variance    is the variance of the noise in it,
        dispersion        is phi: among people, a number of mean L has the variance phi L; 1 with one record each,
        query_dispersion  is the same for the numbers of queries, all cells together.
    """

    head_list: HeadList
    users: int
    people: Array
    noise_variance: Array
    dispersion: float = 1.0
    query_dispersion: float = 1.0

    selected_above: float | None = None
    """Records are on the list because this release's own numbers reached this many people; None where others' did."""

    min_people: float = 0.02
    """Listed records are taken to have at least so many people on average: with fewer they would hardly be listed."""

    record_noise: AsymmetricLaplace | None = None
    """The exact law of the noise of a listed record, if it is not taken as normal."""

    list_noise: AsymmetricLaplace | None = None
    """The exact law of the noise by which records were listed, where that of their totals is less of it."""

    rest_noise: AsymmetricLaplace | None = None
    """The same of a ``<q,*>``, also where it is the record of a query that is listed without any URL."""

    queries_above: float | None = None
    """Queries without any URL are on the list because their own number reached this many people; None where no query
    can be."""

    prediction: Prediction | None = None
    """What else is known of the numbers of listed records; nan for the wildcards."""

    common_noise: Array | None = None
    """c, the part of each number's noise that all of them share: those of cells i and j have the covariance c_i c_j.
    None where noises are independent."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong to the list, and freeze them."""
        shared = () if self.common_noise is None else (self.common_noise,)
        for array in (self.people, self.noise_variance, *shared, *(self.prediction or ())):
            if array.shape != (self.head_list.cells,):
                raise ParameterError(
                    "counts", array.shape, f"one number for each of {self.head_list.cells} cells", "Count anew."
                )
            array.setflags(write=False)

    def trimmed(self, size: int | None, unit: str = "record") -> OptInCounts:
        """Keep the ``size`` records (or queries) with the largest numbers; fold the others into the wildcards."""
        kept = largest(self.head_list, self._likely, size, unit)
        return self if kept is None else self.only(kept)

    @property
    def _likely(self) -> Array:
        """The number of people, weighed with what else is known of it."""
        if self.prediction is None:
            return self.people
        expected, spread, _, common = self.prediction
        own = (self.dispersion - 2 * common) * expected + self.noise_variance
        other = (spread * expected) ** 2
        return np.where(np.isnan(expected), self.people, (self.people * other + expected * own) / (own + other))

    def only(self, kept: NDArray[np.int64]) -> OptInCounts:
        """Keep the records of these cells; fold the others into the wildcards."""
        head_list, target = fold(self.head_list, kept)
        people, noise, common = self.sums(target, head_list.cells)
        give_rest(people, noise, self.users, common)
        prediction = None
        if self.prediction is not None:
            prediction = Prediction(*(np.full(head_list.cells, np.nan) for _ in self.prediction))
            for fewer, values in zip(prediction, self.prediction, strict=True):
                fewer[target[kept]] = values[kept]
        return replace(
            self, head_list=head_list, people=people, noise_variance=noise, prediction=prediction, common_noise=common
        )

    def sums(self, rows: NDArray[np.int64], length: int) -> tuple[Array, Array, Array | None]:
        """The numbers of people, the variances of their noise and what is common in it, added up row by row.

            variance = sum (s^2 - c^2) + (sum c)^2

        where:
            rows     says which row each cell falls into, of so many,
            s^2, c   are a cell's noise variance and its part in what all share.
        """

        def added(values: Array) -> Array:
            return np.bincount(rows, weights=values, minlength=length).astype(np.float64)

        if self.common_noise is None:
            return added(self.people), added(self.noise_variance), None
        common = added(self.common_noise)
        return added(self.people), added(self.noise_variance - self.common_noise**2) + common**2, common


def counts_of_list(
    candidates: HeadList,
    totals: NDArray[np.int64],
    cells: NDArray[np.int64] | CellCounts,
    mechanism: AsymmetricList,
    random: Random,
) -> OptInCounts:
    """The counts of a list of one record a person: the totals that passed, and fresh noise on the rests.

    ``totals`` are the noisy totals of the list's record cells, in their order; ``cells`` the cells of all the people.
    """
    records, counted = candidates.record_cells, CellCounts.of(cells, candidates)
    people = np.zeros(candidates.cells)
    noise = np.zeros(candidates.cells)
    people[records] = totals - mechanism.noise.mean
    noise[records] = mechanism.noise.variance
    rest_noise, queries_above = mechanism.wildcard_noise, None
    if rest_noise is not None and mechanism.min_rest is not None:
        rests, bare = candidates.rest_cells, candidates.bare_cells
        people[rests] = mechanism.draw_wildcards(counted.counts[rests], random) - rest_noise.mean
        people[bare] += mechanism.noise.mean - rest_noise.mean
        noise[rests] = noise[bare] = rest_noise.variance
        queries_above = mechanism.min_rest - rest_noise.mean
    give_rest(people, noise, counted.users)
    return OptInCounts(
        candidates,
        counted.users,
        people,
        noise,
        selected_above=mechanism.min_total - mechanism.noise.mean,
        record_noise=mechanism.noise,
        list_noise=None if rest_noise is None else mechanism.list_noise,
        rest_noise=rest_noise,
        queries_above=queries_above,
    )


def counts_of_hold_out(noisy: NoisyCounts) -> OptInCounts:
    """The counts of people who did not make the list."""
    m = noisy.records_per_user
    people, noise = noisy.counts / m, noisy.terms * noisy.noise.variance / m**2
    give_rest(people, noise, noisy.users)
    return OptInCounts(noisy.head_list, noisy.users, people, noise)


def give_rest(people: Array, noise: Array, users: int, common: Array | None = None) -> None:
    """Give <*,*> what the other cells leave of the public number of people, with the noise of their sum."""
    people[-1] = users - people[:-1].sum()
    noise[-1] = noise[:-1].sum()
    if common is not None:
        common[-1] = -common[:-1].sum()
        noise[-1] += common[-1] ** 2 - (common[:-1] ** 2).sum()
