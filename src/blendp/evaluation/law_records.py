"""The records of a synthetic law, as many as an experiment speaks of, numbered without making their texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from blendp.arrays import Array, Ids
from blendp.engines import Truth
from blendp.headlist.head_list import Record
from blendp.logs.synthetic import Law
from blendp.logs.synthetic.text import vocabulary

HEAD_QUERIES = 20_000
"""The first so many queries are always among them: the true head of any list that is worth comparing."""


@dataclass(frozen=True, eq=False)
class LawRecords:
    """All URLs of some queries; ids ascend by the rank of the query, then by the place of the URL.

    What the law holds besides has no id: its probability is that of people without a record, whose cell is <*,*>.
    """

    law: Law
    ranks: Ids = field(repr=False)
    """The queries, ascending, each once."""

    @classmethod
    def of_ranks(cls, law: Law, ranks: Ids) -> LawRecords:
        """The records of these queries, and of the head."""
        head = np.arange(1, min(HEAD_QUERIES, law.queries) + 1)
        return cls(law, np.concatenate((head, np.unique(ranks[ranks > head[-1]]))))

    @property
    def levels(self) -> int:
        """Records are <query, URL>."""
        return 2

    @property
    def distinct_records(self) -> int:
        """How many different records there are."""
        return int(self._first[-1])

    @cached_property
    def _shares(self) -> Array:
        return self.law.url_shares[self.law.profile_of(self.ranks)]

    @cached_property
    def _first(self) -> Ids:
        """The first id of every query, and last that of none."""
        urls = np.count_nonzero(self._shares, axis=1)
        return np.concatenate(([0], np.cumsum(urls)))

    def ids(self, ranks: Ids, places: Ids) -> Ids:
        """The ids of these records."""
        return self._first[np.searchsorted(self.ranks, ranks)] + places

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""
        row = np.searchsorted(self._first, ids, side="right") - 1
        ranks, places = self.ranks[row], ids - self._first[row]
        texts = vocabulary(self.law.name)
        return list(zip(texts.queries(ranks).to_pylist(), texts.urls(ranks, places).to_pylist(), strict=True))

    def truth(self) -> Truth:
        """The law's own probability of every record."""
        p = self.law.query_probabilities[self.ranks - 1]
        cells = p[:, None] * self._shares
        real = self._shares > 0
        query_id = np.repeat(np.arange(len(p)), np.count_nonzero(real, axis=1))
        return Truth(cells[real], query_id, p)
