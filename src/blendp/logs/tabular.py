"""Parquet files and Arrow tables: columns of any plain type, read as their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from blendp.arrow import pa
from blendp.errors import LogError
from blendp.logs.columns import Columns, positions, same_levels
from blendp.logs.filters import ALIAS
from blendp.logs.intake import RowIntake
from blendp.logs.sources import compression_of, unreadable

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BATCH = 1 << 18


def read_parquet(paths: Iterable[Path], columns: Columns, intake: RowIntake) -> None:
    """Take in Parquet files, a batch of rows at a time."""
    for path in paths:
        with parquet_file(path) as file:
            position_of = positions(file.schema_arrow.names, columns, str(path))
            intake.levels = same_levels(position_of, intake.levels, str(path))
            chosen = _chosen_names(file.schema_arrow, position_of, intake, str(path))
            for batch in file.iter_batches(_BATCH, columns=list(dict.fromkeys(chosen.values()))):
                intake.add(_chosen(pa.table(batch), chosen))


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """An open Parquet file; raises :class:`LogError` for one that is empty or unreadable, or proves so later."""
    import pyarrow.parquet as pq

    try:
        if not path.stat().st_size:
            raise LogError(f"{path} is empty: give a file with rows.")
        if compression := compression_of(path):
            with pa.input_stream(str(path), compression=compression) as stream:
                source = pa.BufferReader(stream.read())
        else:
            source = pa.OSFile(str(path))
        with source, pq.ParquetFile(source) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(path, error) from error
        reason = str(error).splitlines()[0].rstrip(".")
        raise LogError(f"{path} is no readable Parquet file ({reason}): write or fetch it again.") from error


def _chosen_names(schema: pa.Schema, position_of: dict[str, int], intake: RowIntake, where: str) -> dict[str, str]:
    """The columns of a log, and those that the filter looks at, which keep their types."""
    for position in position_of.values():
        require_plain(schema.field(position), where)
    filtered = intake.filter_by(schema.names, where, schema).over(schema.names, where)
    return {role: schema.names[position] for role, position in (position_of | filtered).items()}


def _chosen(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    return pa.table(
        {role: table[name] if role.startswith(ALIAS) else as_bytes(table[name]) for role, name in names.items()}
    )


def require_plain(field: pa.Field, where: str) -> None:
    """Raise unless a column holds one text or number in every row; numbers of units since a start are none."""
    kind = _within(field.type)
    if pa.types.is_nested(kind) or pa.types.is_duration(kind) or "pandas.period" in str(field.type):
        raise LogError(f"The column {field.name!r} of {where} holds {field.type}: give a column of text or numbers.")


def bytes_kind(kind: pa.DataType) -> str | None:
    """What the type of a column is called that holds bytes, be they text or not; None for any other."""
    within = _within(kind)
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    return str(within) if any(test(within) for test in tests) else None


def remedy_of_bytes(kind: pa.DataType) -> str:
    """What to do about values of a column that are no text."""
    if bytes_kind(kind) is None:
        return "write its texts as UTF-8"
    return f"it holds {bytes_kind(kind)}, so give a column of text or numbers"


def as_bytes(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The text of every value as bytes, not yet known to be UTF-8; NaN is missing, and whole numbers are short (3)."""
    kind = column.type
    if is_dictionary_of_views(kind):
        return as_bytes(decoded_views(column))
    if (within := _within(kind)) != kind:
        return as_bytes(column.cast(within))
    if is_uuid(kind):
        return _texts_of_uuids(column)
    if pa.types.is_floating(kind):
        return _short_numbers(column)
    if pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    return column.cast(pa.string()).cast(pa.binary()) if not pa.types.is_binary(kind) else column


def is_dictionary_of_views(kind: pa.DataType) -> bool:
    """Whether values are numbers of views in a dictionary, as those of an enumeration of polars are."""
    within = kind.value_type if pa.types.is_dictionary(kind) else None
    return within in (pa.string_view(), pa.binary_view())


def decoded_views(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """The value of every row, which Arrow's cast does not look up among views."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [chunk.dictionary.cast(pa.large_binary()).take(chunk.indices) for chunk in chunks]
    return pa.chunked_array(parts, pa.large_binary())


def _within(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves, whichever way they are stored."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind if is_uuid(kind) else _within(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _within(kind.value_type)
    return kind


def is_uuid(kind: pa.DataType) -> bool:
    """Whether a type is that of UUIDs, which are stored as 16 bytes."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def _texts_of_uuids(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The text of UUIDs, 8-4-4-4-12 hexadecimal digits in lower case; null stays null."""
    import pyarrow.compute as pc

    stored = column.cast(column.type.storage_type)
    whole = stored.combine_chunks() if isinstance(stored, pa.ChunkedArray) else stored
    if not len(whole):
        return pa.array([], pa.binary())
    data = memoryview(whole.fill_null(bytes(16)).cast(pa.binary()).buffers()[2])
    digits = np.frombuffer(data.hex().encode(), dtype=np.uint8).reshape(len(whole), 32)
    texts = np.full((len(digits), 36), ord("-"), dtype=np.uint8)
    for first, last, gaps in ((0, 8, 0), (8, 12, 1), (12, 16, 2), (16, 20, 3), (20, 32, 4)):
        texts[:, first + gaps : last + gaps] = digits[:, first:last]
    written = pa.Array.from_buffers(pa.binary(36), len(texts), [None, pa.py_buffer(texts)]).cast(pa.binary())
    return pc.if_else(whole.is_null(), pa.scalar(None, pa.binary()), written)


def _short_numbers(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The text of floating point numbers: whole ones without a fraction or an exponent, null for NaN."""
    import pyarrow.compute as pc

    numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        is_whole = (np.abs(numbers) < 2.0**63) & (np.floor(numbers) == numbers)
    integers = pa.array(np.where(is_whole, numbers, 0).astype(np.int64)).cast(pa.string())
    texts = pc.if_else(pa.array(is_whole), integers, column.cast(pa.string()))
    return pc.if_else(pa.array(np.isnan(numbers)), pa.scalar(None, pa.string()), texts).cast(pa.binary())
