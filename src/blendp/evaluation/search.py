"""What local search is worth to people who were not asked.

A share of the log's people is held out: they neither opt in nor report. The method runs on all others, several times.
Each run's list is then searched, as an index on a device would be, for all that the held-out people searched for:

    answered           the record that they chose is among the first 10 results for the whole query,
    rank               its place among these results, from 1,
    keystrokes saved   |q| - c where the first c characters of the query q are the fewest for which the record is among
                       the first 5 results; 0 if there is no such c.

Results are those of :mod:`blendp.search`, worked out for all prefixes of all listed queries at once: first the records
whose query is the typed text, then those whose query begins with it, each by falling share, then by code points. Others
come after these, so they cannot matter to somebody who types the query. A space at the end of what is typed changes
nothing. A query that is listed without any URL takes its place among the results, and answers nobody.

Every figure is a ratio of sums over searches, pooled over the runs, and its error has two parts:

    A = sum x / sum y,     e = x - A y,     V = (m/(m-1) sum_i e_i^2  +  R/(R-1) sum_r e_r^2) / (sum y)^2

where:
    e_i  is the sum over all searches of person i: what one person searches for is not independent,
    e_r  is the sum over all searches in run r: everybody searches the same list,
    m    is the number of held-out people and R that of runs.

The people who were asked are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from blendp.arrays import Array, Ids, falling_order, ranks_in_groups
from blendp.engines import EmbeddedLog, Truth
from blendp.errors import ParameterError, require_count, require_number
from blendp.methods import LogPeople, Parameters, Simulation, simulate_people
from blendp.methods.groups import Groups
from blendp.methods.log import OptIn
from blendp.methods.progress import Progress, silent
from blendp.normalise import normalise_query
from blendp.randomness import SimulationRandom
from blendp.search.index import MAX_RECORDS, UNIT
from blendp.search.matching import MAX_TYPED

HELD_OUT = 0.2
"""The share of the people who are held out, unless another is said."""

ANSWERS = 10
"""A search is answered if what was chosen is among so many results for the whole query."""

SHOWN = 5
"""While somebody types, so many results are shown."""

ROUND_TRIP = "A round trip to a server takes some 50-100 ms (not measured); a search on the device needs none."


@dataclass(frozen=True)
class ClusteredRatio:
    """A ratio of sums over people and runs; nan where there is nothing to divide by."""

    value: float
    std_error: float
    """nan for one run, which does not tell how much the method's noise changes."""

    @classmethod
    def of(cls, by_person: tuple[Array, Array], by_run: tuple[Array, Array]) -> ClusteredRatio:
        """From the sums above and below the line, of every person and of every run."""
        total = float(by_run[1].sum())
        if not total:
            return cls(math.nan, math.nan)
        value = float(by_run[0].sum()) / total
        variance = sum(_variance_of_sum(above - value * below) for above, below in (by_person, by_run))
        return cls(value, math.sqrt(variance) / total)


def _variance_of_sum(clusters: Array) -> float:
    """The variance of the sum of independent clusters, whose mean is 0."""
    many = len(clusters)
    return float(clusters @ clusters) * many / (many - 1) if many > 1 else math.nan


@dataclass(frozen=True)
class SearchFigures:
    """How lists of one length fare."""

    answered: ClusteredRatio
    """The share of the searches that are answered."""

    mean_rank: ClusteredRatio
    """The mean rank of the chosen record, over answered searches."""

    keystrokes_saved: ClusteredRatio
    """Characters that need not be typed, a search."""

    keystrokes_saved_share: ClusteredRatio
    """Characters that need not be typed, of all that would be."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; None for what is not known."""
        values = {name: _known(ratio.value) for name, ratio in vars(self).items()}
        return {**values, "std_error": {name: _known(ratio.std_error) for name, ratio in vars(self).items()}}


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class SearchRow:
    """The first so many records of the released list, beside an exact list of that length."""

    records: float
    """How many; the mean over the runs in the row of whole lists."""

    released: SearchFigures
    exact: SearchFigures
    """Of the records that are most frequent among the people who were asked: what no protection would cost."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"records": self.records, **self.released.to_dict(), "exact": self.exact.to_dict()}


@dataclass(frozen=True)
class SearchValue:
    """What people who were not asked gain by searching the list. Computed from the raw log: not private."""

    held_out: float
    people: int
    """How many were held out."""

    searches: int
    """How many searches these people made."""

    keystrokes: float
    """Characters in a query of theirs, on average."""

    repeat: int
    rows: tuple[SearchRow, ...]
    """By length of the list; the last row is of whole lists."""

    def to_dict(self) -> dict[str, Any]:
        """The whole list's figures, then those by length."""
        return {
            **self.rows[-1].to_dict(),
            "by_list_size": [row.to_dict() for row in self.rows],
            "held_out": {
                "share": self.held_out,
                "people": self.people,
                "searches": self.searches,
                "keystrokes": _known(self.keystrokes),
            },
            "first_results": {"answered": ANSWERS, "keystrokes_saved": SHOWN},
            "repeat": self.repeat,
            "round_trip": ROUND_TRIP,
        }


