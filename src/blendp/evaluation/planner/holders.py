"""What people with many records hold, as a plan knows it: some thousand of them, drawn once, and who holds what.

Of a record of probability p, among n people,

    holders ~ Poisson(n p/y),     each like those of a pool

where:
    pool  are the sampled people who hold this record, if they are many, or else those who hold records of its kind,
    y     is the mean share of their own records that they have of it: p is the mean share of all people, so that p/y
          is the share of the people who hold it.

So the sample may be small and the plan for any number of people.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from blendp.arrays import Array, Ids
from blendp.curator.mean_records import MAX_COUNTED
from blendp.mechanisms import Holdings

SAMPLED_ROWS = 300_000
"""How many records the sampled people have in all, about."""

MIN_SAMPLED, MAX_SAMPLED = 2_000, 60_000
"""How many people are sampled, whatever they hold."""

_OWN = 60
"""A record with so many sampled holders has a pool of its own."""

_FEW = 40
"""A kind with fewer sampled holders shares the pool of all."""


def people_to_sample(records_per_person: float) -> int:
    """How many people are drawn if they have so many records on average."""
    return int(np.clip(SAMPLED_ROWS / records_per_person, MIN_SAMPLED, MAX_SAMPLED))


@dataclass(frozen=True, eq=False)
class Pools:
    """Rows of the sample, pool by pool: ``rows`` from ``start`` on, ``size`` of them for each."""

    rows: Ids
    start: Ids
    size: Ids

    def means(self, values: Array) -> Array:
        """The mean of every pool."""
        ends = np.concatenate(([0.0], np.cumsum(values[self.rows])))
        return np.asarray((ends[self.start + self.size] - ends[self.start]) / np.maximum(self.size, 1))

    def choose(self, pool: Ids, generator: np.random.Generator) -> Ids:
        """A row of each of these pools, drawn uniformly."""
        return np.asarray(
            self.rows[self.start[pool] + (generator.random(len(pool)) * self.size[pool]).astype(np.int64)]
        )


@dataclass(frozen=True, eq=False)
class Holders:
    """Sampled people, a row for every different record of each.

    where:
        people                is how many they are,
        records_per_person    is how many records they have on average,
        mean_records          is the mean of what the noisy mean counts of each (:mod:`blendp.curator.mean_records`),
        owner                 is whose row it is,
        record, query         are the places of record and query in the law (:class:`HeadLaw`); -1 beyond it,
        probability           is that of the record,
        share                 is which share of the owner's records it is,
        weight                is what it weighs in the first round of the filtered union; 0 if it may not,
        kind                  is that of the record; those of one kind have holders who are alike,
        kind_of_record        and ``kind_of_tail`` are the kinds of all records of the law and of the bins of its tail.
    """

    people: int
    records_per_person: float
    mean_records: float
    owner: Ids
    record: Ids
    query: Ids
    probability: Array
    share: Array
    weight: Array
    kind: Ids
    kind_of_record: Ids
    kind_of_tail: Ids

    @classmethod
    def of(cls, holdings: Holdings, record: Ids, query: Ids, probability: Array, kinds: tuple[Ids, Ids, Ids]) -> Self:
        """From what sampled people hold, with what the law says of every row; kinds of rows, records, and the tail."""
        owner, totals = holdings.owner, holdings.totals
        kept = np.bincount(owner[holdings.kept], minlength=holdings.people)
        weight = np.where(holdings.kept, 1 / np.sqrt(np.maximum(kept, 1)[owner]), 0.0)
        return cls(
            holdings.people,
            float(totals.mean()),
            float(np.minimum(holdings.different, MAX_COUNTED).mean()),
            owner,
            record,
            query,
            probability,
            holdings.occurrences / totals[owner],
            weight,
            *kinds,
        )

    @cached_property
    def kinds(self) -> int:
        """How many kinds there are."""
        every = (self.kind, self.kind_of_record, self.kind_of_tail)
        return 1 + max(int(kinds.max(initial=0)) for kinds in every)

    @cached_property
    def _own_pool(self) -> Ids:
        """The pool of every record of the law that has one of its own; -1 for the others."""
        many = np.bincount(self.record[self.record >= 0], minlength=len(self.kind_of_record)) >= _OWN
        return np.where(many, self.kinds + np.cumsum(many) - 1, -1)

    @cached_property
    def pool_of_record(self) -> Ids:
        """The pool of every record of the law."""
        return np.where(self._own_pool >= 0, self._own_pool, self.kind_of_record)

    @cached_property
    def pool_of_row(self) -> Ids:
        """The pool of the record of every row."""
        own = np.append(self._own_pool, -1)[self.record]
        return np.where(own >= 0, own, self.kind)

    @cached_property
    def pools(self) -> Pools:
        """All pools: those of the kinds first, then those of frequent records."""
        return self.pools_of(self.pool_of_row, int(self._own_pool.max(initial=-1)) + 1)

    def pools_of(self, pool: Ids, many: int) -> Pools:
        """The rows by pool, negative for those in none; a kind with hardly any rows has all that are of some kind."""
        kinds = self.kinds
        order = np.argsort(pool, kind="stable")
        many = max(many, kinds)
        start, stop = (np.searchsorted(pool[order], np.arange(many), side=side) for side in ("left", "right"))
        size = stop - start
        poor = np.flatnonzero(size[:kinds] < _FEW)
        alike = (start[0], stop[kinds - 1]) if stop[kinds - 1] - start[0] >= _FEW else (0, len(order))
        start[poor], size[poor] = alike[0], alike[1] - alike[0]
        return Pools(order, start, size)

    @cached_property
    def mean_share(self) -> Array:
        """y of every pool."""
        return self.pools.means(self.share)
