"""Times as people write them, read row by row: one rule, in the words of either engine.

A time is read by the way in which it is written itself, never by that of other rows. What may be read in two ways
(10/05/2026, a year of two digits) is not read at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from blendp.engines.usable import DUCKDB, SPARK, Dialect
from blendp.normalise import literal

_DAYS = {
    "([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})": "<1>-<2>-<3>",
    "([0-9]{4})([0-9]{2})([0-9]{2})": "<1>-<2>-<3>",
    "([0-9]{1,2})[.]([0-9]{1,2})[.]([0-9]{4})": "<3>-<2>-<1>",
}
"""How days are written, and their ISO 8601."""

_ZONE = "(?:UTC|GMT|(Z|[+-][0-9]{2}|[+-][0-9]{2}:?[0-9]{2}))?"
_CLOCKS = {
    "": "",
    f",?[T ] ?([0-9]{{1,2}}:[0-9]{{2}}) ?{_ZONE}": "T<4>:00<5>",
    f",?[T ] ?([0-9]{{1,2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.][0-9]+)?) ?{_ZONE}": "T<4><5>",
}
"""What may follow a day, and its ISO 8601."""

_SERVER = f"([0-9]{{1,2}})/([A-Z][a-z]{{2}})/([0-9]{{4}}):([0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}) ?{_ZONE}"
"""How web servers write times: 15/Oct/2026:12:00:00 +0000."""

_MONTHS = "Jan01Feb02Mar03Apr04May05Jun06Jul07Aug08Sep09Oct10Nov11Dec12"
_SINCE_1970 = {"1[0-9]{9}(?:[.][0-9]+)?": 1_000_000, "1[0-9]{12}(?:[.][0-9]+)?": 1_000}
"""Seconds and milliseconds since 1970, as they are from 2001 to 2033, and how many microseconds each is."""


@dataclass(frozen=True)
class TimeDialect:
    """Where the SQL of two engines differs about times: templates with a place for each argument."""

    texts: Dialect
    group: str
    """What stands before the number of a group in a replacement."""

    of_iso: str
    """The moment that an ISO 8601 text stands for, or a column of times; NULL if there is none."""

    of_microseconds: str

    def of_text(self, text: str) -> str:
        """SQL for the moment that a text stands for, NULL if it cannot be read."""
        name = f"regexp_extract({text}, {literal(_SERVER)}, 2)"
        month = f"substr('{_MONTHS}', instr('{_MONTHS}', {name}) + 3, 2)"
        ways = {
            pattern: self.of_microseconds.format(f"CAST(round(CAST({text} AS DOUBLE) * {unit}) AS BIGINT)")
            for pattern, unit in _SINCE_1970.items()
        }
        for (day, date), (clock, time) in product(_DAYS.items(), _CLOCKS.items()):
            ways[day + clock] = self.of_iso.format(self._replaced(text, day + clock, date + time))
        year, rest = (self._replaced(text, _SERVER, parts) for parts in ("<3>-", "-<1>T<4><5>"))
        ways[_SERVER] = self.of_iso.format(f"concat({year}, {month}, {rest})")
        cases = (f"WHEN {self.texts.matches.format(text, literal(way))} THEN {sql}" for way, sql in ways.items())
        return f"CASE {' '.join(cases)} END"

    def _replaced(self, text: str, pattern: str, parts: str) -> str:
        """SQL for the parts of a text that matches a pattern."""
        parts = parts.replace("<", self.group).replace(">", "")
        return f"regexp_replace({text}, {literal(f'^{pattern}$')}, {literal(parts)})"


_DUCKDB = TimeDialect(DUCKDB, "\\", "TRY_CAST({0} AS TIMESTAMPTZ)", "make_timestamp({0})::TIMESTAMPTZ")
_SPARK = TimeDialect(SPARK, "$", "try_cast({0} AS TIMESTAMP)", "timestamp_micros({0})")


def time_for_duckdb(column: str) -> str:
    """DuckDB's SQL for the time in a column of any type, NULL if it cannot be read.

    Its own reading comes first, which is fast, but takes 26-10-15 for a day of the year 26.
    """
    own = _DUCKDB.of_iso.format(column)
    own = f"CASE WHEN {own} BETWEEN TIMESTAMPTZ '1000-01-01' AND TIMESTAMPTZ '9999-12-31' THEN {own} END"
    return f"coalesce({own}, {_DUCKDB.of_text(f'trim({column}::VARCHAR)')})"


def time_for_spark(column: str, kind: str) -> str:
    """The same in Spark's SQL, for a column of this type."""
    if kind in ("timestamp", "timestamp_ntz", "date"):
        return _SPARK.of_iso.format(column)
    plain = f"CAST({column} AS DECIMAL(22, 6))" if kind in ("double", "float") else column
    return _SPARK.of_text(f"trim(CAST({plain} AS STRING))")


def in_span(time: str, bounds: Sequence[tuple[str, datetime]]) -> str:
    """SQL for whether a time keeps all bounds, in UTC; NULL if there is none."""
    return " AND ".join(f"{time} {sign} TIMESTAMP '{moment.isoformat()}'" for sign, moment in bounds)
