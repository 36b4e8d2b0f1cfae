"""So many people like the sampled ones, and what the filtered union's two rounds make of their records.

Which records pass the first round decides how much weight a person has left for each of the others. That is settled
once, on the sample (:mod:`~blendp.evaluation.planner.holders`), for the planned number of people:

    P(listed) = mean of P(V + X_1 >= t s_1) P(W + X_2 >= rho),     V = sum of 1/sqrt(d),   W = sum of c/sqrt(c^2 + S)

over a Poisson number of holders,

where:
    d     is how many different records a holder has,
    c     is the record's emphasis, which follows from V,
    S     is the sum of c^2 over the holder's other records that pass,
    others are as in :class:`~blendp.mechanisms.FilteredUnion`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blendp.arrays import Array, Ids
from blendp.errors import ParameterError
from blendp.evaluation.planner.holders import Holders
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.lists import ListingLaw, listed_by_rate, listing
from blendp.mechanisms import FilteredUnion
from blendp.mechanisms.filtered_union.holdings import GRID
from blendp.methods.listed import ListMaker

EMPHASIS = 64
"""c is a multiple of one over this."""

_FREQUENT = 20
"""Of a record with so many holders, one more or less makes no difference to whether it passes."""

_NUMBERS, _REPLICAS = 28, 6_000
"""For so many numbers of holders, about so many of them are drawn each."""

_SURE = 6.0
"""Standard deviations beyond which a record is sure to pass."""


class Rounds:
    """The two rounds' thresholds and noise, in the weight of a person who has no other record."""

    def __init__(self, mechanism: FilteredUnion) -> None:
        self.passing, self.listing = mechanism.passing_total / GRID, mechanism.min_total / GRID
        self.filter_noise, self.list_noise = (
            float(noise.sigma) / GRID for noise in (mechanism.filter_noise, mechanism.list_noise)
        )

    def emphasis(self, noisy: Array) -> Array:
        """c, for what a record has after the first round."""
        return np.asarray(np.clip(np.floor(EMPHASIS * self.listing / np.maximum(noisy, 1e-9)), 1, EMPHASIS) / EMPHASIS)


@dataclass(frozen=True)
class _PassesByHolders:
    """How probable it is that a record of one pool is listed, by how many people hold it."""

    min_total: int
    holders: Array
    probability: Array

    def listing_probability(self, counts: Ids | int, /) -> Array:
        """Between the numbers that were looked at, the logarithm is linear; beyond the last it is sure."""
        logs = np.interp(np.log(np.maximum(counts, 1)), np.log(self.holders), np.log(self.probability), right=0.0)
        return np.where(np.asarray(counts) > 0, np.exp(logs), 0.0)


