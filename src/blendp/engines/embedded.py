"""A log in an embedded database: integers where the work is, texts only where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from blendp.engines.quality import LogQuality
from blendp.engines.truth import Truth
from blendp.errors import ParameterError, require_count
from blendp.headlist import HeadList

ORDER = "hash(xor(hash(user_id, place), {key}::UBIGINT))"
"""The random order of a user's occurrences under a key, in SQL; ``place`` numbers them within the user.

It depends on nothing but the key, the user, and how many occurrences the user has: what one person contributes
is independent of everybody else's records. The key must go through a hash together with the rest: ordering by
``hash(user_id, place, key)`` or ``hash(user_id, place) ^ key`` flips whole branches of the tree of hashes, and
reaches only some orders of three or more. The hash is the database's own, so a sample is the same again only
with the same version of it.
"""

MOST_PER_USER = 999_999
"""The largest sample of a user: a limit of the database."""


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory of its own, which fetches no extension and sees no Python variable.

    What does not fit in memory goes to a folder of its own among the system's temporary files, never beside the user's.
    It need not keep rows in order, which makes it twice as fast: every row carries its number, and whatever
    depends on an order asks for it.
    """
    return duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "preserve_insertion_order": False,
            "temp_directory": str(Path(gettempdir()) / f"blendp-{token_hex(8)}"),
        },
    )


