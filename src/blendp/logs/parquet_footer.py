"""What the footer of a Parquet file tells: its columns, and how many rows it has.

The database reads it, since it is loaded anyway. Files whose columns are nested, compressed files, and those that the
database does not read are left to Arrow, which knows all types and has the words for what is wrong.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path

import duckdb

from blendp.arrow import pa
from blendp.logs.sources import compression_of
from blendp.logs.tabular import bytes_kind, is_uuid, parquet_file
from blendp.normalise import literal

_COLUMNS = """
    SELECT name, type, type_length, converted_type, logical_type, num_children
    FROM parquet_schema({file}) ORDER BY column_id
"""
_ROWS = "SELECT num_rows FROM parquet_file_metadata({file})"

_WHOLE_NUMBERS = {f"{sign}INT_{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class ParquetColumn:
    """A column.

    where:
        kind         is the same for columns of the same type, of files that were looked at in the same way,
        is_scannable says whether the database writes its values as blendp does,
        bytes_kind   is what its type is called if it holds bytes, be they text or not; None for any other.
    """

    name: str
    kind: str
    is_scannable: bool
    bytes_kind: str | None = None


@dataclass(frozen=True)
class ParquetFooter:
    """All columns in their order, and the number of rows."""

    columns: tuple[ParquetColumn, ...]
    rows: int

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


def footer_of(path: Path, connection: duckdb.DuckDBPyConnection) -> ParquetFooter:
    """The footer of a file; raises :class:`~blendp.errors.LogError` for one that is empty or unreadable."""
    return _by_database(path, connection) or _by_arrow(path)


def _by_database(path: Path, connection: duckdb.DuckDBPyConnection) -> ParquetFooter | None:
    if compression_of(path) or glob.has_magic(str(path)):
        return None
    file = literal(str(path))
    try:
        root, *columns = connection.execute(_COLUMNS.format(file=file)).fetchall()
        if len(columns) != root[-1] or any(children for *_, children in columns):
            return None
        ((rows,),) = connection.execute(_ROWS.format(file=file)).fetchall()
    except (duckdb.Error, ValueError):
        return None
    of_database = (
        ParquetColumn(name, f"{kind}", _is_plain(kind[0], *kind[2:]), _bytes_kind(*kind)) for name, *kind, _ in columns
    )
    return ParquetFooter(tuple(of_database), int(rows))


def _bytes_kind(stored: str, length: str | None, converted: str | None, logical: str | None) -> str | None:
    """What Arrow calls the type of a column of bytes of which the file does not say what they are."""
    if converted is not None or logical is not None:
        return None
    return {"BYTE_ARRAY": "binary", "FIXED_LEN_BYTE_ARRAY": f"fixed_size_binary[{length}]"}.get(stored)


def _is_plain(stored: str, converted: str | None, logical: str | None) -> bool:
    """Whether these are texts, whole numbers, truth values or UUIDs, by the types in the file."""
    if stored == "FIXED_LEN_BYTE_ARRAY":
        return logical == "UUIDType()"
    if stored == "BYTE_ARRAY":
        return converted == "UTF8"
    if stored in ("INT32", "INT64"):
        return converted in _WHOLE_NUMBERS or (converted is None and logical is None)
    return stored == "BOOLEAN"


def _by_arrow(path: Path) -> ParquetFooter:
    with parquet_file(path) as file:
        columns = (
            ParquetColumn(
                each.name, str(each.type), is_scannable(each.type) or is_uuid(each.type), bytes_kind(each.type)
            )
            for each in file.schema_arrow
        )
        return ParquetFooter(tuple(columns), file.metadata.num_rows)


def is_scannable(kind: pa.DataType) -> bool:
    """Whether the database writes values of this type as blendp does: texts, whole numbers and truth values."""
    if pa.types.is_dictionary(kind):
        return is_scannable(kind.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    tests = (*texts, pa.types.is_integer, pa.types.is_boolean)
    return any(test(kind) for test in tests)
