"""Real people with all their records, drawn with replacement from a file.

A file has a line for each person, the pages they looked at (the Kosarak log of the FIMI repository is one), or is a
CSV of rows with the columns user, query and perhaps url. It may be compressed (.gz).

A record of fewer than three people becomes another one in every copy of its people, and so does a query: else what is
rare would become popular by copying alone. A rare record of a common query stays with that query.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from blendp.arrays import Array, Bools, Ids
from blendp.engines import Truth
from blendp.evaluation.drawn_people import RecordLaw
from blendp.evaluation.holding_people import OptInHoldings, groups, holdings_of
from blendp.headlist.head_list import Record
from blendp.randomness import SimulationRandom

FEW = 3
"""With fewer people a record is rare."""


@dataclass(frozen=True, eq=False)
class CopiedRecords:
    """Records by number, those of one query side by side: common ones, and rare ones that one copy of a person has.

    where:
        names        are what the common records say, and ``queries`` what the common queries say,
        name         is each record's place in ``names``, -1 for a rare one,
        query        is its query, a place in ``queries``, or beyond them for a query that one copy alone has,
        probability  is its share of the records of a uniformly drawn person.
    """

    levels: int
    names: tuple[Record, ...] = field(repr=False)
    queries: tuple[str, ...] = field(repr=False)
    name: Ids = field(repr=False)
    query: Ids = field(repr=False)
    probability: Array = field(repr=False)

    @property
    def distinct_records(self) -> int:
        """How many there are."""
        return len(self.name)

    def texts(self, ids: Ids) -> list[Record]:
        """What the file says, and numbers for what one copy of a person alone has."""
        return [self._text(i) for i in ids.tolist()]

    def _text(self, i: int) -> Record:
        if self.name[i] >= 0:
            return self.names[self.name[i]]
        query = int(self.query[i])
        text = self.queries[query] if query < len(self.queries) else f"rare {query}"
        return text, None if self.levels == 1 else f"rare {i}"

    def truth(self) -> Truth:
        """The share of a record among those of a uniformly drawn person; a rare query has none to speak of."""
        return Truth(self.probability, self.query, np.bincount(self.query, self.probability).astype(np.float64))


@dataclass(frozen=True, eq=False)
class RealPeople:
    """The people of a file: each one's records in a row, one after the other; those of one query are side by side."""

    start: Ids = field(repr=False)
    record: Ids = field(repr=False)
    names: tuple[Record, ...] = field(repr=False)
    levels: int

    @classmethod
    def read(cls, path: Path) -> RealPeople:
        """From a file with a line for each person, pages apart by spaces, or from a CSV; empty lines are nobody."""
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if data.startswith(b"user,query"):
            return cls._of_rows(csv.read_csv(pa.BufferReader(data)))
        lines = [line for line in map(str.split, data.decode("ascii").splitlines()) if line]
        pages, page = np.unique(np.array([name for line in lines for name in line]), return_inverse=True)
        names = tuple((name, None) for name in pages.tolist())
        return cls(_starts([len(line) for line in lines]), page.astype(np.int64), names, 1)

    @classmethod
    def _of_rows(cls, rows: pa.Table) -> RealPeople:
        user, query, *url = (
            rows[name].cast(pa.string()).combine_chunks().dictionary_encode()
            for name in ("user", "query", "url")
            if name in rows.column_names
        )
        queries, urls = query.dictionary.to_pylist(), url[0].dictionary.to_pylist() if url else [None]
        of_url = url[0].indices.to_numpy() if url else 0
        code = query.indices.to_numpy().astype(np.int64) * len(urls) + of_url
        owner = user.indices.to_numpy()
        distinct, record = np.unique(code[np.argsort(owner, kind="stable")], return_inverse=True)
        names = tuple((queries[i // len(urls)], urls[i % len(urls)]) for i in distinct.tolist())
        return cls(_starts(np.bincount(owner).tolist()), record.astype(np.int64), names, 2 if url else 1)

    @property
    def counts(self) -> Ids:
        """How many records each person has."""
        return np.diff(self.start)

    @cached_property
    def _query(self) -> Ids:
        """The query of every record, ascending."""
        changes = [a[0] != b[0] for a, b in zip(self.names[1:], self.names, strict=False)]
        return np.concatenate(([0], np.cumsum(changes))).astype(np.int64)

    def _common(self, value: Ids) -> Bools:
        """Which of the values, of which each row has one, are had by several people."""
        owner, many = np.repeat(np.arange(len(self.counts)), self.counts), int(value.max()) + 1
        pairs = np.unique(owner * many + value)
        return np.bincount(pairs % many, minlength=many) >= FEW

    @cached_property
    def _common_records(self) -> Bools:
        return self._common(self.record)

    @cached_property
    def _common_queries(self) -> Bools:
        return self._common(self._query[self.record])

    @cached_property
    def _probability(self) -> Array:
        shares = np.repeat(1 / self.counts, self.counts) / len(self.counts)
        return np.bincount(self.record, weights=shares, minlength=len(self.names)).astype(np.float64)

    def draw(self, people: int, opt_in: float, random: SimulationRandom) -> OptInHoldings:
        """As many people as said, drawn with replacement, of whom a share opts in."""
        opting, clients = groups(people, opt_in)
        generator = random.generator
        who = generator.integers(len(self.counts), size=opting)
        each = self.counts[who]
        owner = np.repeat(np.arange(opting), each)
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(each) - each, each)
        own = self.record[np.repeat(self.start[who], each) + inside]
        records, ids = self._copied(owner, own)
        return OptInHoldings(RecordLaw(records), holdings_of(owner, ids, opting, generator), clients)

    def _copied(self, owner: Ids, record: Ids) -> tuple[CopiedRecords, Ids]:
        """The records of copies of people, and the number of each row's.

        The rare records of a common query have their probability together: it is spread over those that somebody
        holds and one that nobody does.
        """
        known, of_query, query_of = self._common_records, self._common_queries, self._query
        common, rest = np.flatnonzero(known), np.bincount(query_of, weights=np.where(known, 0.0, self._probability))
        unheld = np.flatnonzero(of_query & (rest > 0))
        is_rare = ~known[record]
        copies, rare = np.unique((owner * len(known) + record)[is_rare], return_inverse=True)
        query = query_of[copies % len(known)]
        stays = of_query[query]
        _, alone = np.unique(copies // len(known) * len(of_query) + query, return_inverse=True)
        spread = rest / (1 + np.bincount(query, minlength=len(rest)))
        parts = (
            (query_of[common], unheld, np.where(stays, query, len(of_query) + alone)),
            (self._probability[common], spread[unheld], np.where(stays, spread[query], 0.0)),
            (np.arange(len(common)), np.full(len(unheld) + len(copies), -1)),
        )
        queries, probability, name = map(np.concatenate, parts)
        order = np.argsort(queries, kind="stable")
        number = (np.cumsum(known) - 1)[record]
        number[is_rare] = len(common) + len(unheld) + rare
        numbered = np.unique(queries[order], return_inverse=True)[1].astype(np.int64)
        names = tuple(self.names[i] for i in common.tolist())
        says = tuple(self._says(np.flatnonzero(of_query)))
        records = CopiedRecords(self.levels, names, says, name[order], numbered, probability[order])
        return records, np.argsort(order)[number]

    def _says(self, queries: Ids) -> Iterable[str]:
        """What these queries say."""
        return (self.names[i][0] for i in np.searchsorted(self._query, queries).tolist())


def _starts(counts: list[int]) -> Ids:
    """Where each one's rows start, and their number."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
