"""From rows of text to rows of numbers: the one time that the texts of a log are compared."""

from __future__ import annotations

import duckdb
import numpy as np

from blendp.engines.embedded import EmbeddedLog
from blendp.engines.quality import LogQuality

_NUMBER = """
    CREATE TABLE people AS
        SELECT "user", (row_number() OVER (ORDER BY "user") - 1)::INTEGER AS user_id
        FROM (SELECT DISTINCT "user" FROM staged WHERE "user" IS NOT NULL);
    CREATE TABLE named AS
        SELECT query, url, (row_number() OVER (ORDER BY query, url) - 1)::INTEGER AS record_id
        FROM (SELECT DISTINCT query, url FROM staged WHERE reason IS NULL);
    CREATE TABLE queries AS
        SELECT query, (row_number() OVER (ORDER BY query) - 1)::INTEGER AS query_id
        FROM (SELECT DISTINCT query FROM named);
    CREATE TABLE records AS
        SELECT record_id, query_id, url FROM named JOIN queries USING (query);
    CREATE TABLE occurrences AS
        SELECT user_id, record_id, row_number() OVER (PARTITION BY user_id ORDER BY row) AS place
        FROM staged JOIN people USING ("user")
            JOIN named ON named.query = staged.query AND named.url IS NOT DISTINCT FROM staged.url
        WHERE reason IS NULL;
"""


def number_rows(
    connection: duckdb.DuckDBPyConnection, levels: int, quality: LogQuality, *, opt_in: bool
) -> EmbeddedLog:
    """The log of the table ``staged`` of a connection, which the log then owns.

    The table has the columns row, user, query, url, opt_in and reason; rows with a reason are broken. Users,
    queries and records are numbered in the order of their UTF-8 bytes, so that equal logs have equal numbers
    whatever the order of their rows. The texts of user ids are then forgotten.
    """
    connection.execute(_NUMBER)
    users, records = connection.execute(
        "SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM named)"
    ).fetchall()[0]
    choices = None
    if opt_in:
        choices = np.zeros(users, dtype=bool)
        trusting = connection.execute("""
            SELECT user_id FROM staged JOIN people USING ("user")
            GROUP BY user_id HAVING bool_and(coalesce(opt_in, false))
        """)
        choices[trusting.fetchnumpy()["user_id"]] = True
        choices.setflags(write=False)
    connection.execute("DROP TABLE staged; DROP TABLE people; DROP TABLE named")
    return EmbeddedLog(users, levels, records, quality, choices, connection)
