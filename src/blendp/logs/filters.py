"""Which rows of a log count: a filter in SQL on the log's own columns, and a span of time.

A filter is the same for everybody and looks at one row alone: columns, constants, operators and functions that always
give the same, nothing else. What is no such expression is refused before a row is read. A row for which it is not true
is filtered out, be it false, unknown (NULL) or impossible to work out: no row stops a run on the embedded engine; on
Spark a few functions do (docs/logs.md). A row that is not filtered out so and has no time that can be read is broken,
where a span of time is asked for. Its person takes part all the same, without that record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from blendp.engines.moments import in_span, time_for_duckdb
from blendp.errors import LogError, ParameterError
from blendp.logs.bounded_calls import unbounded, write_pattern_out
from blendp.logs.columns import one_position
from blendp.spelling import option

ALIAS = "filter_"
"""How our own names of the columns begin that a filter looks at."""

_EXPRESSIONS = frozenset(
    ("BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR")
)
"""The kinds of expressions that look at one row, in the words of the database's parser."""

_SHORTHANDS = ("nullif", "split_part", "fmod", "fdiv", "days_in_month", "date_add")
"""Functions that the database writes out in terms of others, and that look at their arguments alone."""

_OUTSIDE = ("current_localtime", "current_localtimestamp", "current_setting", "getvariable", "vector_type")
"""Functions that look at more than their arguments, though the database lists them as if they did not."""

_AGE_NOW = "age of one argument"

_LEGAL = "one expression on the log's columns that is true or false"
_HINT = "For instance: country = 'DE' AND amount::INT > 3."


