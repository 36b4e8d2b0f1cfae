"""Lists as partition selection might make them: some hundred draws of counts of the head, never of people.

In every draw the count of a record is Poisson(n p), noise is added, and the list is cut to its size, as the method
does it; so what selection does to the estimates is in the draws. Records that hardly ever pass are drawn together:
their number is Poisson, and each is a query of its own.

    P(listed) = sum over N of Poisson(N; n p) P(X >= T - N)
    P(q listed without any URL) = product over its records of (1 - P(listed)) * P(R + Y >= T'),    R ~ Poisson(r)

where:
    n  is the number of people who make the list, p the probability of the record,
    X  is the noise and T the least noisy count that is listed,
    r  is the mean number of people with the query, given that no record of it is listed; Y and T' are noise and least
       number of a query.
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
        candidates       are the noisy numbers of all records with a URL that passed, a draw each,
        dispersion       is that of people's numbers in each cell, 1 with one record a person,
        posterior        is what the opt-in group says of every cell but the <*,*>, if that is known already,
        bare_candidates  are the noisy numbers of all queries that passed without any URL, a draw each.
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
    bare_candidates: tuple[Array, ...] = ()

    @cached_property
    def bare(self) -> Bools:
        """The cells that are queries without any listed URL: records without a place in the law, of a known query."""
        return np.asarray((self.kind == RECORD) & (self.record < 0) & (self.row_query[self.row] >= 0))

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
    """How probable it is that each record of the head passes, and how many of each bin of the tail do.

    ``bare`` is how probable it is that each query of the head is listed without any URL, where a query can be.
    """

    head: Array
    tail: Array
    bare: Array

    @property
    def known(self) -> Array:
        """The probabilities of all that is known one by one."""
        return np.concatenate((self.head, self.bare))

    @property
    def candidates(self) -> float:
        """How many records pass, on average; a query without any URL is one."""
        return float(self.known.sum() + self.tail.sum())


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
    rests = _rests_of(mechanism)
    bare = np.empty(0) if rests is None else _listed_by_rests(law, mechanism, rests, p[:head], people)
    return ListingLaw(p[:head], p[head:] * law.tail_records, bare)


@dataclass(frozen=True)
class _Rests:
    """What lists a query by its rest."""

    min_total: int
    noise: AsymmetricLaplace

    def listing_probability(self, counts: Ids | int) -> Array:
        """The probability that a query with this rest is listed."""
        counts = np.asarray(counts, dtype=np.int64)
        return np.where(counts > 0, self.noise.at_least(self.min_total - counts), 0.0)


def _rests_of(mechanism: PassesByCount) -> _Rests | None:
    """What lists a query by its rest; None if nothing does."""
    if not isinstance(mechanism, AsymmetricList) or mechanism.wildcard_noise is None or mechanism.min_rest is None:
        return None
    return _Rests(mechanism.min_rest, mechanism.wildcard_noise)


def _listed_by_rests(law: HeadLaw, mechanism: PassesByCount, rests: _Rests, listed: Array, people: int) -> Array:
    """P(listed without any URL) of every query.

    E(N; not listed) = n p (1 - P(listed with one person more))
    """
    rates, queries = people * law.probability, len(law.query_mass)
    unlisted = np.maximum(1 - listed, 1e-300)
    left = rates * (1 - listed_by_rate(mechanism, rates, 1)) / unlisted
    no_record = np.exp(np.bincount(law.query, weights=np.log(unlisted), minlength=queries))
    rest = people * law.query_mass + np.bincount(law.query, weights=left - rates, minlength=queries)
    return no_record * listed_by_rate(rests, np.maximum(rest, 1e-9))


def listed_by_rate(mechanism: PassesByCount, rates: Array, more: int = 0) -> Array:
    """P(listed) of records that so many people have on average, and so ``more`` besides.

    It is summed up on a grid of rates and interpolated between them, both as logarithms.
    """
    enough = mechanism.min_total
    while float(mechanism.listing_probability(enough)) < 1 - 1e-9:
        enough = int(1.3 * enough) + 1
    sure = enough + 7 * math.sqrt(enough) + 30
    grid = np.geomspace(min(1e-6, float(rates.min())), sure, _RATES)
    n = np.arange(int(sure + 8 * math.sqrt(sure)) + 2)
    log_factorial = np.cumsum(np.log(np.maximum(n, 1)))
    passing = mechanism.listing_probability(n + more)
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
    def _least_rate(self) -> float:
        """With fewer people on average, a record is sure to be cut off."""
        if self.size is None or self.size >= len(self.law.probability):
            return -math.inf
        rates = self.counted * self.law.probability
        last = float(rates[self.size - 1])
        least = last - 8 * math.sqrt(last + self.mechanism.noise.variance)
        sure = float(self.passing.head[: self.size].min()) > 1 - 1e-6
        enough = float(self.passing.head[rates > least].sum()) > self.size + 6 * math.sqrt(self.size)
        return least if sure or enough else -math.inf

    @cached_property
    def live(self) -> Ids:
        """The records that are drawn one by one: those that may be listed and are not sure to be cut off.

        All of a query that may be kept without any URL are: it is listed so only where none of them is.
        """
        near = self.counted * self.law.probability > self._least_rate
        if len(self.passing.bare):
            near |= (self.counted * self.law.query_mass > self._least_rate)[self.law.query]
        return np.flatnonzero(near & (self.passing.head > RARE))

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
        """The records that pass, and for every draw and query how many people have another record of it.

        A query that passes without any URL is a record itself, and nobody is left beside it.
        """
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
        records = _Passed(
            draw,
            self.live[index],
            self._columns[index],
            p[index],
            counts[passed],
            drawn[passed],
            np.zeros(len(draw), dtype=bool),
        )
        wild = self._other_people(counts * ~passed, generator)
        bare = self._bare(wild, records, random)
        wild[bare.draw, bare.query] = 0
        return _joined(records, bare), wild

    def _bare(self, wild: Ids, records: _Passed, random: SimulationRandom) -> _Passed:
        """The queries of which no record passes, and that pass by the number of their people."""
        rests = _rests_of(self.mechanism)
        able = (wild > 0) & (rests is not None)
        able[records.draw, records.query] = False
        draw, column = np.nonzero(able)
        people = wild[draw, column]
        noise = np.zeros_like(people) if rests is None else rests.noise.draw(len(people), random)
        passed = people + noise >= (0 if rests is None else rests.min_total)
        draw, column, people, noise = (each[passed] for each in (draw, column, people, noise))
        true, nothing = self.law.query_mass[self._queries[column]], np.full(len(draw), -1)
        return _Passed(draw, nothing, column, true, people, noise, np.ones(len(draw), dtype=bool))

    @cached_property
    def _queries(self) -> Ids:
        bare = np.flatnonzero(self.passing.bare > RARE)
        bare = bare[self.counted * self.law.query_mass[bare] > self._least_rate]
        return np.union1d(self.law.query[self.live], bare)

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
        if len(columns):
            at = np.argsort(columns, kind="stable")
            known, first = np.unique(columns[at], return_index=True)
            wild[:, known] += np.add.reduceat(unlisted[:, at], first, axis=1)
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
        nothing, bare = np.full(len(draw), -1), np.zeros(len(draw), dtype=bool)
        return _Passed(draw, nothing, columns + np.arange(len(draw)), p, counts, drawn, bare)

    def _clean(self, passed: _Passed) -> Array:
        """The noisy numbers of people, the mean of the noise removed."""
        rests, noise = _rests_of(self.mechanism), self.mechanism.noise
        mean = noise.mean if isinstance(noise, AsymmetricLaplace) else 0.0
        means = np.where(passed.bare, 0.0 if rests is None else rests.noise.mean, mean)
        return np.asarray(passed.people + passed.noise - means, dtype=np.float64)

    def _kept(self, passed: _Passed, random: SimulationRandom) -> Bools:
        """Which records stay on their list: those with the largest noisy counts, ties broken at random."""
        if self.size is None:
            return np.ones(len(passed.draw), dtype=bool)
        totals = self._clean(passed) + random.generator.random(len(passed.draw))
        totals[passed.bare] -= np.ptp(totals) + 1 if len(totals) else 0  # a list cut by records takes them last
        order, rank = ranks_in_groups(totals, passed.draw)
        kept = np.zeros(len(order), dtype=bool)
        kept[order] = rank < self.size
        return kept

    def _assembled(self, passed: _Passed, kept: Bools, wild: Ids, random: SimulationRandom) -> Lists:
        """The lists of the kept records, what was cut off folded into the wildcards."""
        draws, law, noise = len(wild), self.law, self.mechanism.noise
        mean = noise.mean if isinstance(noise, AsymmetricLaplace) else 0.0
        rests = _rests_of(self.mechanism)
        bare_variance = 0.0 if rests is None else rests.noise.variance
        clean_people = self._clean(passed)
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
        counts += np.bincount(cut, weights=clean_people[folded], minlength=len(rows))
        terms = np.bincount(cut, minlength=len(rows))

        of_wild = self.mechanism.wildcard_noise if isinstance(self.mechanism, AsymmetricList) else noise
        has_wild = ~is_rest & (law.levels == 2)
        has_wild[at[kept & passed.bare]] = False
        wilds = np.flatnonzero(has_wild)
        wild_people, wild_variance = counts[wilds], terms[wilds] * noise.variance
        if of_wild is not None:
            wild_mean = of_wild.mean if isinstance(of_wild, AsymmetricLaplace) else 0.0
            wild_people = wild_people + of_wild.draw(len(wilds), random) - wild_mean
            wild_variance = wild_variance + of_wild.variance
        clean = np.bincount(row_draw, weights=counts, minlength=draws)
        clean += np.bincount(passed.draw[kept], weights=passed.people[kept], minlength=draws)
        total = np.bincount(row_draw, weights=mass + (other if law.levels == 2 else 0.0), minlength=draws)

        row = np.concatenate((at[kept], wilds, np.flatnonzero(is_rest)))
        kind = np.repeat([RECORD, WILD, REST], [int(kept.sum()), len(wilds), draws])
        record = np.concatenate((passed.record[kept], np.full(len(wilds) + draws, -1)))
        true = np.concatenate((passed.true[kept], other[wilds], 1 - total)).astype(np.float64)
        people = np.concatenate(
            (clean_people[kept], wild_people, self.counted - clean + noise.draw(draws, random) - mean)
        )
        variance: Array = np.concatenate(
            (np.where(passed.bare, bare_variance, noise.variance)[kept], wild_variance, np.full(draws, noise.variance))
        )
        order = np.lexsort((record, kind, row))
        listed_counts, bare_counts = (
            np.split(clean_people[these], np.searchsorted(passed.draw[these], np.arange(1, draws)))
            for these in (~passed.bare, passed.bare)
        )
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
            bare_candidates=tuple(bare_counts),
        )


@dataclass(frozen=True, eq=False)
class _Passed:
    """Records that passed, in the order of their draws.

    where:
        draw, record, query  are each one's draw, place in the law (-1 for a rare one) and query's column,
        true                 is its probability,
        people, noise        are how many of the counted people have it, and the noise on that,
        bare                 is whether it is a query without any URL.
    """

    draw: Ids
    record: Ids
    query: Ids
    true: Array
    people: Ids
    noise: Ids
    bare: Bools


def _joined(first: _Passed, second: _Passed) -> _Passed:
    """Both, in the order of their draws."""
    order = np.argsort(np.concatenate((first.draw, second.draw)), kind="stable")
    parts = ((getattr(first, field.name), getattr(second, field.name)) for field in fields(_Passed))
    return _Passed(*(np.concatenate(part)[order] for part in parts))
