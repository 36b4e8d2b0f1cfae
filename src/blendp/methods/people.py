"""The people of a log as a method sees them: three groups, each asked one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blendp.curator import CellCounts
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import HeldRecords, ShareSums, share_sums
from blendp.methods.groups import Groups, GroupSizes, draw_groups, require_share
from blendp.methods.log import DrawnContributions, Log, OptIn, require_log, who_opts_in
from blendp.methods.parameters import Parameters
from blendp.randomness import Random

if TYPE_CHECKING:
    from blendp.reports import ListScheme, ReportSums

Cells = NDArray[np.int64]


class People(Protocol):
    """What a method asks of people: exact numbers, to which it adds noise, and the clients' reports."""

    @property
    def sizes(self) -> GroupSizes:
        """How many are in each group."""

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""

    def list_counts(self) -> Iterable[NDArray[np.int64]]:
        """How often each record occurs among those of the opt-in users who make the list, in blocks.

        Records are numbered as they come, from 0 on.
        """

    def query_counts(self) -> Iterable[NDArray[np.int64]]:
        """The same of the queries of these records, once they are counted; queries have numbers of their own."""

    def holdings(self) -> HeldRecords:
        """Every different record of the opt-in users who make the list."""

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say, by their numbers in the latest counts or holdings."""

    def query_texts(self, ids: NDArray[np.int64]) -> list[str]:
        """What these queries say, by their numbers in the latest counts of queries."""

    def share_sums(self, holdings: HeldRecords, head_list: HeadList) -> ShareSums:
        """The shares of what people hold in the cells of a list, added up."""

    def list_cells(self, head_list: HeadList) -> Cells | CellCounts:
        """The cells of the opt-in users who make the list: a row for each of them, or how many there are of each."""

    def estimate_cells(self, head_list: HeadList) -> Cells | CellCounts:
        """The cells of the other opt-in users."""

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports, added up."""


@dataclass(frozen=True, eq=False)
class LogPeople:
    """The people of a log, asked one by one."""

    drawn: DrawnContributions
    groups: Groups
    parameters: Parameters
    key: int = 0
    """Which records of people with very many may weigh in the list."""

    @classmethod
    def of(cls, log: Log, parameters: Parameters, opt_in: OptIn, random: Random, *, reproducible: bool = False) -> Self:
        """Draw each person's records, and the groups.

        Nobody is in two groups, so as many records are drawn of everybody as the group with the most takes, in random
        order; a group with fewer takes the first. Where many records of opt-in people count, they are asked for later.
        """
        require_log(log)
        if isinstance(opt_in, int | float):
            require_share(opt_in)
        per_user = max(parameters.max_opt_in_records, parameters.client_records)
        many = parameters.many_records is not False
        share = opt_in if many and isinstance(opt_in, float) and 0 < opt_in < 1 else None
        drawn = log.draw(per_user, random.key(), reproducible=reproducible, holdings=many, share=share)
        chosen = who_opts_in(drawn.opt_in, opt_in)
        order = None if drawn.shuffled else random
        groups = draw_groups(drawn.users, chosen, parameters.list_makers, order)
        return cls(drawn, groups, parameters, random.key() if many else 0)

    @property
    def sizes(self) -> GroupSizes:
        """How many are in each group."""
        return self.groups.sizes

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.drawn.levels

    @property
    def distinct_records(self) -> int:
        """Record ids are below this."""
        return self.drawn.distinct_records

    def list_records(self) -> NDArray[np.int64]:
        """The records of the opt-in users who make the list; -1 for none."""
        return self.drawn.records[self.groups.head_list, : self.parameters.max_opt_in_records]

    def list_counts(self) -> Iterable[NDArray[np.int64]]:
        """How often each record occurs among those of the opt-in users who make the list, in one block."""
        return counts_of(self.list_records(), self.distinct_records)

    def query_counts(self) -> Iterable[NDArray[np.int64]]:
        """The same of their queries: a query has the number of one of its records."""
        return counts_of(self.drawn.queries(self.list_records()), self.distinct_records)

    def holdings(self) -> Holdings:
        """Every different record of the opt-in users who make the list; it may raise ``distinct_records``."""
        return self.drawn.holdings(self.groups.head_list, self.key)

    def share_sums(self, holdings: HeldRecords, head_list: HeadList) -> ShareSums:
        """The shares of what people hold in the cells of a list, added up."""
        assert isinstance(holdings, Holdings)
        return share_sums(holdings, self.drawn.cells(head_list, holdings.record), head_list.query_of_cell)

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say."""
        return self.drawn.texts(ids)

    def query_texts(self, ids: NDArray[np.int64]) -> list[str]:
        """What these queries say."""
        return [query for query, _ in self.texts(ids)]

    def locate(self, head_list: HeadList) -> Cells:
        """The cell of every record id, and last that of <*,*>."""
        return self.drawn.locate(head_list)

    def list_cells(self, head_list: HeadList) -> Cells:
        """The cells of the opt-in users who make the list."""
        return self._cells(head_list, self.groups.head_list)

    def estimate_cells(self, head_list: HeadList) -> Cells:
        """The cells of the other opt-in users."""
        return self._cells(head_list, self.groups.estimate)

    def _cells(self, head_list: HeadList, who: NDArray[np.int64]) -> Cells:
        return self.drawn.cells(head_list)[who, : self.parameters.max_opt_in_records]

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports, added up."""
        cells = self.drawn.cells(scheme.head_list)[self.groups.client, : scheme.records_per_user]
        return scheme.draw(cells, random)


def counts_of(records: NDArray[np.int64], distinct: int) -> Iterable[NDArray[np.int64]]:
    """How often each of so many records occurs in rows of numbers, -1 for none, in one block."""
    yield np.bincount(records[records >= 0], minlength=distinct).astype(np.int64)


def sums_of_holdings(holdings: HeldRecords, located: Cells, head_list: HeadList) -> ShareSums:
    """The shares of holdings in the cells of a list, by the cell of every record."""
    assert isinstance(holdings, Holdings)
    return share_sums(holdings, located[holdings.record], head_list.query_of_cell)


def in_blocks(
    blocks: Iterable[NDArray[np.int64]], draw: Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], ...]]
) -> tuple[NDArray[np.int64], ...]:
    """What is drawn from each block of counts, together; the first of it are numbers of records within the block.

    Every record has noise of its own, so it is the same to draw from all at once.
    """
    start, parts = 0, []
    for counts in blocks:
        within, *rest = draw(counts)
        parts.append((start + within, *rest))
        start += len(counts)
    if not parts:
        return draw(np.empty(0, dtype=np.int64))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
