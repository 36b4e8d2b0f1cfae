"""Tables that other libraries hold: whatever speaks Arrow's C stream, and batches one after the other.

A table in memory can be looked at as often as needed, where it lies; a stream is read once, batch by batch. Only the
columns that are asked for are converted, and none of the libraries is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Protocol

import duckdb

from blendp.arrow import pa
from blendp.errors import LogError, ParameterError
from blendp.logs.filters import ALIAS
from blendp.logs.tabular import require_plain

WHERE = "the table"
"""What a table is called in messages."""

BATCH = 1 << 18
"""How many rows of a stream are taken in at a time."""

ACCEPTED = (
    "a table that speaks Arrow's C stream (of pandas 2.2 or later, polars, pyarrow or DuckDB), or an iterable of "
    "record batches"
)

_ONCE = ", and make it anew if they were read before: they come once"

_OF_TUPLES = "pandas.DataFrame(..., columns=[...])"

Choose = Callable[[Sequence[str]], dict[str, int]]
"""From the names of all columns to those to read, by what each is for, and where each stands."""


class ArrowStream(Protocol):
    """What speaks Arrow's C stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


Frame = ArrowStream | Iterable[Any]
"""A table of another library, or batches one after the other."""


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """The chosen columns of a table, under the names that they were chosen by.

    where:
        table   is all of it, if it lies in memory,
        stream  has its rows otherwise, once.
    """

    names: tuple[str, ...]
    table: pa.Table | None = field(default=None, repr=False)
    stream: Iterable[pa.Table] = field(default=(), repr=False)

    def batches(self) -> Iterator[pa.Table]:
        """The rows, at most :data:`BATCH` at a time; those of a stream come once."""
        rows = 0
        for table in self.stream if self.table is None else (self.table,):
            rows += table.num_rows
            for start in range(0, table.num_rows, BATCH):
                yield table.slice(start, BATCH)
        if self.table is None and not rows:
            raise LogError(f"{WHERE.capitalize()} has no rows: give one with rows{_ONCE}.")


def is_frame(source: object) -> bool:
    """Whether this is a table of another library, or batches: no path, and no list of paths."""
    if isinstance(source, type):
        return False
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return True
    if isinstance(source, str | bytes | PathLike | Mapping):
        return False
    if isinstance(source, Sequence):
        return bool(source) and not any(isinstance(item, str | bytes | PathLike) for item in source)
    return isinstance(source, Iterable) or _has_reader(source)


def require_frame(parameter: str, source: object, legal: str = ACCEPTED) -> None:
    """Raise unless this is a table, or may be batches."""
    if not is_frame(source) or (isinstance(source, Iterable) and _is_numpy(source)):
        raise not_a_frame(parameter, source, legal)


