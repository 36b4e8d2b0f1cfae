"""A second look at a log: every different record of chosen people, and how often they have it.

Everybody contributes one record; of the few who trust the curator all are asked for. So the log is read once more, for
those people alone, and what is read is counted on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb
import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Ids
from blendp.engines.choice import lowest_of_each, ranked_numbers
from blendp.engines.database import failed
from blendp.engines.records import TEXT_ORDER, RecordTable
from blendp.engines.usable import DUCKDB, RowRule
from blendp.mechanisms.filtered_union import MAX_DIFFERENT, Holdings
from blendp.normalise import query_sql, url_sql, user_sql

THEIR_ROWS = "their_rows"
"""The rows of the table ``drawn`` that are of the people who are looked at, and owner: which of them that is."""

CHOSEN = "chosen"
"""The people who are looked at: person (a spelling of the user's id), owner, and usable, how many usable rows they
have."""

GATHERED = "gathered"
"""A table of what they have: owner, query, url as they stand in the log, and times, how often a usable row says so.

It may have several rows for the same.
"""

_CHOOSE = f"""
    CREATE OR REPLACE TEMP TABLE {THEIR_ROWS} AS
        SELECT drawn.*, owner FROM drawn JOIN asked ON drawn.rowid = asked.row;
    CREATE OR REPLACE TEMP VIEW {CHOSEN} AS
        SELECT person, owner, sum(usable)::BIGINT AS usable FROM {THEIR_ROWS} GROUP BY person, owner
"""

_MERGE = f"""
    CREATE OR REPLACE TEMP TABLE merged AS
        SELECT *, (dense_rank() OVER (ORDER BY {TEXT_ORDER}) - 1)::INTEGER AS nth_text
        FROM (
            SELECT owner, query, url, sum(times)::BIGINT AS occurrences
            FROM (SELECT owner, times, {{query}} AS query, {{url}} AS url FROM ({{gathered}}))
            GROUP BY owner, query, url
        )
"""

_STARTED_RECORDS = "SELECT *, nth_text AS record_id FROM merged"
_NUMBERED_RECORDS = """
    SELECT merged.*, record_id
    FROM merged JOIN records ON records.query = merged.query AND records.url IS NOT DISTINCT FROM merged.url
"""

_ROWS = "SELECT owner, record_id, occurrences FROM ({numbered_records}) ORDER BY owner, record_id"

_RANK = f"""
    CREATE OR REPLACE TEMP TABLE ranked AS
        SELECT owner, person, record_id, row_number() OVER (PARTITION BY owner ORDER BY query, url) - 1 AS nth
        FROM ({{numbered_records}})
            JOIN (
                SELECT owner, any_value({{name}}) AS person FROM {THEIR_ROWS} JOIN many USING (owner) GROUP BY owner
            ) USING (owner)
"""


@dataclass(frozen=True, eq=False)
class SecondLook:
    """How a log that was drawn from is asked once more.

    where:
        gather  gives SQL for what the people in the table :data:`CHOSEN` have, such as the table :data:`GATHERED`,
        rule    says how texts are normalised,
        table   has the numbers of the records drawn so far, in a database whose table ``drawn`` has a row for every
                spelling of a user's id: person, and usable, how many usable rows it has,
        user_of_row  says by the number of such a row which user that is,
        where   names the log in messages.
    """

    gather: Callable[[], str]
    rule: RowRule
    table: RecordTable = field(repr=False)
    user_of_row: NDArray[np.int32] = field(repr=False)
    where: str

    def __call__(self, who: Ids, key: int) -> Holdings:
        """What these people hold, the choice of what is kept drawn by the key; records seen first here get numbers."""
        try:
            return self._look(who, key)
        except duckdb.Error as error:
            raise failed(self.where, error) from error

    def _look(self, who: Ids, key: int) -> Holdings:
        connection = self.table.connection
        owner_of_user = np.full(int(self.user_of_row.max(initial=-1)) + 2, -1, dtype=np.int32)
        owner_of_user[who] = np.arange(len(who))
        owner = owner_of_user[self.user_of_row]
        row = np.flatnonzero(owner >= 0)
        connection.register("asked", {"row": row, "owner": owner[row]})
        connection.execute(_CHOOSE)
        connection.unregister("asked")
        gathered = self.gather()
        url = url_sql(self.rule.normalise, "url") if self.rule.levels == 2 else "NULL::VARCHAR"
        query = query_sql(self.rule.normalise, "query")
        connection.execute(_MERGE.format(query=query, url=url, gathered=gathered))
        connection.execute(f"DROP TABLE IF EXISTS {GATHERED}")
        numbered_records = self._number_records()
        rows = self._numbers(_ROWS.format(numbered_records=numbered_records))
        kept = np.ones(len(rows["owner"]), dtype=bool)
        many = np.bincount(rows["owner"], minlength=len(who)) > MAX_DIFFERENT
        if many.any():
            connection.register("many", {"owner": np.flatnonzero(many)})
            connection.execute(_RANK.format(numbered_records=numbered_records, name=user_sql("person")))
            numbered = ranked_numbers("ranked", key, DUCKDB)
            numbers = self._numbers(f"SELECT owner, number FROM ({numbered}) ORDER BY owner, record_id")
            kept[many[rows["owner"]]] = lowest_of_each(numbers["owner"], numbers["number"], MAX_DIFFERENT)
            connection.unregister("many")
            connection.execute("DROP TABLE ranked")
        connection.execute(f"DROP TABLE merged; DROP VIEW {CHOSEN}; DROP TABLE {THEIR_ROWS}")
        return Holdings(len(who), rows["owner"], rows["record_id"], rows["occurrences"], kept)

    def _number_records(self) -> str:
        """Give the merged records numbers; SQL for them with these."""
        if self.table.distinct:
            self.table.add("merged")
            return _NUMBERED_RECORDS
        self.table.start("merged", "nth_text")
        return _STARTED_RECORDS

    def _numbers(self, sql: str) -> dict[str, Ids]:
        rows = self.table.connection.execute(sql).fetchnumpy()
        return {name: column.astype(np.int64) for name, column in rows.items()}
