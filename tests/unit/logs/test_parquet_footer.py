"""What the database tells of a Parquet file is what Arrow tells of it, for every type of column."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blendp.engines.database import connect
from blendp.errors import LogError
from blendp.logs.parquet_footer import ParquetFooter, _by_arrow, _by_database, footer_of

TEXTS = [pa.array(["a", None], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())]
NUMBERS = [pa.array([1, None], getattr(pa, f"{sign}int{bits}")()) for sign in ("", "u") for bits in (8, 16, 32, 64)]
DICTIONARIES = [
    pa.array(["a", None]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array(["a"], pa.large_string())),
]
UUIDS = pa.array([bytes(range(16)), None], pa.uuid())
SCANNABLE = [*TEXTS, *NUMBERS, *DICTIONARIES, UUIDS, pa.array([True, None])]

OTHERS = [
    pa.array([0.5, None]),
    pa.array([0.5, None], pa.float32()),
    pa.array([b"a", None]),
    pa.array([b"abcd", None], pa.binary(4)),
    pa.array([date(2026, 1, 1), None]),
    pa.array([time(1), None], pa.time32("ms")),
    pa.array([time(1), None], pa.time64("us")),
    pa.array([Decimal("1.5"), None]),
    pa.array([Decimal("1.5"), None], pa.decimal128(20, 2)),
    *(pa.array([datetime(2026, 1, 1), None], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    pa.array([datetime(2026, 1, 1), None], pa.timestamp("us", tz="UTC")),
]
NESTED = [
    pa.array([["a"], None]),
    pa.array([{"a": 1}, None]),
    pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
]


def both(path: Path) -> tuple[ParquetFooter | None, ParquetFooter]:
    return _by_database(path, connect()), _by_arrow(path)


@pytest.mark.parametrize("column", [*SCANNABLE, *OTHERS], ids=lambda column: str(column.type))
def test_database_and_arrow_agree(column: pa.Array, tmp_path: Path) -> None:
    table = pa.table({"user": ["u1", "u2"], 'it\'s "odd"': column})
    for version in ("1.0", "2.6"):
        pq.write_table(table, tmp_path / "log.parquet", version=version)
        database, arrow = both(tmp_path / "log.parquet")
        assert database is not None
        assert (database.names, database.rows) == (arrow.names, arrow.rows) == (table.column_names, 2)
        assert [one.is_scannable for one in database.columns] == [one.is_scannable for one in arrow.columns]
        assert [one.bytes_kind for one in database.columns] == [one.bytes_kind for one in arrow.columns]


@pytest.mark.parametrize("column", SCANNABLE, ids=lambda column: str(column.type))
def test_texts_whole_numbers_and_truth_values_can_be_scanned(column: pa.Array, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "log.parquet")
    assert footer_of(tmp_path / "log.parquet", connect()).columns[0].is_scannable


@pytest.mark.parametrize("column", OTHERS, ids=lambda column: str(column.type))
def test_other_types_cannot(column: pa.Array, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "log.parquet")
    assert not footer_of(tmp_path / "log.parquet", connect()).columns[0].is_scannable


@pytest.mark.parametrize("column", NESTED, ids=lambda column: str(column.type))
def test_nested_columns_are_left_to_arrow(column: pa.Array, tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": ["u1", "u2"], "nested": column}), tmp_path / "log.parquet")
    assert _by_database(tmp_path / "log.parquet", connect()) is None
    footer = footer_of(tmp_path / "log.parquet", connect())
    assert (footer.names, footer.rows) == (["user", "nested"], 2)
    assert [one.is_scannable for one in footer.columns] == [True, False]


def test_names_that_stand_twice_stay_as_they_are(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array(["a"]), pa.array([1]), pa.array([2])], ["a", "a", "A"]), tmp_path / "log.parquet")
    database, arrow = both(tmp_path / "log.parquet")
    assert database is not None
    assert database.names == arrow.names == ["a", "a", "A"]


def test_many_groups_of_rows_and_none(tmp_path: Path) -> None:
    table = pa.table({"user": [f"u{number}" for number in range(1000)]})
    for rows in (0, 1, 1000):
        pq.write_table(table.slice(0, rows), tmp_path / "log.parquet", row_group_size=7)
        assert [footer and footer.rows for footer in both(tmp_path / "log.parquet")] == [rows, rows]


@pytest.mark.parametrize("name", ["a[b].parquet", "a*.parquet", "a?.parquet", "it's.parquet", "ü.parquet"])
def test_names_of_files_are_no_patterns(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"b": [1]}), tmp_path / "ab.parquet")
    pq.write_table(pa.table({"user": ["u1", "u2"]}), tmp_path / name)
    footer = footer_of(tmp_path / name, connect())
    assert (footer.names, footer.rows) == (["user"], 2)


@pytest.mark.parametrize("kept", [0, 3, 40, -5])
def test_a_broken_file_is_refused_by_name(kept: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": ["u1", "u2"]}), tmp_path / "whole.parquet")
    (tmp_path / "log.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:kept])
    assert _by_database(tmp_path / "log.parquet", connect()) is None
    with pytest.raises(LogError, match=r"log\.parquet"):
        footer_of(tmp_path / "log.parquet", connect())
