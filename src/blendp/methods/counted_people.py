"""The people of a log whose engine keeps them, and counts: what reaches this process does not grow with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import describe_marks, repeated_in_blocks
from blendp.curator import CellCounts
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms.filtered_union import HeldRecords, ShareSums
from blendp.methods.groups import GroupSizes, require_share
from blendp.methods.log import BoundedContributions, CountedGroups, CountingLog, Log, OptIn, require_who_opts_in
from blendp.methods.parameters import Parameters
from blendp.methods.people import LogPeople, People
from blendp.randomness import Random

if TYPE_CHECKING:
    from blendp.reports import ListScheme, ReportSums


def people_of(
    log: Log | CountingLog, parameters: Parameters, opt_in: OptIn, random: Random, *, reproducible: bool = False
) -> People:
    """The people of a log in their groups, where the log's engine keeps them."""
    if isinstance(log, CountingLog):
        return CountedPeople.of(log, parameters, opt_in, random, reproducible=reproducible)
    return LogPeople.of(log, parameters, opt_in, random, reproducible=reproducible)


@dataclass(frozen=True, eq=False)
class CountedPeople:
    """People who are counted where they are (see :class:`~blendp.methods.People`)."""

    groups: CountedGroups
    sizes: GroupSizes
    parameters: Parameters
    key: int
    """Which records of people with very many may weigh in the list."""

    @classmethod
    def of(
        cls, log: CountingLog, parameters: Parameters, opt_in: OptIn, random: Random, *, reproducible: bool = False
    ) -> Self:
        """Draw each person's records, and the groups, as :meth:`LogPeople.of` does."""
        if isinstance(opt_in, int | float):
            require_share(opt_in)
        per_user = max(parameters.max_opt_in_records, parameters.client_records)
        bounded = log.bound(per_user, random.key(), reproducible=reproducible)
        opting = _how_many_opt_in(bounded, opt_in)
        chosen = bounded.marked if opting is None else opting
        assert chosen is not None
        listing = round(parameters.list_makers * chosen)
        sizes = GroupSizes(listing, chosen - listing, bounded.users - chosen)
        key = random.key() if parameters.many_records is not False else 0
        return cls(bounded.grouped(opting, listing), sizes, parameters, key)

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.groups.levels

    def list_counts(self) -> Iterable[NDArray[np.int64]]:
        """How often each record occurs among those of the opt-in users who make the list, ascending."""
        return repeated_in_blocks(*self.groups.record_counts(self.parameters.max_opt_in_records))

    def query_counts(self) -> Iterable[NDArray[np.int64]]:
        """The same of the queries of these records."""
        return repeated_in_blocks(*self.groups.query_counts())

    def holdings(self) -> HeldRecords:
        """Every different record of the opt-in users who make the list."""
        return self.groups.holdings(self.key)

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say, by their numbers in the latest counts or holdings."""
        return self.groups.texts(ids)

    def query_texts(self, ids: NDArray[np.int64]) -> list[str]:
        """What these queries say, by their numbers in the latest counts of queries."""
        return self.groups.query_texts(ids)

    def share_sums(self, holdings: HeldRecords, head_list: HeadList) -> ShareSums:  # noqa: ARG002
        """The shares of what people hold in the cells of a list, added up."""
        return self.groups.share_sums(head_list)

    def list_cells(self, head_list: HeadList) -> CellCounts:
        """How many of the list makers' records fall into each cell."""
        return self._cells("head_list", self.sizes.head_list, head_list)

    def estimate_cells(self, head_list: HeadList) -> CellCounts:
        """How many of the other opt-in users' records fall into each cell."""
        return self._cells("estimate", self.sizes.estimate, head_list)

    def _cells(self, group: str, users: int, head_list: HeadList) -> CellCounts:
        per_user = self.parameters.max_opt_in_records
        return CellCounts(self.groups.cells(group, head_list, per_user), users, per_user)

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports, each randomised by itself, block after block.

        Which client holds a cell has no part in what is sent, so clients are put in the order of their cells.
        """
        per_user = scheme.records_per_user
        if per_user == 1:
            counts = self.groups.cells("client", scheme.head_list, 1)
            blocks = (cells[:, None] for cells in repeated_in_blocks(np.arange(len(counts)), counts))
        else:
            blocks = (rows for rows in self.groups.client_cells(scheme.head_list, per_user))
        sums = scheme.draw(np.empty((0, per_user), dtype=np.int64), random)
        for cells in blocks:
            sums = sums.add(scheme.draw(cells, random))
        return sums


def _how_many_opt_in(bounded: BoundedContributions, opt_in: OptIn) -> int | None:
    """How many people opt in, the first in their random order; None where the log says who does."""
    require_who_opts_in(bounded.marked is not None, opt_in)
    if opt_in is None:
        return None
    if isinstance(opt_in, np.ndarray):
        if opt_in.dtype != np.bool_ or opt_in.shape != (bounded.users,) or len(np.unique(opt_in)) > 1:
            raise ParameterError(
                "opt_in",
                describe_marks(opt_in),
                f"a share, or {bounded.users} times the same, where people stay on a cluster",
                "Name a column of marks when reading the log.",
            )
        return int(opt_in.sum())
    require_share(opt_in)
    return round(opt_in * bounded.users)
