"""Opening a log on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from blendp.engines.moments import in_span, time_for_spark
from blendp.engines.spark import SparkLog, SparkSettings, spark_session
from blendp.engines.spark.filters import require_row_filter
from blendp.engines.spark.local_files import require_local_files
from blendp.engines.spark.log import columns_of, quoted, require_plain
from blendp.engines.usable import RowRule
from blendp.errors import LogError, ParameterError
from blendp.logs.columns import positions, same_levels
from blendp.logs.reading import HowRead, LogReading, ReadingOptions


def open_spark_log(source: str | Sequence[str], settings: SparkSettings, **options: Unpack[ReadingOptions]) -> SparkLog:
    """Open Parquet files, folders or patterns by the paths or addresses that Spark knows them by.

    The options are those of :func:`blendp.open_log`, but for what is about text files; ``where`` is Spark's SQL. How
    much memory the driver has, the settings say.
    """
    reading = LogReading.of("open_spark_log", options)
    if reading.format not in ("auto", "parquet"):
        raise ParameterError("format", reading.format, "parquet on Spark", "Write the log as Parquet.")
    reading.require_for("parquet")
    paths = [source] if isinstance(source, str) else list(source)
    if not paths:
        raise LogError("The log has no files: give at least one path.")
    require_local_files(paths, settings)
    session = spark_session(settings)
    kinds = columns_of(session, paths)
    where = paths[0]
    position_of = positions(list(kinds), reading.columns, where)
    names = {role: list(kinds)[position] for role, position in position_of.items()}
    require_plain(kinds, names, where)
    tests = []
    if reading.where is not None:
        require_row_filter(session, paths, reading.where)
        tests.append(f"coalesce(({reading.where}\n), false)")
    columns = dict(names)
    if bounds := reading.filter.bounds:
        columns["time"] = reading.filter.time_name(list(kinds), where)
        time = time_for_spark(quoted(columns["time"]), kinds[columns["time"]])
        tests.append(f"({in_span(time, bounds)})")
    rule = RowRule(same_levels(position_of, None, where), "opt_in" in position_of, reading.normalise, bool(tests))
    kept = " AND ".join(tests) if tests else None
    how = HowRead("parquet", columns, None, reading.filter)
    return SparkLog(session, paths, names, rule, reading.max_broken, kept, how)
