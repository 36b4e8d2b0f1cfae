"""A log in an embedded database, by numbers: to draw from many times, and to know the truth of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Ids
from blendp.arrow import pa
from blendp.engines.choice import lowest_of_each, number_of_place, ranked_numbers, require_draw
from blendp.engines.contributions import Contributions
from blendp.engines.quality import Described, LogQuality
from blendp.engines.records import RecordTable
from blendp.engines.truth import Truth
from blendp.engines.usable import DUCKDB
from blendp.headlist import HeadList
from blendp.mechanisms.filtered_union import MAX_DIFFERENT, Holdings

POSITION = "user_id, place"
"""What the choice among a user's occurrences hashes; ``place`` numbers them within the user.

It depends on nothing but the key, the user, and how many occurrences the user has: what one user contributes
is independent of all other users' records. The hash is the database's own, so a sample is the same again only with
the same version of it.
"""


@dataclass(frozen=True, eq=False)
class EmbeddedLog:
    """A log: ``users`` people and their occurrences of ``distinct_records`` records.

    Record ids run from 0 in the order of the UTF-8 bytes of query, then URL; -1 is the wildcard <*,*> of users
    without a record. Users are in the order of the bytes of their ids, which the log does not keep.
    ``opt_in`` says of every user whether all their rows choose to trust the curator; None if the log is silent.
    ``how`` says how it was read, if that is known. The database is freed with the log.
    """

    users: int
    levels: int
    quality: LogQuality
    opt_in: NDArray[np.bool_] | None = field(repr=False)
    _table: RecordTable = field(repr=False)
    how: Described | None = field(default=None, repr=False)

    @property
    def reading(self) -> dict[str, Any] | None:
        """How it was read, in the form of a release's card; None if that is not known."""
        return None if self.how is None else self.how.to_dict()

    @property
    def distinct_records(self) -> int:
        """Record ids are below this."""
        return self._table.distinct

    def draw(
        self,
        per_user: int,
        key: int,
        *,
        reproducible: bool = False,  # noqa: ARG002
        holdings: bool = True,  # noqa: ARG002
        share: float | None = None,  # noqa: ARG002
    ) -> Contributions:
        """Contribution bounding of every user; the choice is always a function of the log and the key."""
        sample = self.sample(per_user, key)
        return Contributions(self.levels, self.quality, self.opt_in, sample, self._counts, self._table, self._holdings)

    def sample(self, per_user: int, key: int) -> NDArray[np.int64]:
        """Exactly ``per_user`` record ids of every user, of shape (users, per_user): the bound on contributions.

        Each row is a uniformly random choice among the user's occurrences, without replacement; a user with
        fewer has them in random order, repeated in turn, so that the expected share of each record is exact. A
        user without a record has -1. The choice is a function of the log and the 64-bit ``key`` alone, which
        the caller draws at random.
        """
        require_draw(per_user, key)
        if self._only is not None:
            return np.repeat(self._only[:, None], per_user, axis=1)
        order = number_of_place(POSITION, key)
        if per_user == 1:
            chosen = self._table.numbers(
                f"SELECT user_id, arg_min(record_id, {order}) AS record_id FROM occurrences GROUP BY user_id"
            )
            ids = np.full((self.users, 1), -1, dtype=np.int64)
            ids[chosen["user_id"], 0] = chosen["record_id"]
            return ids
        with self._table.cursor() as cursor:
            lists = cursor.execute(f"""
                SELECT user_id, arg_min(record_id, {order}, {per_user}) AS chosen
                FROM occurrences GROUP BY user_id
            """).to_arrow_table()
        return self._spread(lists.combine_chunks(), per_user)

    @cached_property
    def _counts(self) -> Ids:
        """How many occurrences every user has."""
        rows = self._table.numbers("SELECT user_id, count(*) AS times FROM occurrences GROUP BY user_id")
        counts = np.zeros(self.users, dtype=np.int64)
        counts[rows["user_id"]] = rows["times"]
        counts.setflags(write=False)
        return counts

    @cached_property
    def _pairs(self) -> Holdings:
        """What everybody holds, by user and then by record, to take some people's part from again and again."""
        rows = self._table.numbers("""
            SELECT user_id, record_id, count(*) AS times FROM occurrences
            GROUP BY user_id, record_id ORDER BY user_id, record_id
        """)
        owner, record, times = (rows[name].astype(np.int64) for name in ("user_id", "record_id", "times"))
        return Holdings(self.users, owner, record, times, np.zeros(len(owner), dtype=bool))

    def _holdings(self, who: Ids, key: int) -> Holdings:
        """What these people hold; a person's choice is by the key, the user's number and how many records they have."""
        every = self._pairs
        different = every.different[who]
        owner = np.repeat(np.arange(len(who)), different)
        nth = np.arange(len(owner)) - np.repeat(np.cumsum(different) - different, different)
        rows = np.repeat(every.start[who], different) + nth
        kept = np.ones(len(rows), dtype=bool)
        many = np.flatnonzero(different[owner] > MAX_DIFFERENT)
        if len(many):
            ranks = pa.table({"row": np.arange(len(many)), "person": who[owner[many]].astype(str), "nth": nth[many]})
            with self._table.cursor(ranked=ranks) as cursor:
                numbered = ranked_numbers("ranked", key, DUCKDB)
                number = cursor.execute(f"SELECT number FROM ({numbered}) ORDER BY row").fetchnumpy()["number"]
            kept[many] = lowest_of_each(owner[many], number, MAX_DIFFERENT)
        return Holdings(len(who), owner, every.record[rows], every.occurrences[rows], kept)

    @cached_property
    def _only(self) -> NDArray[np.int64] | None:
        """The record of every user, -1 for none, if nobody has two occurrences: then every sample is this one."""
        if self._table.numbers("SELECT count(*) AS many FROM occurrences")["many"][0] > self.users:
            return None
        rows = self._table.numbers("SELECT user_id, record_id FROM occurrences")
        ids = np.full(self.users, -1, dtype=np.int64)
        ids[rows["user_id"]] = rows["record_id"]
        return ids if np.count_nonzero(ids >= 0) == len(rows["user_id"]) else None

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
        return self._table.texts(ids)

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record id, and last that of <*,*>, so that the wildcard id -1 finds it too."""
        return self._table.locate(head_list)

    def occurrences(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """User, record and how often this user has it: a row for each pair that occurs, by record, then by user."""
        rows = self._table.numbers("""
            SELECT user_id, record_id, count(*) AS times FROM occurrences
            GROUP BY user_id, record_id ORDER BY record_id, user_id
        """)
        user, record, times = (rows[name].astype(np.int64) for name in ("user_id", "record_id", "times"))
        return user, record, times

    def query_lengths(self) -> NDArray[np.int64]:
        """How many code points the query of every record has."""
        lengths = self._table.numbers("SELECT length(query) AS length FROM records ORDER BY record_id")["length"]
        return lengths.astype(np.int64)

    def truth(self) -> Truth:
        """The probability of every record and query; the same bits in every run."""
        parts = self._table.numbers("""
            SELECT record_id, many, count(*) AS times
            FROM occurrences JOIN (SELECT user_id, count(*) AS many FROM occurrences GROUP BY user_id)
                USING (user_id)
            GROUP BY record_id, many ORDER BY record_id, many
        """)
        weights = parts["times"] / parts["many"] / self.users
        record = _sums(parts["record_id"], weights, self.distinct_records)
        query_id = self._table.numbers(
            "SELECT dense_rank() OVER (ORDER BY query) - 1 AS query_id FROM records ORDER BY record_id"
        )["query_id"].astype(np.int64)
        return Truth(record, query_id, _sums(query_id, record, 0))


def _sums(ids: NDArray[np.int64], weights: NDArray[np.float64], min_length: int) -> NDArray[np.float64]:
    """The sum of the weights of every id, added in the order they come."""
    return np.bincount(ids, weights, minlength=min_length).astype(np.float64)
