"""Filters in Spark's SQL: known to look at one row alone before a row is read, and never to stop at one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from blendp.engines.spark.failures import plain_reason
from blendp.errors import LogError, ParameterError
from blendp.spelling import option

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

_LENIENT = {"spark.sql.ansi.enabled": "false", "spark.sql.legacy.timeParserPolicy": "CORRECTED"}
"""With these settings what cannot be worked out is NULL."""

_OUTSIDE = ("Current", "Now", "LocalTimestamp", "InputFile", "RaiseError", "Scalar")
"""How expressions are called in Spark that look at more than a row, or end a query."""

_LEGAL = "one expression of Spark's SQL on the log's columns that is true or false"
_ONE_ROW = "A filter looks at one row alone."


def require_row_filter(session: SparkSession, paths: Sequence[str], where: str) -> None:
    """Raise :class:`ParameterError` unless this is true or false of every row, and of that row alone.

    A column that is not there is a :class:`LogError`.
    """
    from pyspark.errors import AnalysisException, ParseException

    read = session.read.parquet(*paths)
    try:
        with lenient(session):
            session._jsparkSession.sessionState().sqlParser().parseExpression(where)
            frame = read.selectExpr(f"({where}\n) AS kept")
    except (AnalysisException, ParseException) as error:
        raise _refused(error, where, read.columns, paths[0]) from error
    plan = frame._jdf.queryExecution().analyzed()
    alone = plan.nodeName() == "Project" and plan.child().children().isEmpty() and plan.subqueries().isEmpty()
    alone = alone and plan.child().output().length() == len(read.columns)  # no hidden one: a row's place, its file
    if not alone:
        raise ParameterError("where", where, f"{_LEGAL}: it looks at more than these columns of a row", _ONE_ROW)
    if not plan.deterministic():
        reason = "it does not give the same for the same row every time, as random functions do not"
        raise ParameterError("where", where, f"{_LEGAL}: {reason}", "Compare columns and constants.")
    for name in _names(plan.expressions()):
        if name.startswith(_OUTSIDE):
            raise ParameterError("where", where, f"{_LEGAL}: it has {name}", _ONE_ROW)
    if (kind := frame.dtypes[0][1]) != "boolean":
        raise ParameterError("where", where, f"{_LEGAL} (it gives {kind})", "Compare it with something.")


def _refused(error: PySparkException, where: str, columns: Sequence[str], log_name: str) -> ParameterError | LogError:
    """What Spark says of an expression, in a sentence."""
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN"):
        shown = ", ".join(repr(name[:40]) for name in columns[:12])
        name = parameters.get("objectName", "").replace("`", "")
        return LogError(f"{log_name} has no column {name!r} (it has {shown}): mend the filter ({option('where')}).")
    if condition.startswith("PARSE_"):
        near = parameters.get("error", "")
        trouble = f"it does not parse{f', at {near}' if near else ''}"
        return ParameterError("where", where, f"{_LEGAL}: {trouble}", "Write one whole condition.")
    return ParameterError("where", where, f"{_LEGAL} ({plain_reason(str(error))})", _ONE_ROW)


@contextmanager
def lenient(session: SparkSession) -> Iterator[None]:
    """What Spark plans and works out meanwhile gives NULL where it would fail."""
    before = {name: session.conf.get(name) for name in _LENIENT}
    for name, value in _LENIENT.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is not None:
                session.conf.set(name, earlier)


def _names(expressions: Any) -> Iterator[str]:
    """What all expressions are called, with those that they are made of."""
    for number in range(expressions.length()):
        one = expressions.apply(number)
        yield one.getClass().getSimpleName()
        yield from _names(one.children())
