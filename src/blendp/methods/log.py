"""What a method asks of a log, and who in it opts in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import HeldRecords, ShareSums

OptIn = float | NDArray[np.bool_] | None
"""The share of users who opt in, a mark for every user, or None for the log's own marks."""


class DrawnContributions(Protocol):
    """What every person contributes, and the texts behind it."""

    @property
    def users(self) -> int:
        """How many people there are."""

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""

    @property
    def opt_in(self) -> NDArray[np.bool_] | None:
        """Who opts in, if the log says so."""

    @property
    def distinct_records(self) -> int:
        """Record ids are below this; asking for holdings may raise it."""

    @property
    def shuffled(self) -> bool:
        """Whether people are in random order, which their ids and the key alone decide."""

    @property
    def records(self) -> NDArray[np.int64]:
        """A row of record ids for every person, in random order; -1 for people without any."""

    def holdings(self, who: NDArray[np.int64], key: int) -> Holdings:
        """Every different record of these people, given by their rows in ``records``; the key draws which are kept."""

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say."""

    def queries(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The query of each of these records, -1 for none: the least number among them of a record with that query."""

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record, and last that of no record."""

    def cells(self, head_list: HeadList, ids: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The cells of these records; or of all ``records``, with less work than to number and locate them."""


class Log(Protocol):
    """A log that an engine answers for, without showing rows."""

    def draw(
        self, per_user: int, key: int, *, reproducible: bool = False, holdings: bool = True, share: float | None = None
    ) -> DrawnContributions:
        """So many records of every person, drawn fairly by the key; reproducibly, by nothing but their content.

        Without ``holdings`` nobody's holdings can be asked for later. A ``share`` of the people for whose holdings will
        be asked may put them in random order, the first of whom are asked at less cost.
        """


class CountedGroups(Protocol):
    """The groups of a log whose people stay where they are: what is asked comes back in numbers."""

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""

    def record_counts(self, per_user: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often records occur among so many of each list maker: every count, ascending, and how many have it.

        It puts records in order: by their count, then in an order that their texts alone decide.
        """

    def query_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same of the queries of the records of the latest :meth:`record_counts`, in an order of their own."""

    def holdings(self, key: int) -> HeldRecords:
        """Every different record of the list makers, of which the key draws which are kept.

        Its totals put records in order as :meth:`record_counts` does.
        """

    def texts(self, positions: NDArray[np.int64]) -> list[Record]:
        """What the records say that have these positions in the order of the latest counts or totals."""

    def query_texts(self, positions: NDArray[np.int64]) -> list[str]:
        """What the queries say that have these positions in the order of the latest counts of queries."""

    def share_sums(self, head_list: HeadList) -> ShareSums:
        """The shares of the latest holdings in the cells of a list, added up."""

    def cells(self, group: str, head_list: HeadList, per_user: int) -> NDArray[np.int64]:
        """How many of so many records of each person of "head_list", "estimate" or "client" fall into each cell."""

    def client_cells(self, head_list: HeadList, per_user: int) -> Iterator[NDArray[np.int64]]:
        """The cells of so many records of each client, a row for each, in blocks and in any order."""


class BoundedContributions(Protocol):
    """What every person contributes, where it was drawn; people are in random order, as ids and key decide."""

    @property
    def users(self) -> int:
        """How many people there are."""

    @property
    def marked(self) -> int | None:
        """How many of them opt in, if the log says so."""

    def grouped(self, opting: int | None, listing: int) -> CountedGroups:
        """The groups: the first so many opt in, or who is marked; the first ``listing`` of these make the list."""


@runtime_checkable
class CountingLog(Protocol):
    """A log whose engine keeps what people contribute, and counts."""

    def bound(self, per_user: int, key: int, *, reproducible: bool = False) -> BoundedContributions:
        """So many records of every person, drawn fairly by the key; reproducibly, by nothing but their content."""


def is_log(log: object) -> bool:
    """Whether this can be drawn from."""
    return hasattr(log, "draw") or isinstance(log, CountingLog)


def require_log(log: object) -> None:
    """Raise unless this can be drawn from."""
    if not is_log(log):
        raise ParameterError(
            "log", type(log).__name__, "a log", "Open one with blendp.open_log, or blendp.log_of_table."
        )


def who_opts_in(marks: NDArray[np.bool_] | None, opt_in: OptIn) -> float | NDArray[np.bool_]:
    """What was asked for, or the log's own marks."""
    require_who_opts_in(marks is not None, opt_in)
    chosen = marks if opt_in is None else opt_in
    assert chosen is not None
    return chosen


def require_who_opts_in(marked: bool, opt_in: OptIn) -> None:
    """Raise unless somebody says who opts in, once: nothing overrides a log's own marks, which are what people said."""
    if marked and opt_in is not None:
        raise ParameterError(
            "opt_in", opt_in, "left out where the log has an opt-in column", "The column says who opts in."
        )
    if not marked and opt_in is None:
        raise ParameterError(
            "opt_in", None, "a share, or marks", "Say who opts in: opt_in=0.05, or name a column when reading the log."
        )
