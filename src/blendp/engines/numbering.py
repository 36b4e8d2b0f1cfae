"""From rows of text to rows of numbers: the one time that the texts of a log are compared."""

from __future__ import annotations

import duckdb
import numpy as np

from blendp.engines.embedded import EmbeddedLog
from blendp.engines.quality import LogQuality
from blendp.engines.records import RecordTable
from blendp.engines.usable import DUCKDB, RowRule
from blendp.normalise import query_sql, url_sql, user_sql

_NUMBER = """
    CREATE TABLE clean AS
        SELECT {place} AS place, why IS NULL AS usable, {opts_in} AS opts_in,
            CASE WHEN {somebody} THEN {user} END AS name,
            CASE WHEN why IS NULL THEN {query} END AS query,
            CASE WHEN why IS NULL THEN {url} END AS url
        FROM (SELECT *, {reason} AS why FROM ({rows}));
    DROP TABLE IF EXISTS staged;
    CREATE TABLE people AS
        SELECT name, (row_number() OVER (ORDER BY name) - 1)::INTEGER AS user_id
        FROM (SELECT DISTINCT name FROM clean WHERE name IS NOT NULL);
    CREATE TABLE records AS
        SELECT query, url, (row_number() OVER (ORDER BY query, url) - 1)::INTEGER AS record_id
        FROM (SELECT DISTINCT query, url FROM clean WHERE usable);
    CREATE TABLE occurrences AS
        SELECT user_id, record_id, row_number() OVER (PARTITION BY user_id ORDER BY {order}) AS place
        FROM clean JOIN people USING (name)
            JOIN records ON records.query = clean.query AND records.url IS NOT DISTINCT FROM clean.url
        WHERE usable;
"""


def number_rows(
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    reason: str,
    rule: RowRule,
    quality: LogQuality,
    *,
    has_places: bool,
) -> EmbeddedLog:
    """The log of the rows of an SQL query, in a database that the log then owns.

    Users, queries and records are numbered in the order of their UTF-8 bytes, so that equal logs have equal numbers
    whatever the order of their rows. The texts of user ids are then forgotten. Rows without places are told apart by
    the order in which they come.
    """
    connection.execute(
        _NUMBER.format(
            place="place" if has_places else "NULL",
            order="place" if has_places else "clean.rowid",
            opts_in=rule.opts_in(DUCKDB),
            somebody=rule.names_somebody(DUCKDB),
            user=user_sql("person"),
            query=query_sql(rule.normalise, "query"),
            url=url_sql(rule.normalise, "url") if rule.levels == 2 else "NULL::VARCHAR",
            reason=reason,
            rows=rows,
        )
    )
    users, records = connection.execute(
        "SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM records)"
    ).fetchall()[0]
    choices = None
    if rule.opt_in:
        choices = np.zeros(users, dtype=bool)
        trusting = connection.execute(
            "SELECT user_id FROM clean JOIN people USING (name) GROUP BY user_id HAVING bool_and(opts_in)"
        )
        choices[trusting.fetchnumpy()["user_id"]] = True
        choices.setflags(write=False)
    connection.execute("DROP TABLE clean; DROP TABLE people")
    return EmbeddedLog(users, rule.levels, quality, choices, RecordTable(records, connection))