@dataclass(frozen=True, eq=False)
class UnionCrowd:
    """So many people like the sampled ones, and what the two rounds make of their records."""

    law: HeadLaw
    mechanism: FilteredUnion
    people: int

    @cached_property
    def holders(self) -> Holders:
        """The sample."""
        if self.law.holders is None:
            raise ParameterError(
                "opt_in_records", "many", "1 for people with one record each", "Say how many they have on average."
            )
        return self.law.holders

    @cached_property
    def rates(self) -> Array:
        """How many people hold each record of the law, on average."""
        holders = self.holders
        return np.asarray(self.people * self.law.probability / holders.mean_share[holders.pool_of_record])

    @cached_property
    def rounds(self) -> Rounds:
        """Thresholds and noise."""
        return Rounds(self.mechanism)

    @cached_property
    def others(self) -> Array:
        """S of every row of the sample: what the owner's other records leave of the weight of this one."""
        holders, rounds = self.holders, self.rounds
        generator = np.random.Generator(np.random.PCG64(1))
        pool = holders.pool_of_row
        mean, square = (holders.pools.means(values) for values in (holders.weight, holders.weight**2))
        noisy = self.rates * mean[holders.pool_of_record]
        spread = np.sqrt(self.rates * square[holders.pool_of_record] + rounds.filter_noise**2)
        noisy = np.append(noisy + spread * generator.standard_normal(len(noisy)), 0.0)[holders.record]
        rates = self.people * holders.probability / holders.mean_share[pool]
        few = rates < _FREQUENT
        many, own = generator.poisson(rates[few]), pool[few]
        spread = np.sqrt(many * np.maximum(square - mean**2, 0.0)[own] + rounds.filter_noise**2)
        noisy[few] = holders.weight[few] + many * mean[own] + spread * generator.standard_normal(len(many))
        passes = (noisy >= rounds.passing) & (holders.weight > 0)
        squares = np.where(passes, rounds.emphasis(noisy) ** 2, 0.0)
        return np.asarray(np.bincount(holders.owner, weights=squares)[holders.owner] - squares)

    @cached_property
    def passing(self) -> ListingLaw:
        """P(listed) of every record of the head and, times their number, of the bins of the tail.

        Holders are taken to be those of the record's kind, but for records with a pool of their own that may miss.
        """
        law, holders = self.law, self.holders
        tail = self.people * law.tail_probability / holders.mean_share[holders.kind_of_tail]
        kinds = np.concatenate((holders.kind_of_record, holders.kind_of_tail))
        rates = np.concatenate((self.rates, tail))
        p = np.zeros(len(rates))
        generator = np.random.Generator(np.random.PCG64(2))
        for kind in np.unique(kinds):
            own = kinds == kind
            p[own] = listed_by_rate(self._passes(int(kind), generator), rates[own])
        head = len(law.probability)
        unsure = self._unsure
        p[unsure] = self._own_chances(unsure, generator)
        return ListingLaw(p[:head], p[head:] * law.tail_records, np.empty(0))

    @cached_property
    def _unsure(self) -> Ids:
        """The records with a pool of their own whose weight is near enough to either round's threshold to miss it."""
        holders, rounds = self.holders, self.rounds
        own = np.flatnonzero(holders.pool_of_record >= holders.kinds)
        pool, rate = holders.pool_of_record[own], self.rates[own]
        v = rate * holders.pools.means(holders.weight)[pool]
        alone = weight_beside(np.ones(len(holders.weight)), self.others, holders.weight)
        w = rate * holders.pools.means(alone)[pool]
        near = np.minimum(
            (v - rounds.passing) / np.sqrt(rounds.filter_noise**2 + v),
            (w - rounds.listing) / np.sqrt(rounds.list_noise**2 + w),
        )
        return own[np.abs(near) < _SURE]

    def _own_chances(self, records: Ids, generator: np.random.Generator) -> Array:
        """P(listed) of these records, the mean over Poisson numbers of their own holders."""
        if not len(records):
            return np.empty(0)
        holders, rate = self.holders, self.rates[records]
        replicas = np.clip(_REPLICAS / rate, 8, 64).astype(np.int64)
        pool, many = np.repeat(holders.pool_of_record[records], replicas), np.repeat(rate, replicas)
        item = np.repeat(np.arange(len(pool)), generator.poisson(many))
        p = self._chances(item, holders.pools.choose(pool[item], generator), len(pool))
        return np.asarray(np.add.reduceat(p, np.cumsum(replicas) - replicas) / replicas)

    def _chances(self, item: Ids, rows: Ids, items: int) -> Array:
        """P(passes) P(listed) of so many items, for these holders of each."""
        rounds, weight = self.rounds, self.holders.weight[rows]
        v = np.bincount(item, weights=weight, minlength=items).astype(np.float64)
        c = rounds.emphasis(v)
        beside = weight_beside(c[item], self.others[rows], weight)
        w = np.bincount(item, weights=beside, minlength=items).astype(np.float64)
        return _normal((v - rounds.passing) / rounds.filter_noise) * _normal((w - rounds.listing) / rounds.list_noise)

    def _passes(self, pool: int, generator: np.random.Generator) -> _PassesByHolders:
        """The mean, over drawn holders, of P(passes) P(listed), for growing numbers of holders."""
        rounds, pools, weight = self.rounds, self.holders.pools, self.holders.weight
        each = max(float(pools.means(weight)[pool]), 1e-3)
        last = math.ceil((rounds.passing + _SURE * rounds.filter_noise) / each) + 8
        numbers = np.unique(np.geomspace(1, last, _NUMBERS).astype(np.int64))
        replicas = np.clip(_REPLICAS // numbers, 16, 200)
        item = np.repeat(np.arange(replicas.sum()), np.repeat(numbers, replicas))
        rows = pools.choose(np.full(len(item), pool), generator)
        p = self._chances(item, rows, int(replicas.sum()))
        means = np.add.reduceat(p, np.cumsum(replicas) - replicas) / replicas
        return _PassesByHolders(1, numbers.astype(np.float64), np.clip(means, 1e-300, 1.0))


def _normal(z: Array) -> Array:
    """P(N <= z) of a standard normal number N."""
    return np.array([math.erfc(-each / math.sqrt(2)) / 2 for each in z.tolist()])


def weight_beside(c: Array, others: Array, weight: Array) -> Array:
    """c/sqrt(c^2 + S), 0 for rows that may not weigh."""
    return np.where(weight > 0, c / np.sqrt(c * c + others), 0.0)


def passing_records(law: HeadLaw, mechanism: ListMaker, people: int) -> ListingLaw:
    """P(listed) of all records, whichever mechanism makes the list of so many people."""
    if isinstance(mechanism, FilteredUnion):
        return UnionCrowd(law, mechanism, people).passing
    return listing(law, mechanism, people)
