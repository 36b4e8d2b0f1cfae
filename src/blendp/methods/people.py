"""The people of a log as a method sees them: three groups, each asked one thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import Holdings
from blendp.methods.groups import Groups, GroupSizes, draw_groups
from blendp.methods.log import DrawnContributions, Log, OptIn, require_log, who_opts_in
from blendp.methods.parameters import Parameters
from blendp.randomness import Random
from blendp.reports import ListScheme, ReportSums

Cells = NDArray[np.int64]


class People(Protocol):
    """A row of record ids or cells for every person of a group, a column for every record that counts."""

    @property
    def sizes(self) -> GroupSizes:
        """How many are in each group."""

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""

    @property
    def distinct_records(self) -> int:
        """Record ids are below this; asking for holdings may raise it."""

    def list_records(self) -> NDArray[np.int64]:
        """The records of the opt-in users who make the list; -1 for none."""

    def holdings(self) -> Holdings:
        """Every different record of the opt-in users who make the list, and how often they have it."""

    def record_counts(self) -> NDArray[np.int64]:
        """How many records each of the opt-in users has who make the list, equal ones counted each time."""

    def locate(self, head_list: HeadList) -> Cells:
        """The cell of every record, and last that of no record."""

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say."""

    def list_cells(self, head_list: HeadList) -> Cells:
        """The cells of the opt-in users who make the list."""

    def estimate_cells(self, head_list: HeadList) -> Cells:
        """The cells of the other opt-in users."""

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports, added up."""


@dataclass(frozen=True, eq=False)
class LogPeople:
    """The people of a log, asked one by one."""

    drawn: DrawnContributions
    groups: Groups
    parameters: Parameters
    key: int | None = field(default=None, repr=False)
    """What draws which different records of a person are kept, if they have too many; None where none is asked for."""

    @classmethod
    def of(cls, log: Log, parameters: Parameters, opt_in: OptIn, random: Random, *, reproducible: bool = False) -> Self:
        """Draw each person's records, and the groups.

        Nobody is in two groups, so as many records are drawn of everybody as the group with the most takes, in random
        order; a group with fewer takes the first. Where the list is made of all that opt-in users hold, one is drawn of
        everybody, and :meth:`holdings` asks for the rest, of those few.
        """
        require_log(log)
        many = parameters.lists_different_records
        per_user = 1 if many else max(parameters.opt_in_records, parameters.client_records)
        drawn = log.draw(per_user, random.key(), reproducible=reproducible, holdings=many)
        chosen = who_opts_in(drawn.opt_in, opt_in)
        groups = draw_groups(len(drawn.records), chosen, parameters.list_makers, random)
        return cls(drawn, groups, parameters, random.key() if many else None)

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
        return self._records(self.groups.head_list)

    def holdings(self) -> Holdings:
        """Every different record of the opt-in users who make the list, and how often they have it."""
        if self.key is None:
            raise ParameterError(
                "opt_in_records", self.parameters.opt_in_records, "more than 1", "One record of each was asked for."
            )
        return self.drawn.holdings(self.groups.head_list, self.key)

    def record_counts(self) -> NDArray[np.int64]:
        """How many records each of the opt-in users has who make the list, equal ones counted each time."""
        return self.drawn.record_counts[self.groups.head_list]

    def locate(self, head_list: HeadList) -> Cells:
        """The cell of every record, and last that of no record."""
        return self.drawn.locate(head_list)

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say."""
        return self.drawn.texts(ids)

    def list_cells(self, head_list: HeadList) -> Cells:
        """The cells of the opt-in users who make the list."""
        return self.locate(head_list)[self._records(self.groups.head_list)]

    def estimate_cells(self, head_list: HeadList) -> Cells:
        """The cells of the other opt-in users."""
        return self.locate(head_list)[self._records(self.groups.estimate)]

    def _records(self, who: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.drawn.records[who, : self.parameters.opt_in_records]

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports, added up."""
        records = self.drawn.records[self.groups.client, : scheme.records_per_user]
        return scheme.draw(self.locate(scheme.head_list)[records], random)
