"""What :class:`blendp.methods.log.CountingLog` promises, worked out from what the embedded engine draws, in the open.

A run on it must be, to the last digit, the run on a cluster, for the same seed and the same noise.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from blendp.arrays import Ids
from blendp.engines import Contributions, StagedLog
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import ShareSums, share_sums


@dataclass(eq=False)
class OrderedHoldings:
    """Holdings whose records come by their totals, then by the MD5 of their texts."""

    holdings: Holdings
    drawn: Contributions

    @property
    def people(self) -> int:
        return self.holdings.people

    def different_up_to(self, bound: int) -> int:
        return self.holdings.different_up_to(bound)

    @property
    def order(self) -> Ids:
        (totals,) = self.holdings.filter_totals()
        return by_value(totals, self.drawn.texts(self.holdings.named(np.arange(len(totals)))))

    def filter_totals(self) -> Iterator[Ids]:
        (totals,) = self.holdings.filter_totals()
        yield totals[self.order]

    def list_totals(self, passing: Ids, emphasis: Ids) -> Ids:
        return self.holdings.list_totals(self.order[passing], emphasis)

    def named(self, positions: Ids) -> Ids:
        return positions


@dataclass(eq=False)
class ReferenceGroups:
    drawn: Contributions
    groups: dict[str, Ids]
    ids: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    taken: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    queries: list[str] = field(default_factory=list)
    ordered: OrderedHoldings | None = None

    @property
    def levels(self) -> int:
        return self.drawn.levels

    def record_counts(self, per_user: int) -> tuple[Ids, Ids]:
        records = self.drawn.records[self.groups["head_list"], :per_user]
        self.taken = records[records >= 0]
        ids, counts = np.unique(self.taken, return_counts=True)
        self.ids = ids[by_value(counts, self.drawn.texts(ids))]
        return np.unique(counts, return_counts=True)

    def query_counts(self) -> tuple[Ids, Ids]:
        times = Counter(query for query, _ in self.drawn.texts(self.taken))
        counts = np.array(list(times.values()), dtype=np.int64)
        names: list[Record] = [(query, None) for query in times]
        self.queries = [names[i][0] for i in by_value(counts, names)]
        return np.unique(counts, return_counts=True)

    def holdings(self, key: int) -> OrderedHoldings:
        self.ordered = OrderedHoldings(self.drawn.holdings(self.groups["head_list"], key), self.drawn)
        self.ids = self.ordered.holdings.named(self.ordered.order)
        return self.ordered

    def texts(self, positions: Ids) -> list[Record]:
        return self.drawn.texts(self.ids[positions])

    def query_texts(self, positions: Ids) -> list[str]:
        return [self.queries[position] for position in positions]

    def share_sums(self, head_list: HeadList) -> ShareSums:
        assert self.ordered is not None
        rows = self.ordered.holdings
        return share_sums(rows, self.drawn.locate(head_list)[rows.record], head_list.query_of_cell)

    def cells(self, group: str, head_list: HeadList, per_user: int) -> Ids:
        cells = self.drawn.locate(head_list)[self.drawn.records[self.groups[group], :per_user]]
        return np.bincount(cells.ravel(), minlength=head_list.cells)

    def client_cells(self, head_list: HeadList, per_user: int) -> Iterator[Ids]:
        cells = self.drawn.locate(head_list)[self.drawn.records[self.groups["client"], :per_user]]
        yield cells[np.lexsort(cells.T[::-1])]


@dataclass(eq=False)
class ReferenceContributions:
    drawn: Contributions

    @property
    def users(self) -> int:
        return self.drawn.users

    @property
    def marked(self) -> int | None:
        return None if self.drawn.opt_in is None else int(self.drawn.opt_in.sum())

    def grouped(self, opting: int | None, listing: int) -> ReferenceGroups:
        assert self.drawn.shuffled
        everybody = np.arange(self.users)
        if opting is None:
            assert self.drawn.opt_in is not None
            opting_in = everybody[self.drawn.opt_in]
        else:
            opting_in = everybody[:opting]
        client = np.setdiff1d(everybody, opting_in)
        groups = {"head_list": opting_in[:listing], "estimate": opting_in[listing:], "client": client}
        return ReferenceGroups(self.drawn, groups)


@dataclass(eq=False)
class ReferenceLog:
    log: StagedLog

    def bound(self, per_user: int, key: int, *, reproducible: bool = False) -> ReferenceContributions:
        assert reproducible
        return ReferenceContributions(self.log.draw(per_user, key, reproducible=True))


def by_value(values: Ids, texts: list[Record]) -> Ids:
    """The order by value, then by the MD5 of the text."""
    digests = [hashlib.md5(f"{query}\0{url or ''}".encode()).hexdigest() for query, url in texts]
    return np.array(sorted(range(len(texts)), key=lambda i: (values[i], digests[i])), dtype=np.int64)
