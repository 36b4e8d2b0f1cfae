"""Reading logs: one call for every format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from blendp.engines.embedded import EmbeddedLog
from blendp.errors import LogError, ParameterError, require_choice, require_number
from blendp.logs.columns import Columns
from blendp.logs.delimited import read_aol, read_delimited
from blendp.logs.intake import Intake
from blendp.logs.ndjson import read_ndjson
from blendp.logs.normalise import RULES
from blendp.logs.sources import find_files
from blendp.logs.tabular import add_table, read_parquet
from blendp.logs.yandex import read_yandex

_DEFAULT = Columns()


def read_log(
    source: str | Path | Sequence[str | Path],
    *,
    format: str = "auto",
    columns: Columns = _DEFAULT,
    normalise: str = "blendp-1",
    max_broken: float = 0.01,
    progress: Callable[[int], None] | None = None,
) -> EmbeddedLog:
    """Read a log from a path, several, a glob, or a folder of files of one format, each also with ``.gz``.

    Broken rows are counted by reason in the ``quality`` of the log. A person whose rows are all broken takes
    part without a record, as long as an id can be read: a row that cannot be cut into its fields, or is no JSON
    object, names nobody. Rows that the format ignores make nobody take part. Blank lines are no rows.

    Args:
        source: What to read. Files of a folder or a glob come in the order of their names.
        format: ``csv``, ``tsv``, ``parquet``, ``ndjson``, ``aol``, ``yandex``, or ``auto``: by the extension.
        columns: The names of the columns; ``aol`` and ``yandex`` have their own.
        normalise: The rule for texts, see :mod:`blendp.logs.normalise`.
        max_broken: The share of broken rows to go on without: 0 stops at the first, 1 at none.
        progress: Told now and then how many rows have been read.

    Raises:
        LogError: The log cannot be read, or more rows are broken than ``max_broken`` allows.
    """
    intake = _start(columns, normalise, max_broken, progress)
    format, paths = find_files(source, format)
    if format in ("aol", "yandex") and columns != _DEFAULT:
        raise ParameterError("columns", columns, f"left out with format {format!r}", "Its columns are fixed.")
    where = str(paths[0]) if len(paths) == 1 else f"the log of {len(paths)} files from {paths[0]} on"
    try:
        if format == "aol":
            read_aol(paths, intake)
        elif format == "yandex":
            read_yandex(paths, intake)
        elif format == "ndjson":
            read_ndjson(paths, columns, intake, where)
        elif format == "parquet":
            read_parquet(paths, columns, intake)
        else:
            read_delimited(paths, format, columns, intake)
        return intake.finish(max_broken, where)
    except duckdb.Error as error:
        raise _failed(where, error) from error


def log_of_table(
    table: pa.Table, *, columns: Columns = _DEFAULT, normalise: str = "blendp-1", max_broken: float = 0.01
) -> EmbeddedLog:
    """The log of an Arrow table in memory, with the options of :func:`read_log`."""
    intake = _start(columns, normalise, max_broken)
    try:
        add_table(table, columns, intake)
        return intake.finish(max_broken, "the table")
    except (duckdb.Error, pa.ArrowException) as error:
        raise _failed("the table", error) from error


def _start(columns: Columns, rule: str, max_broken: float, progress: Callable[[int], None] | None = None) -> Intake:
    require_choice("normalise", rule, RULES)
    require_number(
        "max_broken",
        max_broken,
        least=0,
        most=1,
        legal="a share from 0 to 1",
        remedy="Give the share of broken rows to go on without, such as 0.01.",
    )
    return Intake(rule, opt_in=columns.opt_in is not None, progress=progress)


def _failed(where: str, error: Exception) -> LogError:
    reason = str(error).splitlines()[0].rstrip(".")
    return LogError(f"Reading {where} failed ({reason}): check the file, or the memory left.")