def _is_numpy(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "numpy"


def not_a_frame(parameter: str, source: object, legal: str = ACCEPTED) -> ParameterError:
    """The error for what is no table, with what to make of it."""
    remedy = "Make a table of it first, with pyarrow.table(...)."
    if isinstance(source, str | PathLike):
        remedy = "Read the file first, with blendp.open_log, or blendp.read_answers for a survey."
    elif hasattr(source, "collect"):
        remedy = "Collect it first, with .collect()."
    elif hasattr(source, "to_frame"):
        remedy = "Make a table of it first, with .to_frame()."
    elif _is_numpy(source):
        remedy = f"Make a table of it first, with {_OF_TUPLES}."
    return ParameterError(parameter, type(source).__name__, legal, remedy)


def frame_columns(source: Any, choose: Choose, parameter: str = "source") -> FrameColumns:
    """The columns that are asked for; raises :class:`LogError` for one that holds no texts or numbers."""
    require_frame(parameter, source)
    library = type(source).__module__.partition(".")[0]
    if library in ("pandas", "polars") and not hasattr(source, "columns"):
        if not isinstance(source, Iterator):
            raise not_a_frame(parameter, source)
        return _of_items(source, choose, parameter)  # a file that is read in chunks, for example
    if library == "pandas":
        return _whole(_of_pandas(source, choose))
    if library == "polars":
        position_of = choose(source.columns)
        names = [source.columns[position] for position in position_of.values()]
        different = list(dict.fromkeys(names))
        table = _of_polars(source.select(different), parameter)
        return _whole(_named(table, position_of, [different.index(name) for name in names]))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        position_of = choose(source.column_names)
        return _whole(_named(source, position_of, position_of.values()))
    if isinstance(source, Iterable) and not hasattr(source, "__arrow_c_stream__"):
        return _of_items(source, choose, parameter)
    try:
        reader = _reader(_narrow(source, library, choose), parameter)
    except duckdb.Error as error:
        raise _failed(error) from error
    position_of = choose(reader.schema.names)
    for role, position in position_of.items():
        _require_plain(role, reader.schema.field(position))
    tables = (_named(pa.Table.from_batches([batch]), position_of, position_of.values()) for batch in _read(reader))
    return FrameColumns(tuple(position_of), stream=tables)


def _narrow(source: Any, library: str, choose: Choose) -> Any:
    """The source with no more columns than are asked for, where its library computes them only then."""
    if library in ("duckdb", "_duckdb") and hasattr(source, "project"):
        names = list(source.columns)
        different = dict.fromkeys(names[position] for position in choose(names).values())
        quoted = ('"' + name.replace('"', '""') + '"' for name in different)
        return source.project(", ".join(quoted))
    if library == "pyarrow" and hasattr(source, "scanner"):
        schema = source.schema if hasattr(source, "schema") else source.physical_schema  # of a data set, or of a part
        names = list(schema.names)
        return source.scanner(columns=list(dict.fromkeys(names[position] for position in choose(names).values())))
    return source


def _has_reader(source: object) -> bool:
    """Whether this is a data set of pyarrow, or a scanner of one."""
    return type(source).__module__.startswith("pyarrow") and any(hasattr(source, by) for by in ("scanner", "to_reader"))


def _reader(source: Any, parameter: str) -> pa.RecordBatchReader:
    if hasattr(source, "to_reader") and not hasattr(source, "__arrow_c_stream__"):
        return source.to_reader()
    try:
        if not hasattr(source, "__arrow_c_stream__"):
            batch = pa.record_batch(source)
            return pa.RecordBatchReader.from_batches(batch.schema, [batch])
        return pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        if "non-struct" in str(error):
            raise not_a_frame(parameter, source) from error
        raise _failed(error) from error


def _read(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except (pa.ArrowException, OSError) as error:
        raise _failed(error) from error


def _failed(error: Exception) -> LogError:
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    reason = first_line.partition(". Detail: Python exception")[0].rstrip(".: ")
    return LogError(f"Reading {WHERE} failed ({reason}): make it anew.")


def _of_objects(values: Any, name: str, remedy: str) -> pa.Array:
    """Values of whichever type, all of the same."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise LogError(
            f"The column {name!r} of {WHERE} holds values of more than one type or of one that is not read ({reason}): "
            f"make them text, for example by {remedy}."
        ) from error


def _require_own_form(name: str, kind: pa.DataType, remedy: str) -> None:
    """Raise if objects are of a type of which one value decides how all are written."""
    if pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        raise LogError(
            f"The column {name!r} of {WHERE} holds objects, which would be read as {kind}: one of them would decide "
            f"how all are written, so make them text, by {remedy}."
        )


def _of_pandas(frame: Any, choose: Choose) -> pa.Table:
    """The chosen columns of a DataFrame; its index is left alone."""
    names = [str(name) for name in frame.columns]
    columns = {}
    try:
        position_of = choose(names)
    except LogError as error:
        _require_none_in_index(frame, names, choose, error)
        raise
    for role, position in position_of.items():
        remedy = f'df["{names[position]}"].astype("string")'
        columns[role] = _of_objects(frame.iloc[:, position], names[position], remedy)
        kind = columns[role].type
        _require_plain(role, pa.field(names[position], kind))
        if str(frame.dtypes.iloc[position]) == "object" and not role.startswith(ALIAS):
            _require_own_form(names[position], kind, remedy)
    return pa.table(columns)


def _require_none_in_index(frame: Any, names: Sequence[str], choose: Choose, error: LogError) -> None:
    """Raise with what to do, where the columns that are missing would be there with the index."""
    index = [str(name) for name in frame.index.names if name is not None]
    try:
        choose([*index, *names])
    except LogError:
        return
    raise LogError(f"{error} Its index is left alone: df.reset_index() makes columns of it.") from error


def _of_polars(frame: Any, parameter: str) -> pa.Table:
    """A DataFrame; of objects polars would hand out where they lie in memory."""
    objects = [name for name, kind in frame.schema.items() if str(kind) == "Object"]
    columns = {}
    for name in objects:
        remedy = f'df["{name}"].map_elements(str, return_dtype=polars.String)'
        columns[name] = _of_objects(frame[name].to_list(), name, remedy)
        _require_own_form(name, columns[name].type, remedy)
    others = frame.drop(objects)
    try:
        table = pa.table(_reader(others, parameter)) if others.width else pa.table({})
    except LogError:
        for name in others.columns:
            _require_readable(others.select(name), name, parameter)
        raise
    return pa.table({name: columns[name] if name in columns else table[name] for name in frame.columns})


def _require_readable(frame: Any, name: str, parameter: str) -> None:
    """Raise with the name of a column that polars does not hand out in a type that is known."""
    try:
        _reader(frame, parameter)
    except LogError as error:
        raise LogError(
            f"The column {name!r} of {WHERE} holds {frame.schema[name]}, which is not read: make it text, by "
            f'df["{name}"].cast(polars.String).'
        ) from error


def _of_items(source: Iterable[Any], choose: Choose, parameter: str) -> FrameColumns:
    """Batches, tables or DataFrames one after the other, each with the same columns."""
    items = iter(source)
    first = next(items, None)
    if first is None:
        raise LogError(f"{WHERE.capitalize()} has no rows: give at least one batch{_ONCE}.")
    if not (hasattr(first, "__arrow_c_stream__") or hasattr(first, "__arrow_c_array__")):
        legal = f"{ACCEPTED}, not of {type(first).__name__}"
        remedy = "Make each a pyarrow.record_batch(...)."
        if isinstance(first, Mapping):
            remedy = "Make a table of these rows first, with pyarrow.Table.from_pylist(...)."
        if isinstance(first, tuple | list):
            remedy = f"Make a table of these rows first, with {_OF_TUPLES}."
        if isinstance(first, str | bytes | PathLike):
            remedy = "Give paths as a list."
            if hasattr(source, "read"):
                remedy = "Give the path of the file, to blendp.open_log or blendp.read_answers."
        raise ParameterError(parameter, type(source).__name__, legal, remedy)
    opened = frame_columns(first, choose, parameter)

    def tables() -> Iterator[pa.Table]:
        yield from opened.batches()
        for item in items:
            if not (hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")):
                raise ParameterError(parameter, type(item).__name__, "record batches throughout", "Leave it out.")
            following = frame_columns(item, choose, parameter)
            if following.names != opened.names:
                raise LogError(
                    f"A batch of {WHERE} has the columns {', '.join(following.names)}, unlike the first, which has "
                    f"{', '.join(opened.names)}: give batches of one kind."
                )
            yield from following.batches()

    return FrameColumns(opened.names, stream=tables())


def _named(table: pa.Table, names: Mapping[str, int], positions: Iterable[int]) -> pa.Table:
    chosen = table.select(list(positions))
    for number, role in enumerate(names):
        _require_plain(role, chosen.field(number))
        if pa.types.is_run_end_encoded(chosen.field(number).type):
            import pyarrow.compute as pc

            decoded = pc.run_end_decode(chosen.column(number))
            chosen = chosen.set_column(number, chosen.field(number).name, decoded)
    return chosen.rename_columns(list(names))


def _require_plain(role: str, column: pa.Field) -> None:
    """Raise for a column without texts or numbers, unless a filter alone looks at it."""
    if not role.startswith(ALIAS):
        require_plain(column, WHERE)


def _whole(table: pa.Table) -> FrameColumns:
    return FrameColumns(tuple(table.column_names), table)
