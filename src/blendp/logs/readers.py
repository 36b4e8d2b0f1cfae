"""Reading logs: one call for every format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from blendp.engines.database import failed
from blendp.engines.embedded import EmbeddedLog
from blendp.engines.staged import StagedLog
from blendp.errors import ParameterError, require_choice, require_number
from blendp.logs.columns import Columns
from blendp.logs.delimited import read_aol, read_delimited
from blendp.logs.dialect import CSV, TSV
from blendp.logs.frame_log import open_frame
from blendp.logs.frames import ACCEPTED, Frame, is_frame, not_a_frame, require_frame
from blendp.logs.intake import RowIntake
from blendp.logs.ndjson import read_ndjson
from blendp.logs.parquet_scan import ParquetScan, scan_parquet
from blendp.logs.sources import find_files
from blendp.logs.tabular import read_parquet
from blendp.logs.text_scan import TextScan, scan_delimited
from blendp.logs.yandex import read_yandex
from blendp.normalise import RULES

_DEFAULT = Columns()
_DIALECTS = {"csv": CSV, "tsv": TSV}


def open_log(
    source: str | Path | Sequence[str | Path] | Frame,
    *,
    format: str = "auto",
    columns: Columns = _DEFAULT,
    normalise: str = "blendp-1",
    max_broken: float = 0.01,
    memory_limit: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> StagedLog:
    """Open a log: files of one format, each also with ``.gz`` or ``.zst``, by path, glob or folder; or a table.

    A table is whatever speaks Arrow's C stream (a DataFrame of pandas or polars, a table, reader or data set of
    pyarrow, a relation of DuckDB) or an iterable of record batches. One in memory is read where it lies; a stream is
    taken in once, batch by batch.

    The log is then read once, when its contributions are drawn (:meth:`~blendp.engines.StagedLog.draw`): this is for
    logs of any size. Parquet, CSV and TSV are read where they lie; rows of other formats, and of text files that the
    database would not read rightly, wait in the database, on disk if they are many.

    Broken rows are counted by reason in the ``quality`` of what is drawn. A user whose rows are all broken takes
    part without a record, as long as an id can be read: a row that cannot be cut into its fields, or is no JSON
    object, names nobody. Rows that the format ignores make nobody take part. Blank lines are no rows.

    Args:
        source: What to read. Files of a folder or a glob come in the order of their names. The index of a pandas
            DataFrame is left alone.
        format: ``csv``, ``tsv``, ``parquet``, ``ndjson``, ``aol``, ``yandex``, or ``auto``: by the extension.
        columns: The names of the columns; ``aol`` and ``yandex`` have their own.
        normalise: The rule for texts, see :mod:`blendp.normalise`.
        max_broken: The share of broken rows to go on without: 0 stops at the first, 1 at none.
        memory_limit: How much memory the database may use, such as ``"4GB"``; what is more goes to disk.
        progress: Told now and then how many rows have been read.

    Raises:
        LogError: The log cannot be read, or, when it is drawn from, more rows are broken than ``max_broken`` allows.
    """
    _require_options(normalise, max_broken)
    if not isinstance(source, str | Path) and is_frame(source):
        if format != "auto":
            raise ParameterError("format", format, "auto where a table is given", "Leave it out: it has no format.")
        return open_frame(source, columns, normalise, max_broken, memory_limit, progress)
    format, paths = find_files(_require_paths(source), format)
    if format in ("aol", "yandex") and columns != _DEFAULT:
        raise ParameterError("columns", columns, f"left out with format {format!r}", "Its columns are fixed.")
    where = str(paths[0]) if len(paths) == 1 else f"the log of {len(paths)} files from {paths[0]} on"

    def take_in() -> StagedLog:
        intake = RowIntake(normalise, opt_in=columns.opt_in is not None, memory_limit=memory_limit, progress=progress)
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
                read_delimited(paths, _DIALECTS[format], columns, intake)
        except duckdb.Error as error:
            raise failed(where, error) from error
        return intake.finish(max_broken, where)

    scan: ParquetScan | TextScan | None = None
    if format == "parquet":
        scan = scan_parquet(paths, columns)
    elif format in _DIALECTS:
        scan = scan_delimited(paths, _DIALECTS[format], columns)
    if scan is None:
        return take_in()
    return scan.staged(where, normalise, max_broken, memory_limit, progress, take_in)


def read_log(
    source: str | Path | Sequence[str | Path] | Frame,
    *,
    format: str = "auto",
    columns: Columns = _DEFAULT,
    normalise: str = "blendp-1",
    max_broken: float = 0.01,
    memory_limit: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> EmbeddedLog:
    """Read a log and keep it, by numbers, to draw from many times; takes what :func:`open_log` takes."""
    return open_log(
        source,
        format=format,
        columns=columns,
        normalise=normalise,
        max_broken=max_broken,
        memory_limit=memory_limit,
        progress=progress,
    ).numbered()


def log_of_table(
    table: Frame, *, columns: Columns = _DEFAULT, normalise: str = "blendp-1", max_broken: float = 0.01
) -> EmbeddedLog:
    """The log of a table, of whichever library, with the options of :func:`read_log`, which takes tables too."""
    require_frame("table", table)
    return read_log(table, columns=columns, normalise=normalise, max_broken=max_broken)


def _require_paths(source: object) -> str | Path | Sequence[str | Path]:
    """Raise unless this is a path or a list of paths."""
    if isinstance(source, str | Path):
        return source
    if isinstance(source, Sequence) and all(isinstance(item, str | Path) for item in source):
        return source
    raise not_a_frame("source", source, f"a path, a list of paths, {ACCEPTED}")


def _require_options(rule: str, max_broken: float) -> None:
    require_choice("normalise", rule, RULES)
    require_number(
        "max_broken",
        max_broken,
        min_value=0,
        max_value=1,
        legal="a share from 0 to 1",
        remedy="Give the share of broken rows to go on without, such as 0.01.",
    )
