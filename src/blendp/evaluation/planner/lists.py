"""Lists as partition selection might make them: some hundred draws of counts of the head, never of people.

In every draw the count of a record is Poisson(n p), noise is added, and the list is cut to its size, as the method
does it; so what selection does to the estimates is in the draws. Records that hardly ever pass are drawn together:
their number is Poisson, and each is a query of its own.

    P(listed) = sum over N of Poisson(N; n p) P(X >= T - N)

where:
    n  is the number of people who make the list, p the probability of the record,
    X  is the noise and T the least noisy count that is listed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Protocol

import numpy as np

from blendp.arrays import Array, Bools, Ids, ranks_in_groups
from blendp.estimate import Posterior
from blendp.evaluation.planner.law import HeadLaw
from blendp.mechanisms import AsymmetricLaplace, AsymmetricList, ThresholdList
from blendp.methods import GroupSizes
from blendp.randomness import SimulationRandom

RECORD, WILD, REST = 0, 1, 2
"""Kinds of cells: a listed record, <q,*>, and <*,*>."""

RARE = 0.002
"""Records that pass less often than this are drawn together."""

_RATES = 300
_LOOKED_AT = 20
"""Looking at so many records takes about as long as listing one."""


@dataclass(frozen=True, eq=False)
class Lists:
    """The cells of all draws, one list after the other, each with its <*,*> last.

    where:
        draw, row, kind  are each cell's draw, query (rows number those of all draws) and kind,
        record           is the place of a listed record in the law, -1 for other cells and for rare records,
        true             is the cell's probability,
        people           is the noisy number of opt-in people, the mean of the noise removed,
        noise_variance   is the variance of the noise in it,
        row_draw, row_query  are each row's draw and query in the law, -1 for <*,*> and for rare records,
        candidates       are the noisy numbers of all records that passed, a draw each,
        dispersion       is that of people's numbers in each cell, 1 with one record a person,
        posterior        is what the opt-in group says of every cell but the <*,*>, if that is known already.
    """

    draws: int
    draw: Ids
    row: Ids
    kind: Ids
    record: Ids
    true: Array
    people: Array
    noise_variance: Array
    row_draw: Ids
    row_query: Ids
    candidates: tuple[Array, ...]
    dispersion: Array | float = 1.0
    posterior: Posterior | None = None

    @cached_property
    def edges(self) -> Ids:
        """The first cell of every draw, and the number of all cells."""
        return np.searchsorted(self.draw, np.arange(self.draws + 1)).astype(np.int64)

    @cached_property
    def row_edges(self) -> Ids:
        """The first row of every draw, and the number of all rows."""
        return np.searchsorted(self.row_draw, np.arange(self.draws + 1)).astype(np.int64)

    @cached_property
    def rest_row(self) -> Bools:
        """Whether each row is that of <*,*>."""
        rest = np.zeros(len(self.row_draw), dtype=bool)
        rest[self.row_edges[1:] - 1] = True
        return rest

    @cached_property
    def row_true(self) -> Array:
        """The probability of every row."""
        return np.bincount(self.row, weights=self.true).astype(np.float64)

    @cached_property
    def records(self) -> Ids:
        """How many records every draw's list holds."""
        return np.bincount(self.draw[self.kind == RECORD], minlength=self.draws)

    @cached_property
    def queries(self) -> Ids:
        """How many queries every draw's list holds."""
        return np.diff(self.row_edges) - 1


@dataclass(frozen=True, eq=False)
class ListingLaw:
    """How probable it is that each record of the head passes, and how many of each bin of the tail do."""

    head: Array
    tail: Array

    @property
    def candidates(self) -> float:
        """How many records pass, on average."""
        return float(self.head.sum() + self.tail.sum())


class PassesByCount(Protocol):
    """Whatever lists a record by how many people have it."""

    @property
    def min_total(self) -> int:
        """The least noisy count that is listed."""

    def listing_probability(self, counts: Ids | int, /) -> Array:
        """The probability that a record with this count is listed."""


