"""Filters in Spark's SQL: known to look at one row alone before a row is read, and never to stop at one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from blendp.errors import ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LENIENT = {"spark.sql.ansi.enabled": "false", "spark.sql.legacy.timeParserPolicy": "CORRECTED"}
"""With these settings what cannot be worked out is NULL."""

_OUTSIDE = ("Current", "Now", "LocalTimestamp", "InputFile", "RaiseError", "Scalar")
"""How expressions are called in Spark that look at more than a row, or end a query."""

_LEGAL = "one expression of Spark's SQL on the log's columns that is true or false"
_ONE_ROW = "A filter looks at one row alone."


def require_row_filter(session: SparkSession, paths: Sequence[str], where: str) -> None:
    """Raise :class:`ParameterError` unless this is true or false of every row, and of that row alone."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        with lenient(session):
            read = session.read.parquet(*paths)
            frame = read.selectExpr(f"({where}\n) AS kept")
    except (AnalysisException, ParseException) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ParameterError("where", where, f"{_LEGAL} ({reason})", _ONE_ROW) from error
    plan = frame._jdf.queryExecution().analyzed()
    alone = plan.nodeName() == "Project" and plan.child().children().isEmpty() and plan.subqueries().isEmpty()
    alone = alone and plan.child().output().length() == len(read.columns)  # no hidden one: a row's place, its file
    if not alone or not plan.deterministic():
        raise ParameterError("where", where, _LEGAL, _ONE_ROW)
    for name in _names(plan.expressions()):
        if name.startswith(_OUTSIDE):
            raise ParameterError("where", where, f"{_LEGAL}: it has {name}", _ONE_ROW)
    if (kind := frame.dtypes[0][1]) != "boolean":
        raise ParameterError("where", where, f"{_LEGAL} (it gives {kind})", "Compare it with something.")


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
