"""Records on the cluster in a known order, of which this process knows how many have each value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from blendp.arrays import Ids
from blendp.engines.spark.tables import SparkTables
from blendp.headlist.head_list import Record

SHARD = 1 << 16
"""About how many records of one value are sorted at a time."""

_LEAD_BITS = 32

_RECORDS = """
    SELECT query, url, value, digest, CAST(conv(substr(digest, 1, 8), 16, 10) AS BIGINT) AS lead
    FROM (SELECT *, md5(concat(query, chr(0), coalesce(url, ''))) AS digest FROM ({records}))
"""

_SHARDED = f"""
    SELECT query, url, value, bits, digest, shiftright(lead, {_LEAD_BITS} - bits) AS shard
    FROM {{records}} JOIN {{classes}} USING (value)
"""

_FIND = """
    SELECT asked.*, query, url
    FROM (SELECT *, row_number() OVER (PARTITION BY value, shard ORDER BY digest, query, url) - 1 AS nth
        FROM ({sharded}) LEFT SEMI JOIN {asked} USING (value, shard)) JOIN {asked} AS asked USING (value, shard, nth)
"""


@dataclass(frozen=True, eq=False)
class NumberedRecords:
    """Different records with a value each, in the order of their values, then of the MD5 of their texts.

    where:
        values, sizes  are every value, ascending, and how many records have it.

    A position is found without all records being ranked: those of its value fall into shards by the leading bits of
    their MD5, whose sizes tell in which shard it is, and this one alone is sorted.
    """

    tables: SparkTables = field(repr=False)
    records: str
    values: Ids = field(repr=False)
    sizes: Ids = field(repr=False)

    @classmethod
    def of(cls, tables: SparkTables, records: str) -> Self:
        """Of SQL for the records: query, url, value."""
        kept = tables.view(_RECORDS.format(records=records), keep=True)
        classes = tables.ask(f"SELECT value, count(*) AS size FROM {kept} GROUP BY value").sort_by("value")
        return cls(tables, kept, _numbers(classes, "value"), _numbers(classes, "size"))

    def texts(self, positions: Ids) -> list[Record]:
        """What the records at these positions say."""
        if not len(positions):
            return []
        asked = self.find(positions)
        rows = self.tables.ask(f"SELECT position, query, url FROM {asked}")
        self.tables.drop(asked)
        order = np.argsort(_numbers(rows, "position"))[np.argsort(np.argsort(positions))]
        return list(zip(*(rows[name].take(pa.array(order)).to_pylist() for name in ("query", "url")), strict=True))

    def find(self, positions: Ids, **columns: Ids) -> str:
        """The name of a table of these records: position, query, url, and what else is said of each."""
        which = np.searchsorted(self._ends, positions, side="right")
        rank = positions - (self._ends - self.sizes)[which]
        wanted = np.unique(which)
        bits = np.ceil(np.log2(np.maximum(self.sizes[wanted] / SHARD, 1))).astype(np.int64)
        classes = self.tables.of(pa.table({"value": self.values[wanted], "bits": bits.astype(np.int32)}))
        sharded = _SHARDED.format(records=self.records, classes=classes)
        shard, nth = self._shards(sharded, wanted, bits, which, rank)
        asked = {"value": self.values[which], "shard": shard, "nth": nth, "position": positions}
        there = self.tables.of(pa.table(asked | columns))
        return self.tables.view(_FIND.format(sharded=sharded, asked=there))

    def _shards(self, sharded: str, wanted: Ids, bits: Ids, which: Ids, rank: Ids) -> tuple[Ids, Ids]:
        """In which shard of its value each rank is, and its rank there; values of one shard need not be asked about."""
        shard, nth = np.zeros_like(rank), rank.copy()
        wide = wanted[bits > 0]
        inside = np.isin(which, wide)
        if inside.any():
            sizes = self.tables.ask(f"""
                SELECT value, shard, count(*) AS size FROM ({sharded}) WHERE bits > 0 GROUP BY value, shard
            """).sort_by([("value", "ascending"), ("shard", "ascending")])
            ends = np.cumsum(_numbers(sizes, "size"))
            first = np.searchsorted(_numbers(sizes, "value"), self.values[which[inside]])
            before = (ends - _numbers(sizes, "size"))[first]
            row = np.searchsorted(ends, before + rank[inside], side="right")
            shard[inside] = _numbers(sizes, "shard")[row]
            nth[inside] = before + rank[inside] - (ends - _numbers(sizes, "size"))[row]
        return shard, nth

    @cached_property
    def _ends(self) -> Ids:
        return np.cumsum(self.sizes)


def _numbers(table: pa.Table, column: str) -> Ids:
    return np.asarray(table[column].to_numpy(), dtype=np.int64)
