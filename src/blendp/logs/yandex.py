"""The Yandex "personalized web search" format: sessions, queries and clicks, a line each and tab separated.

    SessionID  M  Day  USERID                                                      a session
    SessionID  TimePassed  Q  SERPID  QueryID  Terms  URL,Domain  URL,Domain ...   a query (T: a test query)
    SessionID  TimePassed  C  SERPID  URLID                                        a click

A record is <QueryID, URLID> of a click: its page (SERPID) within the session names the query, its session the
user. As rows count the clicks and the queries without a click, which are ignored; the other lines only say
what a click means, and count as rows if they are broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from blendp.logs.encodings import UTF_8
from blendp.logs.fields import cut_file
from blendp.logs.intake import RowIntake, register_lines

_TABLES = """
    CREATE TEMP TABLE sessions (row UBIGINT, session VARCHAR, "user" VARCHAR);
    CREATE TEMP TABLE pages (row UBIGINT, session VARCHAR, page VARCHAR, query VARCHAR);
    CREATE TEMP TABLE clicks (row UBIGINT, session VARCHAR, page VARCHAR, url VARCHAR);
"""

_SORTED = """
    SELECT row, field, kind,
        CASE WHEN line IS NULL THEN 'not UTF-8'
            WHEN kind IS NULL THEN 'unknown kind of line'
            WHEN (kind = 'M' AND len(field) <> 4) OR (kind = 'C' AND len(field) <> 5)
                OR (kind = 'Q' AND len(field) < 6) THEN 'wrong number of fields'
            WHEN field[1] = '' THEN 'no session' END AS reason
    FROM (
        SELECT row, line, field,
            CASE WHEN field[2] = 'M' THEN 'M' WHEN field[3] IN ('Q', 'T') THEN 'Q' WHEN field[3] = 'C' THEN 'C' END
                AS kind
        FROM (SELECT row, line, string_split(line, chr(9)) AS field FROM ({lines})))
"""

_KEEP = """
    INSERT INTO sessions SELECT row, field[1], field[4] FROM sorted WHERE reason IS NULL AND kind = 'M';
    INSERT INTO pages SELECT row, field[1], field[4], field[5] FROM sorted WHERE reason IS NULL AND kind = 'Q';
    INSERT INTO clicks SELECT row, field[1], field[4], field[5] FROM sorted WHERE reason IS NULL AND kind = 'C';
"""

_FIRST = """
    CREATE TEMP TABLE first_sessions AS
        SELECT session, arg_min("user", row) AS "user", count(*) AS times FROM sessions GROUP BY session;
    CREATE TEMP TABLE first_pages AS
        SELECT session, page, arg_min(query, row) AS query, count(*) AS times FROM pages GROUP BY session, page;
"""

_CLICKS = """
    SELECT row, "user", query, url, NULL AS opt_in,
        CASE WHEN first_sessions.times IS NULL THEN 'unknown session'
            WHEN first_pages.times IS NULL THEN 'unknown page (SERP)' END AS reason
    FROM clicks
        LEFT JOIN first_sessions USING (session)
        LEFT JOIN first_pages ON first_pages.session = clicks.session AND first_pages.page = clicks.page
"""

_DROP = "; ".join(f"DROP TABLE {t}" for t in ("sessions", "pages", "clicks", "sorted", "first_sessions", "first_pages"))


def read_yandex(paths: Iterable[Path], intake: RowIntake, encoding: str = UTF_8) -> None:
    """Take in Yandex files; a session may stand in another file than its clicks."""
    intake.levels = 2
    connection = intake.connection
    connection.execute(_TABLES)
    for path in paths:
        for cut in cut_file(path, None, header=False, encoding=encoding):
            with register_lines(intake, cut) as lines:
                connection.execute("CREATE OR REPLACE TEMP TABLE sorted AS " + _SORTED.format(lines=lines))
            connection.execute(_KEEP)
            broken = "SELECT reason, count(*) FROM sorted WHERE reason IS NOT NULL GROUP BY reason"
            for reason, count in connection.execute(broken).fetchall():
                intake.count_broken(reason, count)
    connection.execute(_FIRST)
    for reason, table in (("repeated session", "first_sessions"), ("repeated page (SERP)", "first_pages")):
        (times,) = connection.execute(f"SELECT coalesce(sum(times - 1), 0)::BIGINT FROM {table}").fetchall()[0]
        intake.count_broken(reason, times)
    (unclicked,) = connection.execute(
        "SELECT count(*) FROM first_pages ANTI JOIN clicks USING (session, page)"
    ).fetchall()[0]
    intake.count_ignored("no click", unclicked)
    intake.add_rows(_CLICKS)
    connection.execute(_DROP)
