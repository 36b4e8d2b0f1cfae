"""Reading logs: one call for every format. What reads a format is loaded when a log has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import duckdb

from blendp.engines.database import connect
from blendp.engines.staged import StagedLog
from blendp.logs.aol import AOL_FIELDS, AOL_HEADER
from blendp.logs.columns import Columns, positions
from blendp.logs.frames import ACCEPTED, Frame, is_frame, not_a_frame, require_frame
from blendp.logs.reading import HowRead, LogReading, ReadingOptions
from blendp.logs.sources import find_files

if TYPE_CHECKING:
    from blendp.engines.embedded import EmbeddedLog


def open_log(
    source: str | Path | Sequence[str | Path] | Frame,
    *,
    memory_limit: str | None = None,
    progress: Callable[[int], None] | None = None,
    tell: Callable[[HowRead], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> StagedLog:
    """Open a log: files of one format, each also with ``.gz`` or ``.zst``, by path, glob or folder; or a table.

    A table is whatever speaks Arrow's C stream (a DataFrame of pandas or polars, a table, reader or data set of
    pyarrow, a relation of DuckDB) or an iterable of record batches. One in memory is read where it lies; a stream is
    taken in once, batch by batch.

    The log is then read, once for each run, when its contributions are drawn
    (:meth:`~blendp.engines.StagedLog.draw`): this is for logs of any size. Parquet, CSV and TSV are read where they
    lie; rows of other formats, and of text files that the database would not read rightly, wait in the database, on
    disk if they are many. The rows of a pipe or a stream come once, for one run.

    How a text file is written, and which column is which, is recognised by its first line
    (:mod:`blendp.logs.recognise`) unless options say it.

    Broken rows are counted by reason in the ``quality`` of what is drawn. A user whose rows are all broken, or filtered
    out, takes part without a record, as long as an id can be read: a row that cannot be cut into its fields, or is no
    JSON object, names nobody. Rows that the format ignores make nobody take part. Blank lines are no rows.

    Args:
        source: What to read. Files of a folder or a glob come in the order of their names. The index of a pandas
            DataFrame is left alone.
        memory_limit: How much memory the database may use, such as ``"4GB"``; what is more goes to disk.
        progress: Told now and then how many rows have been read.
        tell: Told how the log is read, before its rows are, or after those of a pipe.
        options: How to read it: ``format``, ``columns``, ``names``, ``delimiter``, ``quotes``, ``encoding``,
            ``header``, ``where``, ``since``, ``until``, ``time_column``, ``normalise`` and ``max_broken``, see
            :class:`~blendp.logs.reading.LogReading`.

    Raises:
        LogError: The log cannot be read, or, when it is drawn from, more rows are broken than ``max_broken`` allows.
    """
    reading = LogReading.of("open_log", options)
    if not isinstance(source, str | Path) and is_frame(source):
        from blendp.logs.frame_log import open_frame

        return open_frame(source, reading, memory_limit, progress)
    format, paths = find_files(_require_paths(source), reading.format)
    reading.require_for(format)
    database = connect(memory_limit) if format == "parquet" else None
    how = _how(format, paths, reading, database)
    is_seen = all(path.is_file() for path in paths)
    if tell is not None and is_seen:
        tell(how)
    where = str(paths[0]) if len(paths) == 1 else f"the log of {len(paths)} files from {paths[0]} on"

    def take_in() -> StagedLog:
        from blendp.logs.careful import read_carefully

        return read_carefully(paths, how, reading, where, memory_limit, progress)

    def opened(database: duckdb.DuckDBPyConnection | None = None) -> StagedLog:
        if format == "parquet":
            from blendp.logs.parquet_scan import scan_parquet

            database = database or connect(memory_limit)
            rows = scan_parquet(paths, reading.columns, database, filtered=bool(reading.filter))
            return rows.staged(where, reading, how, progress, take_in) if rows else take_in()
        if how.dialect is None:
            return take_in()
        from blendp.logs.text_scan import scan_delimited

        lines = scan_delimited(paths, how.dialect, reading)
        return lines.staged(where, reading, how, memory_limit, progress, take_in) if lines else take_in()

    log = replace(opened(database), anew=opened if is_seen else None)
    if tell is not None and not is_seen and isinstance(log.how, HowRead):
        tell(log.how)  # the columns of a pipe are known once it has been read
    return log


def read_log(
    source: str | Path | Sequence[str | Path] | Frame,
    *,
    memory_limit: str | None = None,
    progress: Callable[[int], None] | None = None,
    tell: Callable[[HowRead], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> EmbeddedLog:
    """Read a log and keep it, by numbers, to draw from many times; takes what :func:`open_log` takes."""
    LogReading.of("read_log", options)
    return open_log(source, memory_limit=memory_limit, progress=progress, tell=tell, **options).numbered()


def log_of_table(table: Frame, **options: Unpack[ReadingOptions]) -> EmbeddedLog:
    """The log of a table, of whichever library, with the options of :func:`read_log`, which takes tables too."""
    require_frame("table", table)
    LogReading.of("log_of_table", options)
    return read_log(table, **options)


def _require_paths(source: object) -> str | Path | Sequence[str | Path]:
    """Raise unless this is a path or a list of paths."""
    if isinstance(source, str | Path):
        return source
    if isinstance(source, Sequence) and all(isinstance(item, str | Path) for item in source):
        return source
    raise not_a_frame("source", source, f"a path, a list of paths, {ACCEPTED}")


def _how(
    format: str, paths: Sequence[Path], reading: LogReading, database: duckdb.DuckDBPyConnection | None = None
) -> HowRead:
    """How the files are read: what first lines and footers tell, where options leave it open."""
    how = HowRead(format, {}, None, reading.filter)
    bytes_columns: dict[str, str] = {}
    if database is not None:
        from blendp.logs.parquet_footer import footer_of

        footer = footer_of(paths[0], database)
        names_of: dict[Path, Sequence[str]] = {paths[0]: footer.names}
        bytes_columns = {one.name: one.bytes_kind for one in footer.columns if one.bytes_kind is not None}
    elif format in ("csv", "tsv"):
        from blendp.logs.recognise import LogHeader, recognise

        dialect, names_of_files = recognise(paths, format, reading, LogHeader(reading.columns))
        names_of = {path: names for path, names in zip(paths, names_of_files, strict=True) if names}
        how = replace(how, dialect=dialect)
        if not names_of:
            return how
        is_aol = tuple(next(iter(names_of.values()))) == AOL_HEADER and dialect.delimiter == "\t"
        if reading.format == "auto" and is_aol:
            return _how("aol", paths, reading)
    elif format == "aol" and reading.format == "auto":
        return replace(how, columns={role: AOL_HEADER[position] for role, position in AOL_FIELDS.items()})
    else:
        return how
    columns = _columns(names_of, reading.columns)
    if reading.filter.bounds:
        path, names = next(iter(names_of.items()))
        columns["time"] = reading.filter.time_name(names, str(path))
    read = set(columns.values())
    return replace(
        how, columns=columns, bytes_columns={name: kind for name, kind in bytes_columns.items() if name in read}
    )


def _columns(names_of: Mapping[Path, Sequence[str]], columns: Columns) -> dict[str, str]:
    """The column of each role in these files, as each of them calls it."""
    called: dict[str, dict[str, None]] = {}
    for path, names in names_of.items():
        for role, position in positions(names, columns, str(path)).items():
            called.setdefault(role, {})[names[position]] = None
    return {role: " / ".join(names) for role, names in called.items()}
