"""The people who come first in a random order, and all their rows, which are set aside while the log is read.

If a share of the people will be asked for all they have, it is known while the log is read who they may be: those with
the lowest numbers (:mod:`blendp.engines.choice`). How many people there are is not known yet, so the rows of some more
are set aside. If somebody who is asked for is not among them, or is spelt in several ways, or if memory did not
suffice, the log is read once more: what people hold is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from blendp.engines.choice import number_of_user
from blendp.engines.second_look import THEIR_ROWS

MAX_SHARE = 0.2
"""Of a larger share nothing is set aside: it would be much of the log."""

MORE = 1.25
"""How many times the share is set aside.

The first k people are among them but for a chance of 2 in 10^7 if k is 500, and of 5 in 100 if it is 50: a log of few
people is sooner read again.
"""

NOTHING = "NULL::VARCHAR"
"""SQL for the rows of a person of whom none are set aside."""

_WITHIN, _BETWEEN = "chr(0)", "chr(0) || chr(0)"
"""What stands within a record that is set aside, and between two: usable texts have no NUL byte, and none is empty.

One text costs the database less than a list.
"""

_GATHERED = f"""
    SELECT owner, split_part(record, {_WITHIN}, 1) AS query, split_part(record, {_WITHIN}, 2) AS url, times
    FROM (
        SELECT owner, record, count(*) AS times
        FROM (SELECT owner, unnest(string_split(own, {_BETWEEN})) AS record FROM {THEIR_ROWS}) GROUP BY owner, record
    )
"""

_LACKS = f"SELECT count(*) FROM {THEIR_ROWS} WHERE own IS NULL AND usable > 0"


def is_too_much(error: duckdb.Error) -> bool:
    """Whether memory did not suffice, or one person's rows are more than the 4 GiB that a text holds."""
    return isinstance(error, duckdb.OutOfMemoryException) or "string_agg" in str(error)


@dataclass(frozen=True)
class FirstPeople:
    """The first ``share`` of the people in the order that a ``key`` decides; records have so many ``levels``."""

    key: int
    share: float
    levels: int

    def number(self, user: str) -> str:
        """SQL for the place of a user in the order."""
        return number_of_user(user, self.key)

    @property
    def own(self) -> str:
        """SQL for the usable rows of a person, if they may be among the first; one more aggregate of the draw."""
        if self.share > MAX_SHARE:
            return NOTHING
        limit = int(self.share * MORE * (1 << 64))
        chosen = f"number IS NOT NULL AND {self.number('person')} < {limit}::UBIGINT"
        record = f" || {_WITHIN} || ".join(("query", "url")[: self.levels])
        return f"string_agg(CASE WHEN {chosen} THEN {record} END, {_BETWEEN})"

    def gathered(self, connection: duckdb.DuckDBPyConnection) -> str | None:
        """SQL for what the chosen people have, if all of it was set aside."""
        return None if connection.execute(_LACKS).fetchall()[0][0] else _GATHERED
