"""Lists of many records a person, as the filtered union might make and count them: draws of holders, never of people.

In every draw, every record that may be listed gets a Poisson number of holders from its pool
(:mod:`~blendp.evaluation.planner.holders`). Sums over the same holders decide about the list
(:mod:`~blendp.evaluation.planner.crowds`) and are its counts:

    Z = sum of y min(1, C/|y|),     X = sum of y - y min(1, C/|y|)

where:
    y, C  are as in :class:`~blendp.mechanisms.filtered_union.TwoScaleCounts`; |y| is that of a usual list.

Of records with many holders some are drawn, and stand for all: deviations from the mean are scaled to those of all.
What is released goes through the curator's own code. Records that pass less than once in 500 releases are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blendp.arrays import Array, Ids
from blendp.curator import OptInCounts, counts_of_shares
from blendp.estimate import Posterior, opt_in_posterior
from blendp.evaluation.planner.crowds import EMPHASIS, UnionCrowd, weight_beside
from blendp.evaluation.planner.holders import Pools
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.lists import RARE, RECORD, REST, WILD, Lists
from blendp.headlist import HeadList
from blendp.mechanisms.filtered_union import CountsOfShares
from blendp.mechanisms.filtered_union.holdings import GRID
from blendp.mechanisms.filtered_union.two_scale import CLIP, SHARE_GRID
from blendp.randomness import SimulationRandom

_DRAWN = 40
"""Of more holders than this, so many are drawn and stand for all."""

_LOOKED_AT = 200
"""Drawing so many holders takes about as long as listing a record."""

_WEIGHED = 200
"""Of a pool, so many rows tell the mean weight at every emphasis."""


@dataclass(frozen=True, eq=False)
class _Counted:
    """What the sample has in the cells of a usual list.

    where:
        clipped, excess     are z and x of every row, were its record listed,
        dispersion          is the mean over people of the sum of squares of their shares, of cells and of queries,
        wild                are the pools of those who hold a listed query with another URL, by kind.
    """

    clipped: Array
    excess: Array
    dispersion: tuple[float, float]
    wild: Pools


@dataclass(frozen=True, eq=False)
class UnionDrawing:
    """What lists of many records a person are drawn from.

    where:
        crowd  is who makes the list,
        size   is how many records a list keeps, None for all,
        prior  is what is assumed of listed records (:class:`~blendp.methods.Parameters`).
    """

    crowd: UnionCrowd
    size: int | None
    prior: str

    @cached_property
    def live(self) -> Ids:
        """The records that are drawn: those that may be listed and are not sure to be cut off."""
        passing = self.crowd.passing.head
        able = np.flatnonzero(passing > RARE)
        if self.size is None:
            return able
        enough = np.cumsum(passing[able]) > 3 * self.size + 200
        return able[: int(np.argmax(enough)) + 1] if enough.any() else able

    @property
    def work(self) -> float:
        """How long one draw takes to look at records and their holders, in what listing one takes."""
        holders = float(np.minimum(self.crowd.rates[self.live], _DRAWN).sum())
        return (float(self.crowd.passing.head[self.live].sum()) + holders / _LOOKED_AT) / 2

    @cached_property
    def _counted(self) -> _Counted:
        law, holders = self.crowd.law, self.crowd.holders
        generator = np.random.Generator(np.random.PCG64(3))
        listed = np.zeros(len(law.probability) + 1, dtype=bool)
        listed[self.live] = generator.random(len(self.live)) < self.crowd.passing.head[self.live]
        named = np.zeros(len(law.query_mass) + 1, dtype=bool)
        named[law.query[listed[:-1]]] = True
        of_record, of_query = listed[holders.record], named[holders.query]
        other = of_query & ~of_record
        share, owner, people = holders.share, holders.owner, holders.people
        queries = len(named)
        squares = np.bincount(owner[of_record], weights=share[of_record] ** 2, minlength=people).astype(np.float64)
        if law.levels == 2:
            squares += _squares_of_sums(owner[other], holders.query[other], share[other], people, queries)
        of_queries = _squares_of_sums(owner[of_query], holders.query[of_query], share[of_query], people, queries)
        beside = np.maximum(squares[owner] - np.where(of_query, share**2, 0.0), 0.0)
        factor = np.minimum(1.0, CLIP / SHARE_GRID / np.sqrt(beside + share**2))
        wild = holders.pools_of(np.where(other, holders.kind, -1), holders.kinds)
        means = tuple(float(np.minimum(each, 1.0).mean()) for each in (squares, of_queries))
        return _Counted(share * factor, share * (1 - factor), (means[0], means[1]), wild)

    def draw(self, draws: int, random: SimulationRandom) -> Lists:
        """So many lists, with the counts of their cells."""
        generator = random.generator
        draw, record, totals, people = self._listed(draws, generator)
        wild = self._wild(draw, record, generator)
        edges = np.searchsorted(draw, np.arange(draws + 1))
        parts = []
        for i in range(draws):
            own = slice(edges[i], edges[i + 1])
            parts.append(self._released(record[own], totals[own], people[:, own], wild[:, own], generator))
        return _assembled(self.crowd.law, parts)

    def _listed(self, draws: int, generator: np.random.Generator) -> tuple[Ids, Ids, Array, Array]:
        """The draws and records of all that is listed, with noisy weights, clipped shares and what was clipped."""
        crowd, holders, rounds, live = self.crowd, self.crowd.holders, self.crowd.rounds, self.live
        pools, items = holders.pools, draws * len(live)
        pool, rate = np.tile(holders.pool_of_record[live], draws), np.tile(crowd.rates[live], draws)
        item, rows = _holders(pools, pool, rate, generator)
        v = _sum_of(holders.weight[rows], item, rate, pools.means(holders.weight)[pool])
        noisy = v + rounds.filter_noise * generator.standard_normal(items)
        c = rounds.emphasis(noisy)
        weighed = weight_beside(c[item], crowd.others[rows], holders.weight[rows])
        totals = _sum_of(weighed, item, rate, self._mean_weight(pool, rate, c))
        totals += rounds.list_noise * generator.standard_normal(items)
        listed = (noisy >= rounds.passing) & (totals >= rounds.listing)
        counted = self._counted
        people = np.stack(
            [
                _sum_of(values[rows], item, rate, pools.means(values)[pool])[listed]
                for values in (counted.clipped, counted.excess)
            ]
        )
        draw, index = np.divmod(np.flatnonzero(listed), max(len(live), 1))
        record = live[index]
        order = np.lexsort((record, crowd.law.query[record], draw))
        return draw[order], record[order], totals[listed][order], people[:, order]

    def _mean_weight(self, pool: Ids, rate: Array, c: Array) -> Array:
        """The mean of c/sqrt(c^2 + S) in the pools of records with many holders, for every one's c."""
        holders, pools = self.crowd.holders, self.crowd.holders.pools
        mean = np.zeros(len(pool))
        many = np.flatnonzero(rate > _DRAWN)
        if not len(many):
            return mean
        known, at = np.unique(pool[many], return_inverse=True)
        steps = np.linspace(0, 1, _WEIGHED, endpoint=False)
        rows = pools.rows[pools.start[known, None] + (steps * pools.size[known, None]).astype(np.int64)]
        grid = np.arange(1, EMPHASIS + 1) / EMPHASIS
        of_rows = weight_beside(grid[:, None, None], self.crowd.others[rows], holders.weight[rows]).mean(axis=2)
        mean[many] = of_rows[np.rint(c[many] * EMPHASIS).astype(np.int64) - 1, at]
        return mean

    def _wild(self, draw: Ids, record: Ids, generator: np.random.Generator) -> Array:
        """Clipped shares, and what was clipped, of a listed query's other records: at the first that is listed."""
        law, holders, counted = self.crowd.law, self.crowd.holders, self._counted
        sums = np.zeros((2, len(record)))
        if law.levels == 1 or not len(record):
            return sums
        query = law.query[record]
        first, at = np.unique(draw * len(law.query_mass) + query, return_index=True)
        key = np.searchsorted(first, draw * len(law.query_mass) + query)
        mass = law.query_mass[query[at]] - np.bincount(key, weights=law.probability[record])
        kind = holders.kind_of_record[record[at]]
        rate = self.crowd.people * np.maximum(mass, 0.0) / counted.wild.means(holders.share)[kind]
        item, rows = _holders(counted.wild, kind, rate, generator)
        for values, whole in zip((counted.clipped, counted.excess), sums, strict=True):
            whole[at] = _sum_of(values[rows], item, rate, counted.wild.means(values)[kind])
        return sums

    def _released(
        self, record: Ids, totals: Array, people: Array, wild: Array, generator: np.random.Generator
    ) -> _Released:
        """What is released of one draw's list, and its posterior."""
        law, mechanism, n = self.crowd.law, self.crowd.mechanism, self.crowd.people
        candidates = _labelled(law, record)
        counts, cells = mechanism.counts, candidates.cells - 1
        sums = np.zeros((2, cells))
        sums[:, candidates.record_cells] = people
        if law.levels == 2:
            others = np.setdiff1d(np.arange(cells), candidates.record_cells)
            first = np.searchsorted(candidates.query_of_cell[candidates.record_cells], np.arange(len(others)))
            sums[:, others] = wild[:, first]
        noises = (counts.clipped_noise, counts.excess_noise)
        noisy = [
            np.rint(SHARE_GRID * of_cells + math.sqrt(noise.variance) * generator.standard_normal(cells))
            for of_cells, noise in zip(sums, noises, strict=True)
        ]
        dispersion = SHARE_GRID * n * np.array(self._counted.dispersion)
        dispersion += math.sqrt(counts.dispersion_noise.variance) * generator.standard_normal(2)
        released = CountsOfShares(
            noisy[0].astype(np.int64), noisy[1].astype(np.int64), int(dispersion[0]), int(dispersion[1])
        )
        weights = np.rint(GRID * totals).astype(np.int64)
        every = counts_of_shares(candidates, n, released, weights, mechanism)
        kept = every.trimmed(self.size)
        return _Released(kept, opt_in_posterior(kept, every, self.prior))


