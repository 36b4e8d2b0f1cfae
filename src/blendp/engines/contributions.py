"""What contribution bounding leaves of a log: so many records of every user, the unit of privacy in a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from blendp.engines.quality import LogQuality
from blendp.engines.records import RecordTable
from blendp.engines.usable import RowRule
from blendp.headlist import HeadList
from blendp.normalise import query_sql, url_sql, user_sql

_PEOPLE = """
    CREATE TEMP TABLE people AS
        SELECT (dense_rank() OVER (ORDER BY hash(name), name) - 1)::INTEGER AS user_id, * EXCLUDE (name)
        FROM (SELECT {name} AS name, * EXCLUDE (person, rows, usable) FROM drawn WHERE {somebody});
    DROP TABLE drawn;
"""

_ONE_EACH = "SELECT user_id, 0 AS turn, lowest AS one FROM people WHERE lowest IS NOT NULL"

_SEVERAL_EACH = """
    SELECT user_id, (row_number() OVER (PARTITION BY user_id ORDER BY one.number) - 1)::INTEGER AS turn, one
    FROM (SELECT user_id, {ones} AS one FROM people WHERE lowest IS NOT NULL)
"""

_BOUNDED = """
    CREATE TEMP TABLE {table} AS
        SELECT user_id, turn, {query} AS query, {url} AS url
        FROM (SELECT user_id, turn, one.query AS query, one.url AS url FROM ({turns}) WHERE turn < {per_user})
"""

_RECORDS = """
    DROP TABLE people;
    CREATE TABLE records AS
        SELECT query, url, (row_number() OVER (ORDER BY hash(query, url), query, url) - 1)::INTEGER AS record_id
        FROM (SELECT DISTINCT query, url FROM ({occurrences}));
"""

_IDS = """
    SELECT user_id, turn, record_id
    FROM {table} JOIN records ON records.query = {table}.query AND records.url IS NOT DISTINCT FROM {table}.url
"""


@dataclass(frozen=True, eq=False)
class Contributions:
    """Exactly ``per_user`` records of each of ``users`` users.

    where:
        records  has a row of record ids for every user, in an order that depends on the ids of the users alone: a
                 uniformly random choice among the user's occurrences, without replacement. Of a user with fewer they
                 come in random order, repeated in turn, so that the expected share of each record is exact. A user
                 without a record has -1, the wildcard <*,*>.
        different  is the same for a choice among the user's different records: for a list, on which each stands once;
                 None if that was not asked for,
        opt_in   says of every user whether all their rows choose to trust the curator; None if the log is silent.
        quality  is the fate of the log's rows.
    """

    levels: int
    quality: LogQuality
    opt_in: NDArray[np.bool_] | None = field(repr=False)
    records: NDArray[np.int64] = field(repr=False)
    _table: RecordTable = field(repr=False)
    different: NDArray[np.int64] | None = field(default=None, repr=False)

    @classmethod
    def of_drawn(
        cls,
        connection: duckdb.DuckDBPyConnection,
        per_user: int,
        rule: RowRule,
        quality: LogQuality,
        *,
        different: bool = False,
    ) -> Self:
        """From what an engine drew, in a database that the contributions then own.

        Its table ``drawn`` has a row for every spelling of a user id: person, opts_in, and lowest, the occurrence with
        the lowest number (number, query, url as they stand in the log) or, if ``per_user`` is more than one, a list;
        and a list ``different`` if asked for. Spellings of one id are brought together here, and texts normalised.
        """
        connection.execute(_PEOPLE.format(name=user_sql("person"), somebody=rule.names_somebody))
        counts = "SELECT coalesce(max(user_id) + 1, 0), count(*) FROM people"
        users, spellings = connection.execute(counts).fetchall()[0]
        opt_in = None
        if rule.opt_in:
            choices = "SELECT bool_and(opts_in) AS opts_in FROM people GROUP BY user_id ORDER BY user_id"
            opt_in = np.array(connection.execute(choices).fetchnumpy()["opts_in"], dtype=bool)
            opt_in.setflags(write=False)
        if per_user == 1 and spellings == users:
            turns = {"bounded": _ONE_EACH}
        else:
            turns = {"bounded": _SEVERAL_EACH.format(ones="lowest" if per_user == 1 else "unnest(lowest)")}
        if different:
            turns["bounded_different"] = _SEVERAL_EACH.format(ones="unnest(different)")
        query = query_sql(rule.normalise, "query")
        url = url_sql(rule.normalise, "url") if rule.levels == 2 else "NULL::VARCHAR"
        for table, drawn in turns.items():
            connection.execute(_BOUNDED.format(table=table, turns=drawn, query=query, url=url, per_user=per_user))
        both = " UNION ALL ".join(f"SELECT query, url FROM {table}" for table in turns)
        connection.execute(_RECORDS.format(occurrences=both))
        record_ids = [_held(connection, table, users, per_user) for table in turns]
        (distinct,) = connection.execute("SELECT count(*) FROM records").fetchall()[0]
        return cls(rule.levels, quality, opt_in, record_ids[0], RecordTable(distinct, connection), *record_ids[1:])

    @property
    def users(self) -> int:
        """How many people are in the log."""
        return len(self.records)

    @property
    def distinct_records(self) -> int:
        """Record ids are below this."""
        return self._table.distinct

    def texts(self, ids: NDArray[np.int64]) -> list[tuple[str, str | None]]:
        """The query and URL of these records, in their order."""
        return self._table.texts(ids)

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record id, and last that of <*,*>."""
        return self._table.locate(head_list)


def _held(connection: duckdb.DuckDBPyConnection, table: str, users: int, per_user: int) -> NDArray[np.int64]:
    """The record ids of a table of what everybody contributes, which is dropped."""
    turns = connection.execute(_IDS.format(table=table)).fetchnumpy()
    record_ids = np.full((users, per_user), -1, dtype=np.int64)
    record_ids[turns["user_id"], turns["turn"]] = turns["record_id"]
    connection.execute(f"DROP TABLE {table}")
    return repeated(record_ids)


def repeated(record_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that end in -1 filled with what they start with, in turn; rows of -1 alone stay."""
    per_user = record_ids.shape[1]
    if per_user > 1:
        length = (record_ids >= 0).sum(axis=1)
        short = np.flatnonzero((length > 0) & (length < per_user))
        turn = np.arange(per_user) % length[short, None]
        record_ids[short] = np.take_along_axis(record_ids[short], turn, axis=1)
    record_ids.setflags(write=False)
    return record_ids