@dataclass(frozen=True, eq=False)
class EmbeddedLog:
    """A log: ``users`` people and their occurrences of ``distinct_records`` records.

    Record ids run from 0 in the order of the UTF-8 bytes of query, then URL; -1 is the wildcard <*,*> of users
    without a record. Users are in the order of the bytes of their ids, which the log does not keep.
    ``opt_in`` says of every user whether all their rows choose to trust the curator; None if the log is silent.
    The database is freed with the log.
    """

    users: int
    levels: int
    distinct_records: int
    quality: LogQuality
    opt_in: NDArray[np.bool_] | None = field(repr=False)
    _connection: duckdb.DuckDBPyConnection = field(repr=False)

    def sample(self, per_user: int, key: int) -> NDArray[np.int64]:
        """Exactly ``per_user`` record ids of every user, of shape (users, per_user): the bound on contributions.

        Each row is a uniformly random choice among the user's occurrences, without replacement; a user with
        fewer has them in random order, repeated in turn, so that the expected share of each record is exact. A
        user without a record has -1. The choice is a function of the log and the 64-bit ``key`` alone, which
        the caller draws at random.
        """
        require_count("per_user", per_user, least=1, remedy="Choose how many records of a user may count.")
        if per_user > MOST_PER_USER:
            raise ParameterError("per_user", per_user, f"at most {MOST_PER_USER}", "Bound contributions lower.")
        require_count("key", key, least=0, remedy="Draw a key of 64 random bits.")
        if key >= 1 << 64:
            raise ParameterError("key", key, "a whole number below 2**64", "Draw a key of 64 random bits.")
        order = ORDER.format(key=key)
        if per_user == 1:
            chosen = self._numbers(
                f"SELECT user_id, arg_min(record_id, {order}) AS record_id FROM occurrences GROUP BY user_id"
            )
            ids = np.full((self.users, 1), -1, dtype=np.int64)
            ids[chosen["user_id"], 0] = chosen["record_id"]
            return ids
        with self._cursor() as cursor:
            lists = cursor.execute(f"""
                SELECT user_id, arg_min(record_id, {order}, {per_user}) AS chosen
                FROM occurrences GROUP BY user_id
            """).to_arrow_table()
        return self._spread(lists.combine_chunks(), per_user)

    def _spread(self, lists: pa.Table, per_user: int) -> NDArray[np.int64]:
        """Lists of a user's ids as rows of an array, each repeated in turn to its full length."""
        ids = np.full((self.users, per_user), -1, dtype=np.int64)
        if not lists.num_rows:
            return ids
        user, chosen = (lists[name].combine_chunks() for name in ("user_id", "chosen"))
        flat = chosen.flatten().to_numpy()
        length = chosen.value_lengths().to_numpy()
        start = np.cumsum(length) - length
        turn = np.arange(per_user) % length[:, None]
        ids[user.to_numpy()] = flat[start[:, None] + turn]
        return ids

    def texts(self, ids: NDArray[np.int64]) -> list[tuple[str, str | None]]:
        """The query and URL of these records, in their order; for a few, since each becomes a Python object."""
        asked = np.asarray(ids, dtype=np.int64).ravel()
        if len(asked) and not (asked.min() >= 0 and asked.max() < self.distinct_records):
            raise ParameterError(
                "ids",
                [int(asked.min()), int(asked.max())],
                f"record ids from 0 to {self.distinct_records - 1}",
                "The wildcard -1 has no text: leave it out.",
            )
        table = pa.table({"place": np.arange(len(asked)), "record_id": asked})
        with self._cursor(asked=table) as cursor:
            rows: list[tuple[str, str | None]] = cursor.execute("""
                SELECT query, url FROM asked JOIN records USING (record_id) JOIN queries USING (query_id)
                ORDER BY place
            """).fetchall()
        return rows

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record id: itself if listed, <q,*> if only its query is, else <*,*>.

        The array has one element more than there are records: the last is the cell of <*,*>, so that the
        wildcard id -1 finds it too.
        """
        cells = [(query, url, cell) for cell, (query, url) in enumerate(head_list.labels) if query is not None]
        columns = zip(("query", "url", "cell"), zip(*cells, strict=True), strict=False)
        kinds = {"query": pa.string(), "url": pa.string(), "cell": pa.int64()}
        listed = {name: pa.array(values, kinds[name]) for name, values in columns}
        table = pa.table(listed) if listed else pa.schema(kinds).empty_table()
        with self._cursor(listed=table) as cursor:
            found = cursor.execute("""
                SELECT record_id, coalesce(own.cell, rest.cell) AS cell
                FROM (SELECT query, cell FROM listed WHERE url IS NULL) AS rest
                    JOIN queries USING (query)
                    JOIN records USING (query_id)
                    LEFT JOIN listed AS own ON own.query = queries.query AND own.url = records.url
            """).fetchnumpy()
        located = np.full(self.distinct_records + 1, head_list.cells - 1, dtype=np.int64)
        located[found["record_id"]] = found["cell"]
        return located

    def truth(self) -> Truth:
        """The probability of every record and query; the same bits in every run."""
        parts = self._numbers("""
            SELECT record_id, many, count(*) AS times
            FROM occurrences JOIN (SELECT user_id, count(*) AS many FROM occurrences GROUP BY user_id)
                USING (user_id)
            GROUP BY record_id, many ORDER BY record_id, many
        """)
        weights = parts["times"] / parts["many"] / self.users
        record = _sums(parts["record_id"], weights, self.distinct_records)
        query_id = self._numbers("SELECT query_id FROM records ORDER BY record_id")["query_id"].astype(np.int64)
        return Truth(record, query_id, _sums(query_id, record, 0))

    def _numbers(self, sql: str) -> dict[str, NDArray[np.int64]]:
        with self._cursor() as cursor:
            return cursor.execute(sql).fetchnumpy()

    @contextmanager
    def _cursor(self, **tables: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
        """A view of the database with some tables more, so that calls do not disturb each other."""
        cursor = self._connection.cursor()
        try:
            for name, table in tables.items():
                cursor.register(name, table)
            yield cursor
        finally:
            cursor.close()


def _sums(ids: NDArray[np.int64], weights: NDArray[np.float64], least: int) -> NDArray[np.float64]:
    """The sum of the weights of every id, added in the order they come."""
    return np.bincount(ids, weights, minlength=least).astype(np.float64)