@dataclass(frozen=True, eq=False)
class _Released:
    """One draw's counts, and their posterior."""

    counts: OptInCounts
    posterior: Posterior


def _holders(pools: Pools, pool: Ids, rate: Array, generator: np.random.Generator) -> tuple[Ids, Ids]:
    """Drawn holders of everything that has so many on average: whose they are, and their rows."""
    many = generator.poisson(np.minimum(rate, _DRAWN))
    item = np.repeat(np.arange(len(pool)), many)
    return item, pools.choose(pool[item], generator)


def _sum_of(values: Array, item: Ids, rate: Array, mean: Array) -> Array:
    """The sum over all holders, from the drawn ones:

        r m + (k s - r m)/sqrt(k),     k = max(1, r/drawn)

    where:
        r, m  are how many holders there are on average, and the mean of the values among such people,
        s     is the sum over those who are drawn.
    """
    drawn = np.bincount(item, weights=values, minlength=len(rate)).astype(np.float64)
    stands_for = np.maximum(rate / _DRAWN, 1.0)
    return np.asarray(rate * mean + (stands_for * drawn - rate * mean) / np.sqrt(stands_for))


def _squares_of_sums(owner: Ids, query: Ids, share: Array, people: int, queries: int) -> Array:
    """For every person, the sum of the squares of what they have of each query."""
    pairs, where = np.unique(owner * queries + query, return_inverse=True)
    sums = np.bincount(where, weights=share, minlength=len(pairs))
    return np.bincount(pairs // queries, weights=sums**2, minlength=people).astype(np.float64)


def _labelled(law: HeadLaw, record: Ids) -> HeadList:
    """The list of these records of the law, whose texts are their numbers, in the order of query and record."""
    if law.levels == 1:
        return HeadList.of_records([(f"{query:08d}", None) for query in law.query[record].tolist()], levels=1)
    pairs = zip(law.query[record].tolist(), record.tolist(), strict=True)
    return HeadList.of_records([(f"{query:08d}", f"{one:08d}") for query, one in pairs])


@dataclass(frozen=True, eq=False)
class _Cells:
    """One draw's cells, as :class:`Lists` has those of all draws; rows are its own."""

    row: Ids
    kind: Ids
    record: Ids
    true: Array
    row_query: Ids

    @classmethod
    def of(cls, law: HeadLaw, head_list: HeadList) -> _Cells:
        listed = np.zeros(head_list.cells, dtype=bool)
        listed[head_list.record_cells] = True
        query = np.array([int(entry.query) for entry in head_list.entries], dtype=np.int64)
        row = head_list.query_of_cell
        record = np.full(head_list.cells, -1, dtype=np.int64)
        if law.levels == 1:
            record[:-1] = _first_record(law)[query]
        else:
            record[listed] = [int(url) for entry in head_list.entries for url in entry.urls]
        true = np.where(listed, law.probability[np.maximum(record, 0)], 0.0)
        if law.levels == 2:
            other = law.query_mass[query] - np.bincount(row, weights=true)[:-1]
            true[~listed] = np.append(np.clip(other, 0.0, None), 0.0)
        true[-1] = 1 - true[:-1].sum()
        kind = np.where(listed, RECORD, WILD)
        kind[-1] = REST
        return cls(row, kind, record, true, np.append(query, -1))


def _first_record(law: HeadLaw) -> Ids:
    """The most probable record of every query of the law."""
    first = np.empty(len(law.query_mass), dtype=np.int64)
    first[law.query[::-1]] = np.arange(len(law.query))[::-1]
    return first


def _assembled(law: HeadLaw, parts: list[_Released]) -> Lists:
    """The lists of all draws."""
    cells = [_Cells.of(law, part.counts.head_list) for part in parts]
    counts, posteriors = [part.counts for part in parts], [part.posterior for part in parts]
    draws = np.arange(len(parts))
    rows, sizes = ([len(of) for of in each] for each in ([one.row_query for one in cells], [one.row for one in cells]))
    first_row = np.repeat(np.cumsum(rows) - rows, sizes)
    return Lists(
        len(parts),
        np.repeat(draws, sizes),
        first_row + np.concatenate([one.row for one in cells]),
        np.concatenate([one.kind for one in cells]),
        np.concatenate([one.record for one in cells]),
        np.concatenate([one.true for one in cells]),
        np.concatenate([one.people for one in counts]),
        np.concatenate([one.noise_variance for one in counts]),
        np.repeat(draws, rows),
        np.concatenate([one.row_query for one in cells]),
        (),
        np.repeat([one.dispersion for one in counts], sizes),
        Posterior(
            posteriors[0].users,
            np.concatenate([one.grid for one in posteriors]),
            np.concatenate([one.log_weight for one in posteriors]),
            np.concatenate([_log_zero(one) for one in posteriors]),
        ),
    )


def _log_zero(posterior: Posterior) -> Array:
    return np.full(len(posterior.grid), -np.inf) if posterior.log_zero is None else posterior.log_zero
