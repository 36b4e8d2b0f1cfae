"""What contribution bounding leaves of a log: so many records of every user, the unit of privacy in a log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Ids, distinct
from blendp.engines.choice import require_draw
from blendp.engines.database import failed
from blendp.engines.quality import LogQuality
from blendp.engines.records import RecordTable
from blendp.engines.second_look import SecondLook
from blendp.engines.usable import DUCKDB, RowRule
from blendp.errors import LogError, ParameterError
from blendp.headlist import HeadList
from blendp.mechanisms.filtered_union import Holdings
from blendp.normalise import query_sql, url_sql, user_sql

Number = TypeVar("Number", np.bool_, np.int64)

_WHO = "Give the people by their rows in records."

_PEOPLE = """
    SELECT (dense_rank() OVER (ORDER BY {order}, name) - 1)::INTEGER AS user_id, row, opts_in, usable
    FROM (SELECT {name} AS name, rowid AS row, opts_in, usable FROM drawn)
"""

_ONE_EACH = "SELECT rowid AS row, 0 AS turn, lowest AS one FROM drawn WHERE lowest IS NOT NULL"

_SEVERAL_EACH = """
    SELECT row, (row_number() OVER (PARTITION BY user_id ORDER BY one.number) - 1)::INTEGER AS turn, one
    FROM (SELECT row, user_id, {ones} AS one FROM drawn JOIN people ON drawn.rowid = row WHERE lowest IS NOT NULL)
"""

_BOUNDED = """
    CREATE TABLE bounded AS
        SELECT row, turn, {query} AS query, {url} AS url
        FROM (SELECT row, turn, one.query AS query, one.url AS url FROM ({turns}) WHERE turn < {per_user});
    CREATE TABLE records (record_id INTEGER, query VARCHAR, url VARCHAR);
"""

_IDS = """
    SELECT row, turn, record_id
    FROM bounded JOIN records ON records.query = bounded.query AND records.url IS NOT DISTINCT FROM bounded.url
