"""The law of a synthetic population, heavy hitters and long tail: how probable every <query, URL> record is.

The query of rank r has the probability

    p_r = h_r                     for r <= m,
    p_r = h_m (m / r)^s           for m < r <= K,
    p_r = p_K (K / r)^t           for K < r <= N,     with t such that p_1 + ... + p_N = 1,

and its j-th URL the share w_{r,j} of p_r, so the record has p_r w_{r,j},

where:
    h_1..h_m  are given probabilities (for AOL, those of the nine queries of figure 9),
    s         is the slope of the head and t that of the long tail, which is flatter,
    K         is the rank at which the tail begins,
    N         is the number of unique queries of figure 8.

The free numbers are set so that a head list at the paper's parameters comes out as in the paper: 50 records on
AOL from 5 % opt-in and not from 4 %, holding 9 % of the probability; 500 on Yandex from 3 % and not from 2 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from blendp.arrays import Array, Ids, falling_order
from blendp.errors import require_choice, require_count
from blendp.logs.synthetic.names import NAMES
from blendp.logs.synthetic.text import STRIDE, vocabulary


@dataclass(frozen=True)
class Law:
    """A distribution over <query, URL> records; ranks count from 1 and places of URLs from 0.

    ``profiles`` holds pairs (first rank, shares of the URLs): each pair holds up to the next one's rank. Where n pairs
    in a row have the same first rank, the query of rank r has the one at place floor(n frac(r A/2^32)) among them,
    where A is :data:`~blendp.logs.synthetic.text.STRIDE`: every n-th query or so has each.
    """

    name: str
    head: tuple[float, ...]
    slope: float
    knee: int
    queries: int
    profiles: tuple[tuple[int, tuple[float, ...]], ...]

    @cached_property
    def tail_slope(self) -> float:
        """The slope t of the tail, by bisection: what is left for the tail falls as t grows."""
        left = (1.0 - float(self._head_probabilities.sum())) / float(self._head_probabilities[-1])
        low, high = 0.0, 3.0
        for _ in range(60):
            middle = (low + high) / 2
            much = _power_sum(self.knee + 1, self.queries, middle) * self.knee**middle
            low, high = (middle, high) if much > left else (low, middle)
        return low

    @cached_property
    def query_probabilities(self) -> Array:
        """p_r of every query, the most probable first."""
        head = self._head_probabilities
        tail = np.arange(self.knee + 1, self.queries + 1, dtype=np.float64)
        tail /= self.knee
        np.power(tail, -self.tail_slope, out=tail)
        tail *= (1.0 - head.sum()) / tail.sum()
        return _frozen(np.concatenate((head, tail)))

    @cached_property
    def url_shares(self) -> Array:
        """w of every profile (row) and place (column); zero beyond the last URL."""
        width = max(len(shares) for _, shares in self.profiles)
        return _frozen(np.array([shares + (0.0,) * (width - len(shares)) for _, shares in self.profiles]))

    @cached_property
    def _head_probabilities(self) -> Array:
        given = len(self.head)
        ranks = np.arange(given + 1, self.knee + 1, dtype=np.float64)
        return np.concatenate((self.head, self.head[-1] * (given / ranks) ** self.slope))

    @cached_property
    def _query_steps(self) -> Array:
        steps = np.cumsum(self.query_probabilities)
        return _frozen(steps / steps[-1])

    @cached_property
    def _url_steps(self) -> Array:
        steps = np.cumsum(self.url_shares, axis=1)
        for row, (_, shares) in enumerate(self.profiles):
            steps[row, len(shares) - 1 :] = 1.0
        return _frozen(steps)

    def profile_of(self, ranks: Ids) -> Ids:
        """The row of :attr:`url_shares` that each query follows."""
        firsts = np.array([first for first, _ in self.profiles])
        after = np.searchsorted(firsts, ranks, side="right")
        start = np.searchsorted(firsts, firsts[after - 1], side="left")
        return start + ((ranks * STRIDE % 2**32) * (after - start) >> 32)

    def top_records(self, top: int) -> tuple[Ids, Ids, Array]:
        """Rank, place and probability of the ``top`` most probable records, the most probable first.

        Looks at the first n queries only, with n doubled until no record of a later query can be among them.
        """
        require_count("top", top, min_value=1, remedy="Ask for at least one record.")
        max_share = float(self.url_shares.max())
        count = min(2 * top, self.queries)
        while True:
            ranks = np.arange(1, count + 1)
            cells = self.query_probabilities[:count, np.newaxis] * self.url_shares[self.profile_of(ranks)]
            order = falling_order(cells.ravel())[:top]
            chosen = cells.ravel()[order]
            if count == self.queries or (
                len(chosen) == top and chosen[-1] > 0 and chosen[-1] >= self.query_probabilities[count] * max_share
            ):
                break
            count = min(2 * count, self.queries)
        real = chosen > 0
        rows, places = np.divmod(order[real], cells.shape[1])
        return rows + 1, places, _frozen(chosen[real])

    def records(self, top: int) -> pa.Table:
        """The ``top`` most probable records with their text: query, url, probability."""
        ranks, places, probabilities = self.top_records(top)
        texts = vocabulary(self.name)
        columns = [texts.queries(ranks), texts.urls(ranks, places), pa.array(probabilities)]
        return pa.table(columns, names=["query", "url", "probability"])

    def draw(self, generator: np.random.Generator, size: int) -> tuple[Ids, Ids]:
        """Rank and place of ``size`` independent records."""
        ranks = self.ranks_at(generator.random(size))
        return ranks, self.draw_places(generator, ranks)

    def ranks_at(self, levels: Array) -> Ids:
        """The query of each level: those from p_1 + ... + p_{r-1} to below p_1 + ... + p_r have rank r."""
        order = np.argsort(levels)
        ranks = np.empty(len(levels), dtype=np.int64)
        ranks[order] = np.searchsorted(self._query_steps, levels[order], side="right") + 1
        return ranks

    def draw_places(self, generator: np.random.Generator, ranks: Ids) -> Ids:
        """The place of a URL of each of these queries."""
        steps = self._url_steps
        profiles = self.profile_of(ranks)
        levels = generator.random(len(ranks))
        places = np.zeros(len(ranks), dtype=np.int64)
        for rank_of_url in range(steps.shape[1] - 1):
            places += levels >= steps[profiles, rank_of_url]
        return places


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _power_sum(first: int, last: int, slope: float) -> float:
    """The sum of r^-slope over first <= r <= last, by the Euler-Maclaurin formula (first >= 10)."""
    ratio = math.log(last / first)
    area = ratio if slope == 1 else math.expm1((1 - slope) * ratio) / (1 - slope)
    total = area * first ** (1 - slope) + (first**-slope + last**-slope) / 2
    total += slope * (first ** (-slope - 1) - last ** (-slope - 1)) / 12
    third = slope * (slope + 1) * (slope + 2) / 720
    return float(total - third * (first ** (-slope - 3) - last ** (-slope - 3)))


NAVIGATIONAL = (0.90, 0.06, 0.03, 0.01)
TOPICAL = (0.48, 0.16, 0.09, 0.07, 0.06, 0.05, 0.04, 0.02, 0.02, 0.01)
RARE = (0.70, 0.20, 0.10)


def _sparse(alone: int, *others: tuple[float, int]) -> tuple[tuple[float, ...], ...]:
    """Profiles of queries that take them in turn: so many times one URL alone, then with others beside the first one.

    Each pair tells the share of the others and how many they are; each has half of the share of the one before it.
    """
    profiles: list[tuple[float, ...]] = [(1.0,)] * alone
    for share, urls in others:
        weights = [0.5**turn for turn in range(urls)]
        profiles.append((1 - share, *(share * weight / sum(weights) for weight in weights)))
    return tuple(profiles)


SPARSE = {
    1: _sparse(
        7,
        *((0.001, 1), (0.002, 1), (0.005, 1), (0.007, 1), (0.01, 1), (0.016, 2), (0.025, 2)),
        *((0.04, 3), (0.06, 4), (0.1, 5), (0.15, 7), (0.3, 7), (0.5, 8)),
    ),
    51: _sparse(
        7,
        *((0.004, 1), (0.008, 1), (0.012, 1), (0.016, 1), (0.024, 2), (0.03, 2), (0.04, 2)),
        *((0.06, 3), (0.12, 3), (0.25, 4), (0.35, 4), (0.4, 5), (0.5, 6)),
    ),
    121: _sparse(
        11,
        *((0.004, 1), (0.008, 1), (0.012, 1), (0.016, 1), (0.02, 1), (0.025, 2), (0.03, 2)),
        *((0.04, 2), (0.06, 2), (0.12, 4)),
    ),
}
"""From each rank on, profiles as real people's queries have them: many have one URL alone, most have others that hardly
anybody visits, and few have several that are popular. docs/logs.md has what comes of them."""

_AOL = Law(
    name="aol",
    head=(0.0213, 0.0067, 0.0067, 0.0057, 0.0054, 0.0043, 0.0034, 0.0033, 0.0028),
    slope=1.22,
    knee=30,
    queries=4_811_646,
    profiles=((1, NAVIGATIONAL), (10, TOPICAL), (10_001, RARE)),
)
_LAWS = {
    "aol": _AOL,
    "aol-sparse": replace(
        _AOL,
        name="aol-sparse",
        profiles=(*((first, shares) for first, some in SPARSE.items() for shares in some), (10_001, RARE)),
    ),
    "yandex": Law(
        name="yandex",
        head=(0.018,),
        slope=0.83,
        knee=400,
        queries=13_171_961,
        profiles=((1, NAVIGATIONAL), (21, TOPICAL), (10_001, RARE)),
    ),
}


def law(name: str) -> Law:
    """The law of the population of this name."""
    require_choice("name", name, NAMES)
    return _LAWS[name]