def search_value(
    log: EmbeddedLog,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    held_out: float = HELD_OUT,
    repeat: int = 1,
    seed: int = 0,
    progress: Progress = silent,
) -> SearchValue:
    """Run the method ``repeat`` times without some people, and let these search its lists."""
    require_count("repeat", repeat, min_value=1, remedy="Ask for at least one run.")
    parameters = parameters or Parameters()
    random = SimulationRandom(seed)
    not_asked = people_not_asked(log.users, held_out, random.spawn())
    searches, asked = HeldOutSearches.of(log, not_asked)
    lists = []
    for run in range(repeat):
        progress(f"search: run {run + 1} of {repeat}")
        outcome = _run_without(log, not_asked, parameters, opt_in, random.spawn())
        lists.append(RankedList.of_outcome(log, outcome))
    progress("searching the lists")
    exact = RankedList.of(log, most_frequent(max(map(len, lists)), asked))
    rows = []
    for size in (*_sizes([len(each) for each in lists]), None):
        released = [each.first(size) for each in lists]
        equal = [exact.first(len(each)) for each in released]
        records = float(np.mean([len(each) for each in released]))
        rows.append(SearchRow(records, figures_of_lists(released, searches), figures_of_lists(equal, searches)))
    times = int(searches.times.sum())
    typed = float(searches.typed.sum()) / times if times else math.nan
    return SearchValue(held_out, searches.people, times, typed, repeat, tuple(rows))


def people_not_asked(users: int, share: float, random: SimulationRandom) -> Ids:
    """The people who are held out, whatever their records."""
    legal = "a share above 0 and below 1 that leaves somebody in and somebody out"
    remedy = f"{HELD_OUT} holds out a fifth of the people."
    require_number("held_out", share, above=0, below=1, legal=legal, remedy=remedy)
    count = round(share * users)
    if not 0 < count < users:
        raise ParameterError("held_out", share, f"{legal} of {users} people", remedy)
    return random.subset(users, count)


def _run_without(
    log: EmbeddedLog, not_asked: Ids, parameters: Parameters, opt_in: OptIn, random: SimulationRandom
) -> Simulation:
    """The method on the people of a log without some, who leave the groups that they were drawn into."""
    everybody = LogPeople.of(log, parameters, opt_in, random)
    is_asked = np.ones(log.users, dtype=bool)
    is_asked[not_asked] = False
    groups = everybody.groups
    asked = (group[is_asked[group]] for group in (groups.head_list, groups.estimate, groups.client))
    return simulate_people(replace(everybody, groups=Groups(*asked)), parameters, random)


def most_frequent(size: int, truth: Truth) -> Ids:
    """The records of an exact list: at most so many, all of them held by somebody."""
    head = truth.head(size)
    return head[truth.record[head] > 0]


def _sizes(lengths: Sequence[int]) -> list[int]:
    """10, 20, 50, 100 ... up to the shortest list, but for what all lists have as a whole."""
    shortest, longest = min(lengths), max(lengths)
    steps = (digit * 10**power for power in range(1, len(str(shortest)) + 1) for digit in (1, 2, 5))
    return [size for size in steps if size <= shortest and size < longest]


@dataclass(frozen=True, eq=False)
class RankedList:
    """The records of a list, the best first, and their queries as an index compares them."""

    record: Ids
    """The log's number of each; -1 for a query that is listed without any URL, which no search chooses."""

    query: pa.Array

    @classmethod
    def of(cls, log: EmbeddedLog, records: Ids) -> RankedList:
        """With what the log says of these records."""
        return cls(records, _compared(query for query, _ in log.texts(records)))

    @classmethod
    def of_outcome(cls, log: EmbeddedLog, outcome: Simulation) -> RankedList:
        """The records that an index of this outcome has: by falling share as it counts shares, then by code points."""
        head_list = outcome.head_list
        is_known = np.isfinite(outcome.cell_probability) & np.isfinite(outcome.cells.std_error)
        cells = head_list.record_cells[is_known[head_list.record_cells]]
        cells = cells[falling_order(np.rint(UNIT * outcome.cell_probability[cells]))][:MAX_RECORDS]
        record_of = np.full(head_list.cells, -1, dtype=np.int64)
        located = log.locate(head_list)[:-1]
        record_of[located] = np.arange(len(located))
        record_of[head_list.bare_cells] = -1
        return cls(record_of[cells], _compared(head_list.labels[cell][0] or "" for cell in cells))

    def __len__(self) -> int:
        return len(self.record)

    def first(self, size: int | None) -> RankedList:
        """The best so many; None for all."""
        return RankedList(self.record[:size], self.query[:size])


def _compared(queries: Iterable[str]) -> pa.Array:
    return pa.array([normalise_query(query) for query in queries], pa.string())


