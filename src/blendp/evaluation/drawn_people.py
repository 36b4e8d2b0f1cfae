"""People drawn anew from a log's own law of records: experiments whose time does not grow with the clients.

A log's truth is a law: the probability that a uniformly drawn record of a uniformly drawn person is r. Here the opt-in
people are drawn from that law one by one, and the clients' reports all at once:

    cells of the clients  ~  Multinomial(n_C, P(cell)),     reports  ~  the law of the sum over the randomiser's channel

which is exactly the law of what as many people, drawn and asked one by one, would send.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Ids
from blendp.engines import Truth
from blendp.errors import ParameterError, require_count, require_number
from blendp.headlist import HeadList
from blendp.headlist.head_list import Label, Record
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import HeldRecords, ShareSums
from blendp.methods import GroupSizes, Parameters
from blendp.methods.people import counts_of, sums_of_holdings
from blendp.randomness import Random, SimulationRandom
from blendp.reports import ListScheme, ReportSums


class KnownRecords(Protocol):
    """Records whose truth is known, such as those of a log."""

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""

    @property
    def distinct_records(self) -> int:
        """How many different records there are."""

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""

    def truth(self) -> Truth:
        """The probability of every record; ids ascend from query to query."""


class _SortedTruth(Truth):
    """The truth, whose records are put in order once."""

    @cached_property
    def _order(self) -> Ids:
        return super().head(len(self.record))

    def head(self, size: int) -> Ids:
        """The ids of the ``size`` most frequent records, most frequent first and ties in order of their ids."""
        require_count("size", size, min_value=0, remedy="Ask for a head of some records.")
        return self._order[:size]


@dataclass(frozen=True, eq=False)
class RecordLaw:
    """The law of one record of one person of a log; it keeps the log only for its texts.

    It remembers the texts that were asked for, and locates lists of these without asking the log: experiments ask for
    the same few hundred records again and again.
    """

    log: KnownRecords
    _texts: dict[int, Record] = field(default_factory=dict, init=False, repr=False)
    _ids: dict[Label, int] = field(default_factory=dict, init=False, repr=False)
    _of_query: dict[str, int] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def truth(self) -> Truth:
        """The probability of every record."""
        truth = self.log.truth()
        if np.any(np.diff(truth.query_id) < 0):
            raise ParameterError("log", type(self.log).__name__, "numbered query by query", "Sort records by query.")
        return _SortedTruth(truth.record, truth.query_id, truth.query)

    @cached_property
    def _steps(self) -> NDArray[np.float64]:
        return np.cumsum(self.truth.record)

    def draw(self, people: int, random: SimulationRandom) -> Ids:
        """One record of each of so many people, ascending; -1 for people without any."""
        levels = np.sort(random.generator.random(people))
        ids = np.searchsorted(self._steps, levels, side="right").astype(np.int64)
        ids[ids >= len(self._steps)] = -1
        return ids

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""
        asked = ids.tolist()
        unknown = [i for i in asked if i not in self._texts]
        for i, text in zip(unknown, self.log.texts(np.array(unknown, dtype=np.int64)), strict=True):
            self._texts[i], self._ids[text], self._of_query[text[0]] = text, i, i
        return [self._texts[i] for i in asked]

    def queries(self, ids: Ids) -> Ids:
        """The query of each of these records; -1 for none."""
        return np.append(self.truth.query_id, -1)[ids]

    def query_texts(self, ids: Ids) -> list[str]:
        """What these queries say: as the first record of each does."""
        return [query for query, _ in self.texts(np.searchsorted(self.truth.query_id, ids))]

    def locate(self, head_list: HeadList) -> Ids:
        """The cell of every record, and last that of no record, for a list of records that :meth:`texts` has named."""
        located = np.full(self.log.distinct_records + 1, head_list.cells - 1, dtype=np.int64)
        try:
            listed, of_query = self._listed(head_list)
        except KeyError as error:
            raise ParameterError(
                "head_list", error.args[0], "made of records of this law", "Make it from what texts() says."
            ) from None
        queries = self.truth.query_id[of_query]
        starts, stops = (np.searchsorted(self.truth.query_id, queries, side=side) for side in ("left", "right"))
        rest = head_list.first_cell + head_list.cells_per_query - 1
        for start, stop, cell in zip(starts, stops, rest, strict=False):
            located[start:stop] = cell
        located[listed] = np.setdiff1d(head_list.record_cells, head_list.bare_cells)
        return located

    def _listed(self, head_list: HeadList) -> tuple[Ids, Ids]:
        """The ids of the listed records, those without a URL in a two-level list left out, and one of each query."""
        labels, ids = head_list.labels, self._ids
        listed = [ids[labels[cell]] for cell in np.setdiff1d(head_list.record_cells, head_list.bare_cells)]
        of_query = [self._of_query[entry.query] for entry in head_list.entries]
        return np.array(listed, dtype=np.int64), np.array(of_query, dtype=np.int64)

    def cells(self, head_list: HeadList) -> NDArray[np.float64]:
        """The probability of every cell of a list."""
        located = self.locate(head_list)
        p = np.bincount(located[:-1], weights=self.truth.record, minlength=head_list.cells).astype(np.float64)
        p[-1] = max(0.0, 1 - p[:-1].sum())
        return p


@dataclass(frozen=True, eq=False)
class DrawnPeople:
    """Opt-in people drawn from a law, and clients known by their numbers only (see :class:`~blendp.methods.People`)."""

    law: RecordLaw
    sizes: GroupSizes
    list_ids: Ids = field(repr=False)
    estimate_ids: Ids = field(repr=False)

    @classmethod
    def draw(
        cls, law: RecordLaw, users: int, opt_in: float, parameters: Parameters, random: SimulationRandom
    ) -> DrawnPeople:
        """As many people as said, of whom a share opts in, with one record each."""
        require_count("users", users, min_value=1, remedy="Ask for at least one person.")
        require_number(
            "opt_in", opt_in, above=0, below=1, legal="above 0 and below 1", remedy="0.05 means that 5 % opt in."
        )
        if parameters.max_opt_in_records != 1 or parameters.client_records != 1:
            raise ParameterError(
                "opt_in_records",
                parameters.opt_in_records,
                "1 for people drawn from a law",
                "Several records of one person need a log: use evaluate.",
            )
        opting = round(opt_in * users)
        listing = round(parameters.list_makers * opting)
        sizes = GroupSizes(listing, opting - listing, users - opting)
        return cls(law, sizes, law.draw(listing, random), law.draw(opting - listing, random))

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.law.log.levels

    @property
    def distinct_records(self) -> int:
        """Record ids are below this."""
        return self.law.log.distinct_records

    def list_records(self) -> Ids:
        """The records of the opt-in users who make the list; -1 for none."""
        return self.list_ids[:, None]

    def holdings(self) -> Holdings:
        """The one record of each of the opt-in users who make the list."""
        return Holdings.one_each(self.list_ids)

    def locate(self, head_list: HeadList) -> Ids:
        """The cell of every record, and last that of no record."""
        return self.law.locate(head_list)

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""
        return self.law.texts(ids)

    def list_counts(self) -> Iterable[Ids]:
        """How often each record occurs among those of the opt-in users who make the list."""
        return counts_of(self.list_records(), self.distinct_records)

    def query_counts(self) -> Iterable[Ids]:
        """The same of their queries."""
        return counts_of(self.law.queries(self.list_records()), len(self.law.truth.query))

    def query_texts(self, ids: Ids) -> list[str]:
        """What these queries say."""
        return self.law.query_texts(ids)

    def share_sums(self, holdings: HeldRecords, head_list: HeadList) -> ShareSums:
        """The shares of what people hold in the cells of a list, added up."""
        return sums_of_holdings(holdings, self.locate(head_list), head_list)

    def list_cells(self, head_list: HeadList) -> Ids:
        """The cells of the opt-in users who make the list."""
        return self.locate(head_list)[self.list_records()]

    def estimate_cells(self, head_list: HeadList) -> Ids:
        """The cells of the other opt-in users."""
        return self.locate(head_list)[self.estimate_ids[:, None]]

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports: the law of their sums."""
        return scheme.draw_from_law(self.sizes.client, self.law.cells(scheme.head_list), generator_of(random))


def generator_of(random: Random) -> np.random.Generator:
    """The stream of an experiment; a release has none."""
    if not isinstance(random, SimulationRandom):
        raise TypeError("people drawn from a law are for experiments")
    return random.generator
