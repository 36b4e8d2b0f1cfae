"""The head list: queries, the URLs listed for each, and the wildcard that stands for everything else.

A *cell* is one thing a client can report. For a list with the queries ``q_1 < ... < q_{k-1}`` the cells are,
in this order,

    <q_1,u_1> ... <q_1,u_n> <q_1,*>   <q_2,u_1> ... <q_2,*>   ...   <*,*>

where:
    k    is the number of queries, the wildcard query included,
    k_q  is the number of cells of query q (its URLs and its wildcard URL); k_* = 1.

The wildcard is a position, never a string, so data that contains ``"*"`` cannot forge it. A query may be listed
without any URL, because enough people searched for it though each of its URLs is rare: then ``<q,*>`` is its only
cell, and that cell is a record of the list like others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from blendp.canonical import canonical_json, sha256
from blendp.errors import DocumentError, ParameterError

FORMAT = "blendp/head-list/1"
_REMEDY = "Fetch the list again."

Record = tuple[str, str | None]
"""A query and its URL; the URL is None in a one-level log, and where a query is listed without any URL."""

Label = tuple[str | None, str | None]
"""What a cell stands for; None is the wildcard."""


@dataclass(frozen=True, order=True)
class Entry:
    """One query and the URLs listed for it, in canonical order."""

    query: str
    urls: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse text that has no UTF-8 form, and URLs that repeat or stand out of order."""
        for text in (self.query, *self.urls):
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ParameterError("head list text", text, "valid Unicode", "Remove lone surrogates.") from error
        if list(self.urls) != sorted(set(self.urls)):
            raise ParameterError("urls", self.urls, "distinct and sorted", "Use HeadList.of_records.")


@dataclass(frozen=True)
class HeadList:
    """An immutable list of records in canonical order, with the cells that clients report.

    ``levels`` is 2 for <query, URL> records and 1 for a log without URLs, where the record is <q,*> itself.
    """

    entries: tuple[Entry, ...]
    levels: int = 2
    _row: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the canonical form once, so that equal lists have equal bytes."""
        if type(self.levels) is not int or self.levels not in (1, 2):
            raise ParameterError("levels", self.levels, "1 or 2", "2 is for <query, URL> records, 1 for queries alone.")
        queries = [entry.query for entry in self.entries]
        if queries != sorted(set(queries)):
            raise ParameterError("entries", queries[:5], "distinct and sorted by query", "Use HeadList.of_records.")
        if self.levels == 1 and any(entry.urls for entry in self.entries):
            raise ParameterError(
                "entries", self.levels, "queries without URLs in a one-level list", "Use HeadList.of_records."
            )
        object.__setattr__(self, "_row", {query: row for row, query in enumerate(queries)})

    @classmethod
    def of_records(cls, records: Iterable[Record], levels: int = 2) -> Self:
        """The canonical list of these records, in whatever order they come."""
        urls: dict[str, set[str]] = {}
        for query, url in records:
            kept = urls.setdefault(query, set())
            if url is not None:
                kept.add(url)
        return cls(tuple(Entry(query, tuple(sorted(urls[query]))) for query in sorted(urls)), levels)

    @cached_property
    def cells_per_query(self) -> NDArray[np.int64]:
        """k_q for every query, the wildcard query last."""
        counts = np.array([len(entry.urls) + 1 for entry in self.entries] + [1], dtype=np.int64)
        counts.setflags(write=False)
        return counts

    @cached_property
    def first_cell(self) -> NDArray[np.int64]:
        """The index of the first cell of every query, the wildcard query last."""
        starts = np.concatenate(([0], np.cumsum(self.cells_per_query)[:-1])).astype(np.int64)
        starts.setflags(write=False)
        return starts

    @cached_property
    def query_of_cell(self) -> NDArray[np.int64]:
        """The row of the query of every cell."""
        rows = np.repeat(np.arange(len(self.entries) + 1, dtype=np.int64), self.cells_per_query)
        rows.setflags(write=False)
        return rows

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """What every cell stands for: (query, URL), with None for the wildcard."""
        cells: list[Label] = []
        for entry in self.entries:
            cells += [(entry.query, url) for url in entry.urls]
            cells.append((entry.query, None))
        return (*cells, (None, None))

    @cached_property
    def record_cells(self) -> NDArray[np.int64]:
        """The cells that are listed records: those with a URL, and ``<q,*>`` of a query that is listed without any."""
        is_record = np.ones(self.cells, dtype=bool)
        is_record[self.rest_cells] = False
        is_record[-1] = False
        cells = np.flatnonzero(is_record)
        cells.setflags(write=False)
        return cells

    @cached_property
    def rest_cells(self) -> NDArray[np.int64]:
        """The cells ``<q,*>`` of the queries that have a listed URL: what is left of them beside their records."""
        per_query = self.cells_per_query[:-1]
        cells = (self.first_cell[:-1] + per_query - 1)[per_query > 1]
        cells.setflags(write=False)
        return cells

    @cached_property
    def bare_cells(self) -> NDArray[np.int64]:
        """The records ``<q,*>`` of a two-level list: its queries without any URL."""
        bare = self.first_cell[:-1][self.cells_per_query[:-1] == 1] if self.levels == 2 else np.empty(0, dtype=np.int64)
        bare.setflags(write=False)
        return bare

    @property
    def cells(self) -> int:
        """How many things a client can report."""
        return int(self.cells_per_query.sum())

    @property
    def queries(self) -> int:
        """How many queries are listed, without the wildcard."""
        return len(self.entries)

    @property
    def records(self) -> int:
        """How many records are listed."""
        return len(self.record_cells)

    def cell_of(self, query: str | None, url: str | None = None) -> int:
        """The cell a record falls in: itself, <q,*> when only its query is listed, else <*,*>."""
        row = None if query is None else self._row.get(query)
        if row is None:
            return self.cells - 1
        urls = self.entries[row].urls
        start = int(self.first_cell[row])
        return start + (urls.index(url) if url in urls else len(urls))

    def to_bytes(self) -> bytes:
        """The canonical bytes: the same list gives the same bytes everywhere."""
        value = {
            "format": FORMAT,
            "levels": self.levels,
            "queries": [{"query": entry.query, "urls": list(entry.urls)} for entry in self.entries],
        }
        return canonical_json(value)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read canonical bytes; refuses any other form, so that a hash names one list only."""
        try:
            value: Mapping[str, Any] = json.loads(data)
            if value["format"] != FORMAT:
                raise ParameterError("format", value["format"], FORMAT, "This list needs another version of blendp.")
            entries = tuple(Entry(item["query"], tuple(item["urls"])) for item in value["queries"])
            head_list = cls(entries, value["levels"])
        except ParameterError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise DocumentError("head list", data, f"a {FORMAT} document", _REMEDY, error) from error
        if head_list.to_bytes() != data:
            raise DocumentError("head list", data, "in canonical form", _REMEDY)
        return head_list

    @cached_property
    def sha256(self) -> str:
        """The name of this list: SHA-256 of its canonical bytes."""
        return sha256(self.to_bytes())

    def __str__(self) -> str:
        """One line for people."""
        return f"head list {self.sha256[:12]}: {self.records} records of {self.queries} queries"
