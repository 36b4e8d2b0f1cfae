"""Counting clients' reports on Spark: the rules of :mod:`blendp.engines.spool`, for spools that outgrow a machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from blendp.engines.spark.failures import spark_errors
from blendp.engines.spool import REASONS, CountedReports
from blendp.errors import LogError
from blendp.reports import QUESTIONS, ListQuestions
from blendp.wire.reports import ID_BYTES

_TYPES = {"report_id": "binary", "list_sha256": "string", "question": "string", "items": "array<int>"}


def count_reports(spark: SparkSession, paths: Sequence[str], form: ListQuestions) -> CountedReports:
    """Add up the reports of these Parquet files, folders or patterns, which may be addresses (``s3a://...``).

    Rows of a file that lacks a column are refused. Raises :class:`LogError` where nothing is found, a file is broken or
    of another type, or no file has a column.
    """
    if not paths:
        raise LogError("The spool has no files: give at least one path.")
    for path in paths:
        if path.rstrip("/").rsplit("/", 1)[-1].startswith(("_", ".")):
            raise LogError(f"{path} would not be read: Spark passes over names that begin with _ or a dot, rename it.")
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    with spark_errors(where):
        spool = spark.read.option("mergeSchema", "true").parquet(*paths)
        _require_schema(spool, where)
        judged = spool.select("report_id", "question", "items", _reason(form).alias("reason"))
        fates = {row["reason"]: row["count"] for row in judged.groupBy("reason").count().collect()}
        sums = _sums(judged.where(fn.col("reason").isNull())).toArrow()
    conflicts = int(sums["conflicts"].to_numpy().sum())
    return CountedReports.of_sums(form, fates, conflicts, sums)


def exact_path(path: Path) -> str:
    """The address of a file on this machine, as a pattern that matches it and no other."""
    return "file://" + re.sub(r"([][{}*?\\\\])", r"\\\1", str(path.absolute()))


def _sums(possible: DataFrame) -> DataFrame:
    """How many reports contain each item; ``conflicts`` counts at its first item a report chosen among different ones.

    Marks alone are shuffled, not rows. The rows of an id that came more than once are first put together where they are
    read, so that one with very many burdens no single machine.
    """
    mark = fn.xxhash64("report_id").alias("mark")
    shared = possible.select(mark).groupBy("mark").count().where("count > 1").select("mark")
    again = possible.select("*", mark).join(shared, "mark", "left_semi")
    row = fn.struct("question", "items")
    kept = again.groupBy("report_id").agg(fn.min(row).alias("kept"), fn.max(row).alias("other"))
    judged = kept.select("kept.question", "kept.items", (fn.col("kept") != fn.col("other")).alias("conflict"))
    parts = (
        _items(possible, 1, fn.lit(False)),
        _items(again, -1, fn.lit(False)),
        _items(judged, 1, fn.col("conflict") & (fn.col("place") == 0)),
    )
    return (
        reduce(DataFrame.unionAll, parts)
        .groupBy("question", "item")
        .agg(fn.sum("n").alias("n"), fn.sum("conflicts").alias("conflicts"))
    )


def _items(reports: DataFrame, times: int, conflict: Column) -> DataFrame:
    """A row for every item of these reports: how often it is to be counted, and whether it tells of a conflict."""
    items = reports.select("*", fn.posexplode("items").alias("place", "item"))
    return items.select("question", "item", fn.lit(times).alias("n"), conflict.cast("long").alias("conflicts"))


def _reason(form: ListQuestions) -> Column:
    """Why a row is refused; NULL if it is not. Sorting puts NULL first, so the first item tells if there is one."""
    items = fn.col("items")
    ascending = (fn.sort_array(items) == items) & (fn.size(fn.array_distinct(items)) == fn.size(items))
    possible = reduce(
        Column.__or__,
        (
            (fn.col("question") == name)
            & (fn.size(items) == question.size)
            & (fn.get(items, fn.lit(0)) >= 0)
            & (fn.get(items, fn.lit(question.size - 1)) < question.items)
            for name, question in form.questions.items()
        ),
    )
    holds = (
        fn.octet_length("report_id") == ID_BYTES,
        fn.col("list_sha256") == form.head_list.sha256,
        fn.col("question").isin(*QUESTIONS),
        possible & ascending,
    )
    reasons = zip(holds, REASONS, strict=True)
    return fn.coalesce(*(fn.when(fn.coalesce(fine, fn.lit(False)), None).otherwise(reason) for fine, reason in reasons))


def _require_schema(spool: DataFrame, where: str) -> None:
    types = {field.name: field.dataType.simpleString() for field in spool.schema}
    for name, wanted in _TYPES.items():
        if name not in types:
            raise LogError(f"{where} has no column {name!r}: a spool has {', '.join(_TYPES)}.")
        if types[name] != wanted:
            raise LogError(f"The column {name!r} of {where} holds {types[name]}: a spool has {wanted} there.")
