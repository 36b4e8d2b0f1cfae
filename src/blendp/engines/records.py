"""The texts of records in the embedded database, behind their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import numpy as np
from numpy.typing import NDArray

from blendp.arrays import distinct
from blendp.engines.database import cursor_of
from blendp.errors import ParameterError
from blendp.headlist import HeadList

TEXT_ORDER = "hash(query, url), query, url"
"""The order in which new records get numbers: it depends on their texts alone."""

_START = """
    INSERT INTO records BY NAME
        SELECT {number} AS record_id, any_value(query) AS query, any_value(url) AS url FROM {table} GROUP BY {number}
"""

_ADD = f"""
    INSERT INTO records BY NAME
        SELECT query, url, ({{distinct}} + row_number() OVER (ORDER BY {TEXT_ORDER}) - 1)::INTEGER AS record_id
        FROM (SELECT DISTINCT query, url FROM {{table}}) AS more
            ANTI JOIN records ON records.query = more.query AND records.url IS NOT DISTINCT FROM more.url
"""


@dataclass(eq=False)
class RecordTable:
    """``distinct`` records of a database with the table ``records`` (record_id, query, url), which it keeps alive.

    Joins name the few rows that are looked for second, since the database may do them as they are written.
    """

    distinct: int
    connection: duckdb.DuckDBPyConnection = field(repr=False)
    _located: dict[HeadList, NDArray[np.int64]] = field(default_factory=dict, init=False, repr=False)
    """The list of the last question: a run asks about its list once for every group."""

    def add(self, table: str) -> None:
        """Number those records of a table (query, url) that have no number yet; the others keep theirs."""
        self._insert(_ADD.format(table=table, distinct=self.distinct))

    def start(self, table: str, number: str) -> None:
        """Take in the first records: those of a table whose column ``number`` has their place in that order."""
        self._insert(_START.format(table=table, number=number))

    def _insert(self, sql: str) -> None:
        self.connection.execute(sql)
        (self.distinct,) = self.connection.execute("SELECT count(*) FROM records").fetchall()[0]
        self._located.clear()

    def texts(self, ids: NDArray[np.int64]) -> list[tuple[str, str | None]]:
        """The query and URL of these records, in their order; for a few, since each becomes a Python object."""
        asked = np.asarray(ids, dtype=np.int64).ravel()
        if len(asked) and not (asked.min() >= 0 and asked.max() < self.distinct):
            raise ParameterError(
                "ids",
                [int(asked.min()), int(asked.max())],
                f"record ids from 0 to {self.distinct - 1}",
                "The wildcard -1 has no text: leave it out.",
            )
        with self.cursor(asked={"place": np.arange(len(asked)), "record_id": asked}) as cursor:
            rows: list[tuple[str, str | None]] = cursor.execute("""
                SELECT query, url FROM records JOIN asked USING (record_id) ORDER BY place
            """).fetchall()
        return rows

    def queries(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The query of each of these records, -1 for none: the least number among them of a record with that query."""
        asked = distinct(ids.ravel())
        with self.cursor(asked={"record_id": asked[asked >= 0]}) as cursor:
            rows = cursor.execute("""
                SELECT record_id, min(record_id) OVER (PARTITION BY query) AS query_id
                FROM records JOIN asked USING (record_id)
            """).fetchnumpy()
        of_record = np.full(self.distinct + 1, -1, dtype=np.int64)
        of_record[rows["record_id"]] = rows["query_id"]
        return of_record[ids]

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record id: itself if listed, <q,*> if only its query is, else <*,*>.

        The array has one element more than there are records: the last is the cell of <*,*>, so that the
        wildcard id -1 finds it too.
        """
        located = self._located.get(head_list)
        if located is None:
            located = self._look_up(head_list)
            located.setflags(write=False)
            self._located.clear()
            self._located[head_list] = located
        return located

    def _look_up(self, head_list: HeadList) -> NDArray[np.int64]:
        listed = self.listed("records", "record_id", head_list)
        located = np.full(self.distinct + 1, head_list.cells - 1, dtype=np.int64)
        located[listed["record_id"]] = listed["cell"]
        return located

    def listed(self, table: str, keys: str, head_list: HeadList) -> dict[str, NDArray[np.int64]]:
        """The columns ``keys`` and the cell of those rows of a table (query, url) whose query is listed.

        A list travels as one text a column, with NUL bytes between: no record has one, or an empty URL.
        """
        labels = [
            (query, url or "", str(cell))
            for cell, (query, url) in enumerate(head_list.labels)
            if query is not None and url != "" and "\0" not in f"{query}{url}"
        ]
        if not labels:
            return {name: np.empty(0, dtype=np.int64) for name in (*keys.split(", "), "cell")}
        queries, urls, cells = ("\0".join(column) for column in zip(*labels, strict=True))
        with self.cursor() as cursor:
            return cursor.execute(
                f"""
                WITH listed AS (
                    SELECT unnest(string_split($queries, chr(0))) AS query, unnest(string_split($urls, chr(0))) AS url,
                        unnest(string_split($cells, chr(0)))::BIGINT AS cell)
                SELECT {keys}, coalesce(own.cell, rest.cell) AS cell
                FROM {table} AS texts JOIN (SELECT query, cell FROM listed WHERE url = '') AS rest USING (query)
                    LEFT JOIN (FROM listed WHERE url <> '') AS own
                        ON own.query = texts.query AND own.url = texts.url
                """,
                {"queries": queries, "urls": urls, "cells": cells},
            ).fetchnumpy()

    def numbers(self, sql: str) -> dict[str, NDArray[np.int64]]:
        """The columns of a query, which are all numbers."""
        with self.cursor() as cursor:
            return cursor.execute(sql).fetchnumpy()

    @contextmanager
    def cursor(self, **tables: dict[str, NDArray[np.int64]]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A view of the database with some tables more, so that calls do not disturb each other.

        Their columns are arrays of numbers: for a table of Arrow the database would load all that Arrow has, and for
        texts it would look for pandas.
        """
        cursor = cursor_of(self.connection)
        try:
            for name, table in tables.items():
                cursor.register(name, table)
            yield cursor
        finally:
            cursor.close()
