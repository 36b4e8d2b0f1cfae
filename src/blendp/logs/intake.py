"""Where the rows of all formats come together: checked, normalised, and counted by their fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from blendp.engines.embedded import EmbeddedLog, connect
from blendp.engines.numbering import number_rows
from blendp.engines.quality import LogQuality
from blendp.errors import LogError
from blendp.logs.fields import Cut
from blendp.logs.normalise import query_sql, trim_sql, url_sql

LONGEST_TEXT = 8192
"""A user, query or URL of more bytes than this, after normalisation, makes its row a broken one."""

_ROLES = ("user", "query", "url", "opt_in")
_CHUNK = 1 << 16
_TRUE, _FALSE = "('true', '1', 'yes')", "('false', '0', 'no')"


class Intake:
    """A log on its way in.

    A row with a readable user makes that user part of the population, even if the row is broken otherwise;
    rows that are ignored never come here, and rows that cannot be cut into fields name no user.
    ``levels`` is set by the reader of the format.
    """

    def __init__(self, rule: str, *, opt_in: bool, progress: Callable[[int], None] | None = None) -> None:
        """Start an empty log under a rule of :mod:`blendp.logs.normalise`, with or without an opt-in column.

        ``progress`` is told how many rows have come in, every now and then.
        """
        self.connection = connect()
        self.levels: int | None = None
        self._rule = rule
        self._opt_in = opt_in
        self._progress = progress
        self._next_row = 0
        self._broken: Counter[str] = Counter()
        self._ignored: Counter[str] = Counter()
        self.connection.execute("""
            CREATE TABLE staged (
                row UBIGINT, "user" VARCHAR, query VARCHAR, url VARCHAR, opt_in BOOLEAN, reason VARCHAR)
        """)

    def count_broken(self, reason: str, rows: int) -> None:
        """Count rows that are broken and name no user."""
        self._broken[reason] += rows

    def count_ignored(self, reason: str, rows: int) -> None:
        """Count rows that hold no record by the rules of the format."""
        self._ignored[reason] += rows

    def numbered(self, table: pa.Table) -> pa.Table:
        """The table with the column ``row``, and with text where a column of bytes is UTF-8 throughout."""
        row = np.arange(self._next_row, self._next_row + table.num_rows, dtype=np.uint64)
        self._next_row += table.num_rows
        if self._progress is not None:
            self._progress(self._next_row)
        columns = {name: _as_text(table[name]) for name in table.column_names}
        numbered = pa.table({"row": pa.array(row), **columns})
        return pa.Table.from_batches(numbered.to_batches(max_chunksize=_CHUNK), numbered.schema)

    def add(self, table: pa.Table) -> None:
        """Take in rows with the columns user, query and, if the log has them, url and opt_in."""
        if not table.num_rows:
            return
        block = self.numbered(table)
        texts = {role: _text(block.schema, role) for role in _ROLES}
        unread = " OR ".join(
            f'("{role}" IS NOT NULL AND {text} IS NULL)' for role, text in texts.items() if "decode" in text
        )
        reason = f"CASE WHEN {unread} THEN 'not UTF-8' END" if unread else "NULL"
        selected = ", ".join(f'{text} AS "{role}"' for role, text in texts.items())
        self.connection.register("block", block)
        self.add_rows(f"SELECT row, {selected}, {reason} AS reason FROM block")
        self.connection.unregister("block")

    def add_rows(self, rows: str) -> None:
        """Take in the rows of an SQL query: row, user, query, url, opt_in as text, and why a row is broken."""
        choice = 'lower(trim("opt_in"))'
        self.connection.execute(f"""
            INSERT INTO staged
            WITH raw AS ({rows}),
            clean AS (
                SELECT row, {_user_sql('"user"')} AS "user",
                    {query_sql(self._rule, "query")} AS query, {url_sql(self._rule, "url")} AS url,
                    CASE WHEN {choice} IN {_TRUE} THEN true WHEN {choice} IN {_FALSE} THEN false END AS opt_in,
                    CASE WHEN reason IS NOT NULL THEN reason
                        WHEN contains("user", chr(0)) OR contains(query, chr(0)) OR contains(url, chr(0))
                        THEN 'NUL byte' END AS reason
                FROM raw)
            SELECT row,
                CASE WHEN "user" <> '' AND {_fits('"user"')} AND NOT contains("user", chr(0)) THEN "user" END,
                query, url, opt_in,
                CASE WHEN reason IS NOT NULL THEN reason
                    WHEN NOT ({_fits('"user"')} AND {_fits("query")} AND {_fits("url")}) THEN 'text too long'
                    WHEN coalesce("user", '') = '' THEN 'no user'
                    WHEN coalesce(query, '') = '' THEN 'no query'
                    WHEN {self._opt_in} AND opt_in IS NULL THEN 'opt-in value' END
            FROM clean
        """)

    def finish(self, max_broken: float, where: str) -> EmbeddedLog:
        """The log, unless more than the share ``max_broken`` of its rows is broken, or it has no users."""
        if self.levels == 2:
            self.connection.execute(
                "UPDATE staged SET reason = 'no URL' WHERE reason IS NULL AND coalesce(url, '') = ''"
            )
        staged = self.connection.execute("SELECT reason, count(*) FROM staged GROUP BY reason").fetchall()
        usable = sum(count for reason, count in staged if reason is None)
        broken = self._broken + Counter({reason: count for reason, count in staged if reason is not None})
        rows = usable + broken.total() + self._ignored.total()
        quality = LogQuality(rows, usable, broken, self._ignored)
        if not rows:
            raise LogError(f"{where} has no rows: give a log with rows.")
        quality.require(max_broken, where)
        log = number_rows(self.connection, self.levels or 1, quality, opt_in=self._opt_in)
        if not log.users:
            fates = "; ".join(str(quality).splitlines())
            raise LogError(f"{where} has no row that names a user ({fates}): check format and columns.")
        return log


@contextmanager
def register_lines(intake: Intake, cut: Cut) -> Iterator[str]:
    """SQL for the lines of a cut with their row numbers; a line that is not UTF-8 is NULL."""
    block = intake.numbered(pa.table({"line": cut.column(np.ones(len(cut.first), dtype=bool), 0)}))
    intake.connection.register("block", block)
    yield f"SELECT row, {_text(block.schema, 'line')} AS line FROM block"
    intake.connection.unregister("block")


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bytes as text, if all of them are UTF-8."""
    try:
        return column.cast(pa.large_string() if pa.types.is_large_binary(column.type) else pa.string())
    except pa.ArrowInvalid:
        return column


def _text(schema: pa.Schema, role: str) -> str:
    if role not in schema.names:
        return "NULL::VARCHAR"
    kind = schema.field(role).type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return f'"{role}"' if is_text else f'try(decode("{role}"))'


def _user_sql(text: str) -> str:
    """A user is the same person however the id is spelt: NFC, without white space at the ends."""
    return f"CASE WHEN regexp_full_match({text}, '[!-~]+') THEN {text} ELSE nfc_normalize({trim_sql(text)}) END"


def _fits(text: str) -> str:
    return f"coalesce(strlen({text}) <= {LONGEST_TEXT}, true)"
