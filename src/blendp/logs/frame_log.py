"""Tables of other libraries as logs: scanned where they lie, or taken in as they stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import duckdb
import numpy as np

from blendp.arrays import describe_marks
from blendp.arrow import pa
from blendp.engines.database import failed
from blendp.engines.staged import STAGED, StagedLog
from blendp.engines.usable import RowRule
from blendp.errors import LogError, ParameterError
from blendp.logs.columns import positions, same_levels
from blendp.logs.filters import ALIAS, compiled
from blendp.logs.frames import WHERE, FrameColumns, frame_columns
from blendp.logs.intake import RowIntake
from blendp.logs.parquet_footer import is_scannable
from blendp.logs.reading import HowRead, LogReading
from blendp.logs.tabular import as_bytes, bytes_kind

_CHUNK = 1 << 17
_SCAN = "frame"
_ROLES = {"user": "person", "query": "query", "url": "url", "opt_in": "opt_in"}


def open_frame(
    source: Any,
    reading: LogReading,
    memory_limit: str | None = None,
    progress: Callable[[int], None] | None = None,
    marks: Any = None,
    parameter: str = "source",
) -> StagedLog:
    """The log of a table, with the options of :func:`~blendp.logs.open_log` that are not about files.

    The database scans a table in memory without a copy of it, where its columns are texts, whole numbers or truth
    values; others, streams, and tables whose rows are filtered are taken in batch by batch, on disk if they are many.
    ``marks`` says of every row of a table whether its user opts in, as a column would.
    """
    _require_no_file(reading)
    intake = RowIntake(
        reading.normalise,
        opt_in=reading.columns.opt_in is not None or marks is not None,
        rows=reading.filter,
        memory_limit=memory_limit,
        progress=progress,
    )
    names: list[str] = []

    def choose(all_names: Sequence[str]) -> dict[str, int]:
        names[:] = all_names
        filter = compiled(reading.filter, names, WHERE, intake.connection)
        return positions(names, reading.columns, WHERE.capitalize()) | filter.over(names, WHERE)

    chosen = frame_columns(source, choose, parameter)
    if marks is not None:
        chosen = _marked(chosen, marks)
    intake.levels = same_levels(dict.fromkeys(chosen.names), None, WHERE)
    columns = _columns(names, reading)
    bytes_columns: dict[str, str] = {}
    how = HowRead("table", columns, None, reading.filter, bytes_columns)
    anew = (
        None if chosen.table is None else partial(open_frame, source, reading, memory_limit, progress, marks, parameter)
    )
    if chosen.table is not None and not reading.filter and _is_scannable(chosen.table):
        rule = RowRule(intake.levels, "opt_in" in chosen.names, reading.normalise)
        scanned = _scanned(chosen.table, rule, reading.max_broken, intake.connection, progress)
        return replace(scanned, how=how, anew=anew)
    try:
        for batch in chosen.batches():
            intake.filter_by(names, WHERE, _schema(batch, names, choose(names)))
            bytes_columns |= _bytes_columns(batch, columns)
            intake.add(_as_bytes(batch))
    except duckdb.Error as error:
        raise failed(WHERE, error) from error
    return replace(intake.finish(reading.max_broken, WHERE, how), anew=anew)


def _columns(names: Sequence[str], reading: LogReading) -> dict[str, str]:
    """The column of each role."""
    columns = {role: names[position] for role, position in positions(names, reading.columns, WHERE).items()}
    return columns | ({"time": reading.filter.time_name(names, WHERE)} if reading.filter.bounds else {})


def _bytes_columns(batch: pa.Table, columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of a log that hold bytes, and the type of each."""
    kinds = {name: bytes_kind(batch[role].type) for role, name in columns.items() if role in batch.column_names}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _require_no_file(reading: LogReading) -> None:
    """Raise if something is said about files."""
    if reading.format != "auto":
        raise ParameterError("format", reading.format, "auto where a table is given", "Leave it out: it has no format.")
    reading.refuse_for("table")
    if reading.encoding is not None:
        raise ParameterError("encoding", reading.encoding, "left out where a table is given", "Its texts are decoded.")


def _schema(batch: pa.Table, names: Sequence[str], position_of: Mapping[str, int]) -> pa.Schema:
    """The types of all columns of a table, as far as a filter looks at them."""
    kinds = {
        position: batch.schema.field(role).type for role, position in position_of.items() if role in batch.schema.names
    }
    return pa.schema([(name, kinds.get(position, pa.string())) for position, name in enumerate(names)])


def _marked(chosen: FrameColumns, marks: Any) -> FrameColumns:
    """The columns with one more, that of the marks."""
    if chosen.table is None:
        raise ParameterError("opt_in", "marks", "a share, or the name of a column, for a stream", "Name the column.")
    column = np.asarray(marks)
    if column.dtype != np.bool_ or column.shape != (chosen.table.num_rows,):
        raise ParameterError(
            "opt_in",
            describe_marks(column),
            f"a share, the name of a column, or True or False for each of the {chosen.table.num_rows} rows",
            "Mark every row: a user opts in whose rows are all marked.",
        )
    table = chosen.table.append_column("opt_in", pa.array(column))
    return FrameColumns(tuple(table.column_names), table)


def _is_scannable(table: pa.Table) -> bool:
    """Whether the database reads these columns as blendp does: it trusts that texts are UTF-8."""
    for column in table.columns:
        if not (is_scannable(column.type) or pa.types.is_null(column.type)):
            return False
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return False
    return True


def _scanned(
    table: pa.Table,
    rule: RowRule,
    max_broken: float,
    connection: duckdb.DuckDBPyConnection,
    progress: Callable[[int], None] | None,
) -> StagedLog:
    connection.execute(f"DROP TABLE {STAGED}")
    row_number = pa.array(np.arange(table.num_rows, dtype=np.uint64))
    numbered = table.append_column("place", row_number)
    connection.register(_SCAN, pa.Table.from_batches(numbered.to_batches(max_chunksize=_CHUNK), numbered.schema))
    selected = ", ".join(
        f'"{role}"::VARCHAR AS {name}' if role in table.column_names else f"NULL::VARCHAR AS {name}"
        for role, name in _ROLES.items()
    )
    return StagedLog(
        f"SELECT place, {selected} FROM {_SCAN}",
        rule,
        WHERE,
        max_broken,
        connection,
        has_reasons=False,
        total_rows=table.num_rows,
        progress=progress,
    )


def _as_bytes(batch: pa.Table) -> pa.Table:
    columns = {}
    for name in batch.column_names:
        try:
            columns[name] = batch[name] if name.startswith(ALIAS) else as_bytes(batch[name])
        except pa.ArrowNotImplementedError as error:
            kind = batch[name].type
            raise LogError(f"The {name} column of {WHERE} holds {kind}: give a column of text or numbers.") from error
    return pa.table(columns)
