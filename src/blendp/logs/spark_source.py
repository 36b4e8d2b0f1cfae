"""Opening a log on Spark."""

from __future__ import annotations

from collections.abc import Sequence

from blendp.engines.spark import SparkLog, SparkSettings, spark_session
from blendp.engines.spark.log import columns_of, require_plain
from blendp.engines.usable import RowRule
from blendp.errors import LogError
from blendp.logs.columns import Columns, positions, same_levels

_DEFAULT = Columns()


def open_spark_log(
    source: str | Sequence[str],
    settings: SparkSettings,
    *,
    columns: Columns = _DEFAULT,
    normalise: str = "blendp-1",
    max_broken: float = 0.01,
) -> SparkLog:
    """Open Parquet files, folders or patterns by the paths or addresses that Spark knows them by.

    The options are those of :func:`blendp.open_log`; how much memory the driver has, the settings say.
    """
    paths = [source] if isinstance(source, str) else list(source)
    if not paths:
        raise LogError("The log has no files: give at least one path.")
    session = spark_session(settings)
    kinds = columns_of(session, paths)
    where = paths[0]
    position_of = positions(list(kinds), columns, where)
    names = {role: list(kinds)[position] for role, position in position_of.items()}
    require_plain(kinds, names, where)
    rule = RowRule(same_levels(position_of, None, where), "opt_in" in position_of, normalise)
    return SparkLog(session, paths, names, rule, max_broken)