def listing(law: HeadLaw, mechanism: PassesByCount, people: int) -> ListingLaw:
    """P(listed) of every record of the head and, times their number, of the bins of the tail."""
    rates = people * np.concatenate((law.probability, law.tail_probability))
    p = listed_by_rate(mechanism, rates)
    head = len(law.probability)
    return ListingLaw(p[:head], p[head:] * law.tail_records)


def listed_by_rate(mechanism: PassesByCount, rates: Array) -> Array:
    """P(listed) of records that so many people have on average.

    It is summed up on a grid of rates and interpolated between them, both as logarithms.
    """
    enough = mechanism.min_total
    while float(mechanism.listing_probability(enough)) < 1 - 1e-9:
        enough = int(1.3 * enough) + 1
    sure = enough + 7 * math.sqrt(enough) + 30
    grid = np.geomspace(min(1e-6, float(rates.min())), sure, _RATES)
    n = np.arange(1, int(sure + 8 * math.sqrt(sure)) + 2)
    log_factorial = np.cumsum(np.log(n))
    passing = mechanism.listing_probability(n)
    p = np.exp(np.log(grid)[:, None] * n - grid[:, None] - log_factorial) @ passing
    return np.asarray(np.minimum(np.exp(np.interp(np.log(rates), np.log(grid), np.log(p))), 1.0))