"""


@dataclass(eq=False)
class BoundedTexts:
    """What was chosen of every user, in texts; most of it needs no number if all that is asked is where it is listed.

    where:
        table        is that of the records, in a database whose table ``bounded`` has the chosen occurrences: row,
                     turn, query and url, both normalised,
        user_of_row  says which user a row is of,
        shape        is how many users there are, and how many records of each are asked for,
        where        names the log in messages.
    """

    table: RecordTable
    user_of_row: NDArray[np.int32] = field(repr=False)
    shape: tuple[int, int]
    where: str
    _ids: Ids | None = field(default=None, init=False, repr=False)
    _cells: dict[HeadList, Ids] = field(default_factory=dict, init=False, repr=False)

    def ids(self) -> Ids:
        """The numbers of the records, each row repeated in turn; those that have none get one."""
        if self._ids is None:
            try:
                self.table.add("bounded")
                self._ids = repeated(self._spread(self.table.numbers(_IDS), "record_id", -1))
                self.table.connection.execute("DROP TABLE bounded")
            except duckdb.Error as error:
                raise failed(self.where, error) from error
        return self._ids

    def cells(self, head_list: HeadList) -> Ids:
        """The cells of the records in a list."""
        if self._ids is not None or self.shape[1] > 1:
            ids = self.ids()  # may give more numbers, so it comes first
            return self.table.locate(head_list)[ids]
        if head_list not in self._cells:
            try:
                listed = self.table.listed("bounded", "row, turn", head_list)
            except duckdb.Error as error:
                raise failed(self.where, error) from error
            self._cells = {head_list: _frozen(self._spread(listed, "cell", head_list.cells - 1), np.int64)}
        return self._cells[head_list]

    def _spread(self, rows: dict[str, Ids], name: str, missing: int) -> Ids:
        """The values of rows where they belong."""
        values = np.full(self.shape, missing, dtype=np.int64)
        values[self.user_of_row[rows["row"]], rows["turn"]] = rows[name]
        return values


@dataclass(frozen=True, eq=False)
class Contributions:
    """Exactly ``per_user`` records of each of ``users`` users.

    where:
        records  has a row of record ids for every user, in an order that depends on the ids of the users alone, or
                 on a key too: it is random then, and they are ``shuffled``. A row is a uniformly random choice among
                 the user's occurrences, without replacement. Of a user with fewer they come in random order, repeated
                 in turn, so that the expected share of each record is exact. A user without a record has -1, the
                 wildcard <*,*>. The ids are given when they are first asked for.
        opt_in   says of every user whether all their rows choose to trust the curator; None if the log is silent,
        record_counts  is how many occurrences every user has, of which ``records`` are a choice; never released,
        quality  is the fate of the log's rows.
    """

    levels: int
    quality: LogQuality
    opt_in: NDArray[np.bool_] | None = field(repr=False)
    _chosen: Ids | BoundedTexts = field(repr=False)
    record_counts: Ids = field(repr=False)
    _table: RecordTable = field(repr=False)
    _look: Callable[[Ids, int], Holdings] | None = field(default=None, repr=False)
    shuffled: bool = False

    @classmethod
    def of_drawn(
        cls,
        connection: duckdb.DuckDBPyConnection,
        per_user: int,
        rule: RowRule,
        quality: LogQuality,
        where: str,
        gather: Callable[[], str] | None,
        order: str | None = None,
    ) -> Self:
        """From what an engine drew, in a database that the contributions then own.

        Its table ``drawn`` has a row for every spelling of a user id: person, opts_in, usable, how many usable rows it
        has, and lowest, the occurrence with the lowest number (number, query, url as they stand in the log) or, if
        ``per_user`` is more than one, a list. Spellings of one id are brought together here, and texts normalised.
        With ``gather`` the log can be asked for people's holdings later (:mod:`blendp.engines.second_look`); until then
        the ids of users are kept. Users are in the ``order`` of a random number, given as SQL for that
        of the user called ``name`` (:mod:`blendp.engines.choice`), or in one that their ids alone decide.
        """
        connection.execute(f"DELETE FROM drawn WHERE NOT {rule.names_somebody(DUCKDB)}")
        people = connection.execute(_PEOPLE.format(name=user_sql("person"), order=order or "hash(name)")).fetchnumpy()
        user_of_row = np.full(people["row"].max(initial=-1) + 1, -1, dtype=np.int32)
        user_of_row[people["row"]] = people["user_id"]
        users = int(user_of_row.max(initial=-1)) + 1
        turns, several = _ONE_EACH, per_user > 1 or len(people["row"]) > users
        if several:
            turns = _SEVERAL_EACH.format(ones="lowest" if per_user == 1 else "unnest(lowest)")
            connection.register("people", {name: people[name] for name in ("row", "user_id")})
        query = query_sql(rule.normalise, "query")
        url = url_sql(rule.normalise, "url") if rule.levels == 2 else "NULL::VARCHAR"
        connection.execute(_BOUNDED.format(turns=turns, query=query, url=url, per_user=per_user))
        if several:
            connection.unregister("people")
        connection.execute("DROP TABLE drawn" if gather is None else "ALTER TABLE drawn DROP COLUMN lowest")
        record_table = RecordTable(0, connection)
        opt_in = np.ones(users, dtype=bool) if rule.opt_in else None
        if opt_in is not None:
            opt_in[people["user_id"][~people["opts_in"]]] = False
        usable = np.bincount(people["user_id"], people["usable"], users)
        return cls(
            rule.levels,
            quality,
            opt_in if opt_in is None else _frozen(opt_in, np.bool_),
            BoundedTexts(record_table, user_of_row, (users, per_user), where),
            _frozen(usable, np.int64),
            record_table,
            None if gather is None else SecondLook(gather, rule, record_table, user_of_row, where),
            order is not None,
        )

    @property
    def users(self) -> int:
        """How many people are in the log."""
        return len(self.record_counts)

    @property
    def records(self) -> Ids:
        """A row of record ids for every user."""
        return self._chosen.ids() if isinstance(self._chosen, BoundedTexts) else self._chosen

    @property
    def distinct_records(self) -> int:
        """Record ids are below this; holdings may raise it."""
        return self._numbered().distinct

    def holdings(self, who: Ids, key: int) -> Holdings:
        """Every different record of these users, given by their rows in ``records``, in this order.

        Of users with more than :data:`~blendp.mechanisms.filtered_union.MAX_DIFFERENT` the ``key`` of 64 random bits
        draws which are kept: whose records these are and what they say decides, and nobody else's records.
        """
        require_draw(1, key)
        who = np.asarray(who)
        if who.dtype != np.int64 or who.ndim != 1 or len(distinct(who)) != len(who):
            raise ParameterError("who", f"{who.dtype} of shape {who.shape}", "positions of different users", _WHO)
        if len(who) and not (who.min() >= 0 and who.max() < self.users):
            raise ParameterError("who", [int(who.min()), int(who.max())], f"from 0 to {self.users - 1}", _WHO)
        if self._look is None:
            raise ParameterError("holdings", False, "True when drawing", "Ask for it while the log is drawn from.")
        holdings = self._look(who, key)
        if not np.array_equal(holdings.totals, self.record_counts[who]):
            raise LogError("The log changed while it was read: draw from one that stays as it is.")
        return holdings

    def texts(self, ids: NDArray[np.int64]) -> list[tuple[str, str | None]]:
        """The query and URL of these records, in their order."""
        table = self._table if np.max(ids, initial=-1) < self._table.distinct else self._numbered()
        return table.texts(ids)

    def queries(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The query of each of these records, -1 for none: the least number among them of a record with that query."""
        return self._numbered().queries(ids)

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record id, and last that of <*,*>."""
        return self._numbered().locate(head_list)

    def cells(self, head_list: HeadList, ids: Ids | None = None) -> NDArray[np.int64]:
        """The cells of these records, which have numbers; or of all ``records``, which need none for that."""
        if ids is None and isinstance(self._chosen, BoundedTexts):
            return self._chosen.cells(head_list)
        return self._table.locate(head_list)[self.records if ids is None else ids]

    def _numbered(self) -> RecordTable:
        """The table, after all that was chosen got numbers."""
        if isinstance(self._chosen, BoundedTexts):
            self._chosen.ids()
        return self._table


def _frozen(column: NDArray[Any], kind: type[Number]) -> NDArray[Number]:
    column = np.array(column, dtype=kind)
    column.setflags(write=False)
    return column


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
