"""What is left of a log once every person's contribution is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from blendp.engines.quality import LogQuality
from blendp.engines.records import RecordTable
from blendp.engines.usable import LONGEST_TEXT, RowRule
from blendp.headlist import HeadList
from blendp.normalise import query_sql, url_sql, user_sql

_PEOPLE = """
    CREATE TEMP TABLE people AS
        SELECT (dense_rank() OVER (ORDER BY hash(name), name) - 1)::INTEGER AS user_id, opts_in, lowest
        FROM (SELECT {name} AS name, opts_in, lowest FROM drawn
            WHERE strlen(person) <= {longest} AND NOT contains(person, chr(0)))
        WHERE name <> '';
    DROP TABLE drawn;
"""

_ONE_EACH = "SELECT user_id, 0 AS turn, lowest AS one FROM people WHERE lowest IS NOT NULL"

_SEVERAL_EACH = """
    SELECT user_id, (row_number() OVER (PARTITION BY user_id ORDER BY one.number) - 1)::INTEGER AS turn, one
    FROM (SELECT user_id, {ones} AS one FROM people WHERE lowest IS NOT NULL)
"""

_RECORDS = """
    CREATE TEMP TABLE bounded AS
        SELECT user_id, turn, {query} AS query, {url} AS url
        FROM (SELECT user_id, turn, one.query AS query, one.url AS url FROM ({turns}) WHERE turn < {per_user});
    DROP TABLE people;
    CREATE TABLE records AS
        SELECT query, url, (row_number() OVER (ORDER BY hash(query, url), query, url) - 1)::INTEGER AS record_id
        FROM (SELECT DISTINCT query, url FROM bounded);
"""

_IDS = """
    SELECT user_id, turn, record_id
    FROM bounded JOIN records ON records.query = bounded.query AND records.url IS NOT DISTINCT FROM bounded.url
"""


@dataclass(frozen=True, eq=False)
class Contributions:
    """Exactly ``per_user`` records of each of ``users`` people.

    where:
        records  has a row of record ids for every user, in an order that depends on the ids of the users alone: a
                 uniformly random choice among the user's occurrences, without replacement. Of a user with fewer they
                 come in random order, repeated in turn, so that the expected share of each record is exact. A user
                 without a record has -1, the wildcard <*,*>.
        opt_in   says of every user whether all their rows choose to trust the curator; None if the log is silent.
        quality  is the fate of the log's rows.
    """

    levels: int
    quality: LogQuality
    opt_in: NDArray[np.bool_] | None = field(repr=False)
    records: NDArray[np.int64] = field(repr=False)
    _table: RecordTable = field(repr=False)

    @classmethod
    def of_drawn(cls, connection: duckdb.DuckDBPyConnection, per_user: int, rule: RowRule, quality: LogQuality) -> Self:
        """From what an engine drew, in a database that the contributions then own.

        Its table ``drawn`` has a row for every spelling of a user id: person, opts_in, and lowest, the occurrence with
        the lowest number (number, query, url as they stand in the log) or, if ``per_user`` is more than one, a list.
        Spellings of one id are brought together here, and the texts normalised.
        """
        connection.execute(_PEOPLE.format(name=user_sql("person"), longest=LONGEST_TEXT))
        users, spellings = connection.execute("SELECT coalesce(max(user_id) + 1, 0), count(*) FROM people").fetchall()[
            0
        ]
        opt_in = None
        if rule.opt_in:
            told = "SELECT bool_and(opts_in) AS opts_in FROM people GROUP BY user_id ORDER BY user_id"
            opt_in = np.array(connection.execute(told).fetchnumpy()["opts_in"], dtype=bool)
            opt_in.setflags(write=False)
        if per_user == 1 and spellings == users:
            turns = _ONE_EACH
        else:
            turns = _SEVERAL_EACH.format(ones="lowest" if per_user == 1 else "unnest(lowest)")
        connection.execute(
            _RECORDS.format(
                turns=turns,
                query=query_sql(rule.normalise, "query"),
                url=url_sql(rule.normalise, "url") if rule.levels == 2 else "NULL::VARCHAR",
                per_user=per_user,
            )
        )
        found = connection.execute(_IDS).fetchnumpy()
        held = np.full((users, per_user), -1, dtype=np.int64)
        held[found["user_id"], found["turn"]] = found["record_id"]
        (distinct,) = connection.execute("SELECT count(*) FROM records").fetchall()[0]
        connection.execute("DROP TABLE bounded")
        return cls(rule.levels, quality, opt_in, repeated(held), RecordTable(distinct, connection))

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


def repeated(held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that end in -1 filled with what they start with, in turn; rows of -1 alone stay."""
    per_user = held.shape[1]
    if per_user > 1:
        length = (held >= 0).sum(axis=1)
        short = np.flatnonzero((length > 0) & (length < per_user))
        turn = np.arange(per_user) % length[short, None]
        held[short] = np.take_along_axis(held[short], turn, axis=1)
    held.setflags(write=False)
    return held