@dataclass(frozen=True, eq=False)
class Drawing:
    """What lists are drawn from; in the blendp method those who make the list are counted, in the published one others.

    where:
        mechanism  is that of the blendp method (AsymmetricList) or of the published one (ThresholdList),
        passing    is how often each record passes, from :func:`listing`,
        size       is how many records a list keeps, None for all.
    """

    law: HeadLaw
    mechanism: AsymmetricList | ThresholdList
    passing: ListingLaw
    sizes: GroupSizes
    size: int | None

    @property
    def own(self) -> bool:
        """Whether those who make the list are counted."""
        return isinstance(self.mechanism, AsymmetricList)

    @property
    def counted(self) -> int:
        """How many people are counted."""
        return self.sizes.head_list if self.own else self.sizes.estimate

    @cached_property
    def live(self) -> Ids:
        """The records that are drawn one by one: those that may be listed and are not sure to be cut off."""
        able = self.passing.head > RARE
        if self.size is None or self.size >= len(self.law.probability):
            return np.flatnonzero(able)
        rates = self.counted * self.law.probability
        last = float(rates[self.size - 1])
        near = rates > last - 8 * math.sqrt(last + self.mechanism.noise.variance)
        sure = float(self.passing.head[: self.size].min()) > 1 - 1e-6
        enough = float(self.passing.head[near].sum()) > self.size + 6 * math.sqrt(self.size)
        return np.flatnonzero(able & near if sure or enough else able)

    @cached_property
    def rare(self) -> tuple[Array, Array]:
        """The probabilities of what is drawn together, and how many of each pass on average."""
        unlikely = self.passing.head <= RARE
        p = np.concatenate((self.law.probability[unlikely], self.law.tail_probability))
        many = np.concatenate((self.passing.head[unlikely], self.passing.tail))
        cut_off = len(self.live) < len(self.law.probability) - np.count_nonzero(unlikely)
        return p, np.zeros_like(many) if cut_off else many

    @property
    def work(self) -> float:
        """How long one draw takes to look at records, in what listing one takes."""
        return float(len(self.live) + self.rare[1].sum()) / _LOOKED_AT

    def draw(self, draws: int, random: SimulationRandom) -> Lists:
        """So many lists, with the counts of their cells."""
        passed, wild = self._passed(draws, random)
        passed = _joined(passed, self._rare_records(draws, wild.shape[1], random))
        return self._assembled(passed, self._kept(passed, random), wild, random)

    def _passed(self, draws: int, random: SimulationRandom) -> tuple[_Passed, Ids]:
        """The records that pass, and for every draw and query how many people have another record of it."""
        generator, noise, p = random.generator, self.mechanism.noise, self.law.probability[self.live]
        counts = generator.poisson(self.sizes.head_list * p, (draws, len(p)))
        drawn = noise.draw(counts.size, random).reshape(counts.shape)
        gap = self.mechanism.gap if isinstance(self.mechanism, AsymmetricList) else None
        taken_off = 0 if gap is None else gap.draw(counts.size, random).reshape(counts.shape)
        passed = (counts > 0) & (counts + drawn - taken_off >= self.mechanism.min_total)
        if not self.own:
            counts = generator.poisson(self.counted * p, counts.shape)
            drawn = noise.draw(counts.size, random).reshape(counts.shape)
        draw, index = np.nonzero(passed)
        records = _Passed(draw, self.live[index], self._columns[index], p[index], counts[passed], drawn[passed])
        return records, self._other_people(counts * ~passed, generator)

    @cached_property
    def _queries(self) -> Ids:
        return np.unique(self.law.query[self.live])

    @cached_property
    def _columns(self) -> Ids:
        """The place of the query of every live record among the queries of live records."""
        return np.searchsorted(self._queries, self.law.query[self.live]).astype(np.int64)

    def _other_people(self, unlisted: Ids, generator: np.random.Generator) -> Ids:
        """For every draw and query, the people whose record is not listed."""
        queries, columns = self._queries, self._columns
        live = np.bincount(columns, weights=self.law.probability[self.live], minlength=len(queries))
        other = np.clip(self.law.query_mass[queries] - live, 0.0, None)
        wild = generator.poisson(self.counted * other, (len(unlisted), len(queries)))
        if len(queries):
            at = np.argsort(columns, kind="stable")
            wild += np.add.reduceat(unlisted[:, at], np.searchsorted(columns[at], np.arange(len(queries))), axis=1)
        return wild

    def _rare_records(self, draws: int, columns: int, random: SimulationRandom) -> _Passed:
        """Records that pass against all odds: their totals reach the least one and go beyond it by chance."""
        probability, many = self.rare
        generator = random.generator
        draw = np.repeat(np.arange(draws), generator.poisson(many.sum(), draws))
        steps = np.cumsum(many)
        p = probability[np.searchsorted(steps, generator.random(len(draw)) * steps[-1])] if len(draw) else np.empty(0)
        drawn = self.mechanism.noise.draw(len(draw), random)
        counts = generator.poisson(self.counted * p)
        if isinstance(self.mechanism, AsymmetricList):
            fall = -math.expm1(-self.mechanism.noise.falling)
            counts = self.mechanism.min_total - 1 + generator.geometric(fall, len(draw))
            if self.mechanism.gap_below is not None:
                counts = counts + self.mechanism.gap_below.draw(len(draw), random)
            drawn = np.zeros_like(counts)
        return _Passed(draw, np.full(len(draw), -1), columns + np.arange(len(draw)), p, counts, drawn)

    def _kept(self, passed: _Passed, random: SimulationRandom) -> Bools:
        """Which records stay on their list: those with the largest noisy counts, ties broken at random."""
        if self.size is None:
            return np.ones(len(passed.draw), dtype=bool)
        totals = passed.people + passed.noise + random.generator.random(len(passed.draw))
        order, rank = ranks_in_groups(totals, passed.draw)
        kept = np.zeros(len(order), dtype=bool)
        kept[order] = rank < self.size
        return kept

    def _assembled(self, passed: _Passed, kept: Bools, wild: Ids, random: SimulationRandom) -> Lists:
        """The lists of the kept records, what was cut off folded into the wildcards."""
        draws, law, noise = len(wild), self.law, self.mechanism.noise
        mean = noise.mean if isinstance(noise, AsymmetricLaplace) else 0.0
        stride = wild.shape[1] + len(passed.draw) + 1
        key = passed.draw * stride + passed.query
        rest_keys = np.arange(draws) * stride + stride - 1
        rows = np.union1d(key[kept], rest_keys)
        row_draw, column = np.divmod(rows, stride)
        is_rest = column == stride - 1
        at = np.minimum(np.searchsorted(rows, key), len(rows) - 1)

        named = ~is_rest & (column < wild.shape[1])
        mass = np.bincount(at[kept], weights=passed.true[kept], minlength=len(rows))
        other = np.zeros(len(rows))
        counts = np.zeros(len(rows))
        row_query = np.full(len(rows), -1, dtype=np.int64)
        if named.any():
            row_query[named] = self._queries[column[named]]
            other[named] = np.clip(law.query_mass[row_query[named]] - mass[named], 0.0, None)
            counts[named] = wild[row_draw[named], column[named]]
        folded = ~kept & (rows[at] == key)
        cut = at[folded]
        counts += np.bincount(cut, weights=passed.people[folded] + passed.noise[folded] - mean, minlength=len(rows))
        terms = np.bincount(cut, minlength=len(rows))

        of_wild = self.mechanism.wildcard_noise if isinstance(self.mechanism, AsymmetricList) else noise
        wilds = np.flatnonzero(~is_rest) if law.levels == 2 else np.empty(0, dtype=np.int64)
        wild_people, wild_variance = counts[wilds], terms[wilds] * noise.variance
        if of_wild is not None:
            wild_mean = of_wild.mean if isinstance(of_wild, AsymmetricLaplace) else 0.0
            wild_people = wild_people + of_wild.draw(len(wilds), random) - wild_mean
            wild_variance = wild_variance + of_wild.variance
        clean = np.bincount(row_draw, weights=counts, minlength=draws)
        clean += np.bincount(passed.draw[kept], weights=passed.people[kept], minlength=draws)
        rests = np.flatnonzero(is_rest)
        total = np.bincount(row_draw, weights=mass + (other if law.levels == 2 else 0.0), minlength=draws)

        row = np.concatenate((at[kept], wilds, rests))
        kind = np.repeat([RECORD, WILD, REST], [int(kept.sum()), len(wilds), draws])
        record = np.concatenate((passed.record[kept], np.full(len(wilds) + draws, -1)))
        true = np.concatenate((passed.true[kept], other[wilds], 1 - total)).astype(np.float64)
        people = np.concatenate(
            (
                passed.people[kept] + passed.noise[kept] - mean,
                wild_people,
                self.counted - clean + noise.draw(draws, random) - mean,
            )
        )
        variance: Array = np.concatenate(
            (np.full(np.count_nonzero(kept), noise.variance), wild_variance, np.full(draws, noise.variance))
        )
        order = np.lexsort((record, kind, row))
        listed_counts = np.split(passed.people + passed.noise - mean, np.searchsorted(passed.draw, np.arange(1, draws)))
        return Lists(
            draws,
            row_draw[row[order]],
            row[order],
            kind[order],
            record[order],
            true[order],
            people[order],
            variance[order],
            row_draw,
            row_query,
            tuple(listed_counts),
        )


@dataclass(frozen=True, eq=False)
class _Passed:
    """Records that passed, in the order of their draws.

    where:
        draw, record, query  are each one's draw, place in the law (-1 for a rare one) and query's column,
        true                 is its probability,
        people, noise        are how many of the counted people have it, and the noise on that.
    """

    draw: Ids
    record: Ids
    query: Ids
    true: Array
    people: Ids
    noise: Ids


def _joined(first: _Passed, second: _Passed) -> _Passed:
    """Both, in the order of their draws."""
    order = np.argsort(np.concatenate((first.draw, second.draw)), kind="stable")
    parts = ((getattr(first, field.name), getattr(second, field.name)) for field in fields(_Passed))
    return _Passed(*(np.concatenate(part)[order] for part in parts))