@dataclass(frozen=True, kw_only=True)
class RowFilter:
    """The rows that count.

    where:
        where        is an SQL expression, in the words of the engine that reads the log,
        since, until  are the first moment that counts and the first that does not, such as 2026-11-01 or
                     2026-11-01T12:30:00+01:00; in UTC unless they say otherwise,
        time_column  is the column with the time of a row.
    """

    where: str | None = None
    since: str | None = None
    until: str | None = None
    time_column: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no moment, spans that end before they begin, and a time column that is not used."""
        since, until = (_moment(name, getattr(self, name)) for name in ("since", "until"))
        if since and until and since >= until:
            raise ParameterError("until", self.until, f"after since = {self.since}", "Give a later moment.")
        if self.time_column is not None and not (since or until):
            raise ParameterError(
                "time_column", self.time_column, "left out without since and until", "Say since when, or until when."
            )
        if self.where is not None and not self.where.strip():
            raise ParameterError("where", self.where, _LEGAL, _HINT)

    def __bool__(self) -> bool:
        """Whether anything is filtered."""
        return not (self.where is None and self.since is None and self.until is None)

    @property
    def bounds(self) -> list[tuple[str, datetime]]:
        """How the time of a row compares with each bound that was given, in UTC."""
        given = ((">=", _moment("since", self.since)), ("<", _moment("until", self.until)))
        return [(sign, moment) for sign, moment in given if moment is not None]

    def time_name(self, names: Sequence[str] | None, where: str) -> str:
        """The column with the time of a row: of these, or just as it was given if rows alone have names."""
        if names is None:
            if self.time_column is None:
                legal = "given where no header names the columns"
                raise ParameterError("time_column", None, legal, "Name the column with the time of a row.")
            return self.time_column
        position = one_position(names, "time", self.time_column, where)
        if position is None:
            shown = ", ".join(repr(name[:40]) for name in list(names)[:12])
            absent = "with a time" if self.time_column is None else repr(self.time_column)
            named_by = option("time_column")
            raise LogError(f"{where} has no column {absent} (it has {shown}): name that with the time ({named_by}).")
        return names[position]


@dataclass(frozen=True)
class CompiledFilter:
    """A filter as the embedded database understands it.

    where:
        columns  has the columns that are looked at, and the name of each in ``tests``,
        tests    are SQL expressions; the rows count for which all are true,
        span     is one more, of the time of a row, None if there are no bounds: NULL if that time cannot be read.
    """

    columns: Mapping[str, str]
    tests: Sequence[str]
    span: str | None = None

    @property
    def sql(self) -> str:
        """True of the rows that count, NULL of those of which it is not known when they were, false of all others."""
        tests = [f"coalesce({test}, false)" for test in self.tests] + ([f"({self.span})"] if self.span else [])
        return " AND ".join(tests) or "true"

    def __bool__(self) -> bool:
        """Whether anything is filtered."""
        return bool(self.tests or self.span)

    def over(self, names: Sequence[str], where: str) -> dict[str, int]:
        """Where the columns stand among the names of all, by their name in ``tests``."""
        return {alias: column_position(names, column, where) for column, alias in self.columns.items()}


def compiled(
    rows: RowFilter, names: Sequence[str] | None, where: str, connection: duckdb.DuckDBPyConnection
) -> CompiledFilter:
    """The filter in the words of the embedded database.

    ``names`` are those of all columns, None where rows alone have them. Raises :class:`ParameterError` for what is no
    filter, and :class:`LogError` if there is no such column.
    """
    if not rows:
        return CompiledFilter({}, ())
    connection.execute("SET TimeZone = 'UTC'")
    columns: dict[str, str] = {}

    def alias_of(column: str) -> str:
        return columns.setdefault(column, f"{ALIAS}{len(columns)}")

    tests: list[str] = []
    if rows.where is not None:
        tests.append(f"TRY({_checked(rows.where, connection, alias_of)})")
    span = in_span(time_for_duckdb(alias_of(rows.time_name(names, where))), rows.bounds) if rows.bounds else None
    if names is not None:
        for column in columns:
            column_position(names, column, where)
    return CompiledFilter(columns, tests, span)


def require_truth(
    filter: CompiledFilter, columns: str | None, connection: duckdb.DuckDBPyConnection, asked: str | None
) -> None:
    """Raise unless the filter is true or false of rows with these columns: SQL for them, None if all are texts."""
    texts = ", ".join(f"NULL::VARCHAR AS {alias}" for alias in filter.columns.values()) or "NULL"
    for test in filter.tests:
        try:
            kind = connection.execute(f"DESCRIBE SELECT {test} FROM ({columns or f'SELECT {texts}'})").fetchall()[0][1]
            reason = f"it gives {kind}"
        except duckdb.Error as error:
            kind, reason = None, str(error).splitlines()[0].partition(": ")[2].strip().rstrip(".")
        if kind != "BOOLEAN":
            for name, alias in filter.columns.items():
                reason = reason.replace(alias, name)
            remedy = "In text files all columns are text: compare numbers as amount::INT > 3."
            raise ParameterError("where", asked, f"true or false of every row ({reason})", remedy)


def column_position(names: Sequence[str], column: str, where: str) -> int:
    """Where a column stands that a filter names: exactly so, or in another case."""
    exact = [at for at, name in enumerate(names) if name == column]
    alike = exact or [at for at, name in enumerate(names) if name.casefold() == column.casefold()]
    if len(alike) != 1:
        shown = ", ".join(repr(name[:40]) for name in list(names)[:12])
        number = "no column" if not alike else f"{len(alike)} columns"
        remedy = f"mend the filter ({option('where')}), and put texts in single quotes"
        raise LogError(f"{where} has {number} {column!r} (it has {shown}): {remedy}.")
    return alike[0]


def _checked(where: str, connection: duckdb.DuckDBPyConnection, alias_of: Callable[[str], str]) -> str:
    """The expression once it is known to look at one row alone, with a name of ours for each column.

    Casts give NULL where they fail: the whole expression would be tried row by row otherwise, which is slow.
    """
    _parsed(where, connection)  # by itself: parentheses of its own might close ours
    tree = _parsed(f"(\n{where}\n)", connection, where)
    statements = tree["statements"]
    node = statements[0]["node"]
    plain = len(statements) == 1 and node["type"] == "SELECT_NODE" and node["from_table"]["type"] == "EMPTY"
    if not plain or len(node["select_list"]) != 1 or not _is_bare(node):
        raise ParameterError("where", where, f"{_LEGAL}, and nothing after it", _HINT)
    expressions = list(_expressions(node["select_list"]))
    for one in expressions:
        if one["class"] not in _EXPRESSIONS:
            kind = one["class"].lower().replace("_", " ")
            raise ParameterError("where", where, f"{_LEGAL}: it has a {kind}", "A filter looks at one row alone.")
        if one["class"] == "COLUMN_REF":
            if len(one["column_names"]) != 1:
                name = ".".join(one["column_names"])
                raise ParameterError("where", where, f"{_LEGAL}: {name} is none", "Name columns alone.")
            one["column_names"] = [alias_of(one["column_names"][0])]
        if one["class"] == "CAST":
            one["try_cast"] = True
        if one["class"] == "FUNCTION" and (one.get("distinct") or one.get("filter") or one["order_bys"]["orders"]):
            raise ParameterError("where", where, f"{_LEGAL}: it has an aggregate", "A filter looks at one row alone.")
    _require_functions({_function(one) for one in expressions if one["class"] == "FUNCTION"}, where, connection)
    for one in (one for one in expressions if one["class"] == "FUNCTION"):
        if (called := unbounded(one)) is not None:
            trouble = f"{_LEGAL}: one row could make {called} fail, or take for ever"
            raise ParameterError("where", where, trouble, "Give it a constant in place of a column, or use another.")
        write_pattern_out(one, connection)
    node["select_list"][0]["alias"] = ""
    sql: str = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()[0][0]
    return sql.removeprefix("SELECT ")


def _function(call: Mapping[str, Any]) -> str:
    """What is called; country.length() is no function, and age() of one moment asks the clock for the other."""
    name = ".".join(part for part in (call["schema"], call["function_name"]) if part not in ("", "main"))
    return _AGE_NOW if name == "age" and len(call["children"]) == 1 else name


def _parsed(expression: str, connection: duckdb.DuckDBPyConnection, where: str | None = None) -> dict[str, Any]:
    """The tree of a SELECT of this, which stands for what was asked: ``where``, or the expression itself."""
    asked = "SELECT json_serialize_sql(?::VARCHAR)"
    tree: dict[str, Any] = json.loads(connection.execute(asked, [f"SELECT {expression}"]).fetchall()[0][0])
    if tree.get("error"):
        reason = tree.get("error_message", "no SQL")
        raise ParameterError("where", where or expression, f"{_LEGAL}: it does not parse ({reason})", _HINT)
    return tree


def _is_bare(node: Mapping[str, Any]) -> bool:
    """Whether a SELECT has nothing but its list."""
    parts = ("where_clause", "having", "qualify", "sample")
    many = ("group_expressions", "group_sets", "modifiers")
    return not any(node.get(part) for part in (*parts, *many)) and not node["cte_map"]["map"]


def _expressions(tree: Any) -> Iterable[dict[str, Any]]:
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for part in tree.values():
            yield from _expressions(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _expressions(part)


def _require_functions(names: set[str], where: str, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise unless all of these are functions of their arguments alone."""
    known = connection.execute(
        "SELECT function_name, bool_and(function_type = 'scalar' AND stability = 'CONSISTENT') FROM duckdb_functions()"
        " WHERE list_contains(?, function_name) GROUP BY function_name",
        [sorted(names)],
    ).fetchall()
    fine = ({name for name, is_fine in known if is_fine} | set(_SHORTHANDS)) - set(_OUTSIDE)
    for name in sorted(names - fine):
        operator = name.removesuffix("__postfix")
        if operator != name:
            raise ParameterError("where", where, f"{_LEGAL}: it does not parse (nothing follows {operator})", _HINT)
        is_known = name in dict(known) or name == _AGE_NOW
        trouble = "is not a function of one row" if is_known else "is no function that is known"
        raise ParameterError("where", where, f"{_LEGAL}: {name} {trouble}", "A filter looks at one row alone.")


def _moment(name: str, text: str | None) -> datetime | None:
    """A moment in UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        legal = "a day or a moment, such as 2026-11-01 or 2026-11-01T12:30"
        raise ParameterError(name, text, legal, "Write it like that.") from None