@dataclass(frozen=True, eq=False)
class HeldOutSearches:
    """What people searched for: a row for every person and record, by ascending record."""

    people: int
    person: Ids = field(repr=False)
    record: Ids = field(repr=False)
    times: Ids = field(repr=False)
    length: Ids = field(repr=False)
    """Characters of the query."""

    @classmethod
    def of(cls, log: EmbeddedLog, not_asked: Ids) -> tuple[HeldOutSearches, Truth]:
        """All searches of these people, and the truth about all others."""
        user, record, times = log.occurrences()
        lengths = log.query_lengths()
        number = np.full(log.users, -1, dtype=np.int64)
        number[not_asked] = np.arange(len(not_asked))
        person = number[user]
        theirs = person >= 0
        searches = cls(len(not_asked), person[theirs], record[theirs], times[theirs], lengths[record[theirs]])
        user, record, times = user[~theirs], record[~theirs], times[~theirs]
        many = np.bincount(user, weights=times, minlength=log.users)
        share = np.bincount(record, times / many[user], log.distinct_records) / (log.users - len(not_asked))
        return searches, Truth(share, np.arange(len(share)), share)  # only the order of records is asked of it

    @property
    def typed(self) -> Ids:
        """Characters of every row."""
        return self.times * self.length

    def sums(self, weights: Array | Ids, rows: Ids | slice = slice(None)) -> Array:
        """The sum of every person."""
        return np.bincount(self.person[rows], weights, self.people).astype(np.float64)

    def of_records(self, records: Ids) -> tuple[Ids, Ids]:
        """The rows of these records, and which of them each is of."""
        start, stop = (np.searchsorted(self.record, records, side=side) for side in ("left", "right"))
        counts = stop - start
        before = np.cumsum(counts) - counts
        which = np.repeat(np.arange(len(records)), counts)
        return np.arange(len(which)) + (start - before)[which], which


def figures_of_lists(lists: Sequence[RankedList], searches: HeldOutSearches) -> SearchFigures:
    """The figures of one list a run."""
    whatever_the_list = np.stack([searches.sums(searches.times), searches.sums(searches.typed)])
    by_person = np.zeros((5, searches.people))
    by_run = np.zeros((5, len(lists)))
    for run, ranked in enumerate(lists):
        sums = np.vstack([whatever_the_list, _gains(ranked, searches)])
        by_person += sums
        by_run[:, run] = sums.sum(axis=1)
    searched, typed, answered, ranks, saved = range(5)
    pairs = ((answered, searched), (ranks, answered), (saved, searched), (saved, typed))
    return SearchFigures(*(ClusteredRatio.of((by_person[x], by_person[y]), (by_run[x], by_run[y])) for x, y in pairs))


def _gains(ranked: RankedList, searches: HeldOutSearches) -> Array:
    """Searches answered, the sum of their ranks and the characters saved, of every person."""
    rank, saved = rank_of_whole_query(ranked.query), keystrokes_saved(ranked.query)
    rows, which = searches.of_records(ranked.record)
    times = searches.times[rows]
    answered = times * (rank[which] <= ANSWERS)
    return np.stack([searches.sums(gain, rows) for gain in (answered, answered * rank[which], times * saved[which])])


def rank_of_whole_query(queries: pa.Array) -> Ids:
    """The rank of every record when its whole query is typed, from 1; the queries of a list, best record first."""
    return _ranks_when_typed(queries, MAX_TYPED)


def keystrokes_saved(queries: pa.Array) -> Ids:
    """How many characters fewer are typed until a record is shown; the queries of a list, best record first."""
    length = pc.utf8_length(queries).to_numpy().astype(np.int64)
    saved = np.zeros(len(queries), dtype=np.int64)
    waiting = rank_of_whole_query(queries) <= SHOWN
    for typed in range(1, min(max(length, default=0), MAX_TYPED)):
        waiting &= length > typed
        if not waiting.any():
            break
        is_space = pc.equal(pc.utf8_slice_codeunits(queries, typed - 1, typed), " ").to_numpy(zero_copy_only=False)
        shown = waiting & ~is_space & (_ranks_when_typed(queries, typed) <= SHOWN)
        saved[shown] = length[shown] - typed
        waiting &= ~shown
    return saved


def _ranks_when_typed(queries: pa.Array, typed: int) -> Ids:
    """The rank of every record, from 1, when so many characters of its query, or all that it has, are typed."""
    if not len(queries):
        return np.zeros(0, dtype=np.int64)
    text = pc.utf8_slice_codeunits(queries, 0, typed).dictionary_encode().indices.to_numpy().astype(np.int64)
    is_longer = pc.utf8_length(queries).to_numpy() > typed
    order, rank = ranks_in_groups(-(is_longer * len(queries) + np.arange(len(queries))), text)
    ranks = np.empty(len(queries), dtype=np.int64)
    ranks[order] = rank + 1
    return ranks
