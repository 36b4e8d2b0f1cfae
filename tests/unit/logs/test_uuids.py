"""UUIDs are read as their text, whatever holds them; bytes that are no text are refused by column and type."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blendp.errors import LogError
from blendp.logs import open_answers, open_log, read_answers, read_log
from blendp.logs.tabular import as_bytes

IDS = [UUID(int=number * 0x1234567890ABCDEF1234567 % 2**128) for number in range(1, 40)]
QUERIES = [f"query {number % 3}" for number in range(len(IDS))]
TEXTS = {str(each) for each in IDS}


def of_arrow() -> pa.Table:
    return pa.table({"user": pa.array([each.bytes for each in IDS], pa.uuid()), "query": QUERIES})


def of_duckdb() -> Any:
    connection = duckdb.connect()
    connection.register("texts", pa.table({"user": [str(each) for each in IDS], "query": QUERIES}))
    return connection.sql("SELECT user::UUID AS user, query FROM texts")


WAYS: dict[str, Callable[[], Any]] = {
    "pyarrow": of_arrow,
    "stream": lambda: of_arrow().to_reader(7),
    "pandas of objects": lambda: pd.DataFrame({"user": IDS, "query": QUERIES}),
    "pandas of Arrow": lambda: of_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "polars of objects": lambda: pl.DataFrame({"user": IDS, "query": QUERIES}),
    "DuckDB": of_duckdb,
}


def texts_of(log: Any) -> set[str]:
    """All queries of a log."""
    records = log.draw(1, 5)
    return {query for query, _ in records.texts(np.arange(records.distinct_records))}


@pytest.mark.parametrize("way", WAYS)
def test_a_table_of_uuids(way: str) -> None:
    asked = read_log(WAYS[way](), columns={"user": "query", "query": "user"}, max_broken=0)
    assert texts_of(asked) <= TEXTS
    assert asked.distinct_records == len(TEXTS)
    log = open_log(WAYS[way](), where=f"user = '{IDS[0]}'", max_broken=0)
    assert log.draw(1, 5).users == len(IDS)
    assert log.quality.usable == 1


@pytest.mark.parametrize("name", ["log.parquet", "log.parquet.gz", "nested.parquet", "of DuckDB.parquet"])
def test_a_parquet_file_of_uuids(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if "DuckDB" in name:
        of_duckdb().write_parquet(str(path))
    else:
        table = of_arrow()
        if "nested" in name:
            table = table.append_column("aside", pa.array([[1]] * len(IDS)))
        pq.write_table(table, tmp_path / "log.parquet" if name.endswith(".gz") else path)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress((tmp_path / "log.parquet").read_bytes()))
    asked = read_log(path, columns={"user": "query", "query": "user"}, max_broken=0)
    assert texts_of(asked) <= TEXTS
    assert asked.distinct_records == len(TEXTS)
    assert read_log(path, max_broken=0).users == len(IDS)
    assert read_log(path, where=f"user = '{IDS[0]}'").quality.usable == 1


def test_files_with_uuids_and_with_their_texts_are_one_log(tmp_path: Path) -> None:
    pq.write_table(of_arrow(), tmp_path / "a.parquet")
    pq.write_table(pa.table({"user": [str(each) for each in IDS], "query": QUERIES}), tmp_path / "b.parquet")
    assert read_log(tmp_path, max_broken=0).users == len(IDS)


def test_answers_of_uuids(tmp_path: Path) -> None:
    few = pa.table({"user": of_arrow()["user"].slice(0, 3), "gap": pa.array([IDS[0].bytes, None, None], pa.uuid())})
    pq.write_table(few, tmp_path / "answers.parquet")
    values = sorted(str(each) for each in IDS[:3])
    for read in (read_answers(few, missing="value"), read_answers(tmp_path / "answers.parquet", missing="value")):
        assert sorted(read.questionnaire.attributes[0].values) == values
        assert read.questionnaire.attributes[1].values == (str(IDS[0]), "(missing)")
    stored = open_answers(tmp_path / "answers.parquet", columns=["user"])
    assert sorted(stored.questionnaire.attributes[0].values) == values


HASHES = pa.array([bytes([255, number]) * 8 for number in range(40)], pa.binary(16))
BYTES = {"fixed_size_binary[16]": HASHES, "binary": HASHES.cast(pa.binary())}


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_that_are_no_text_are_refused_by_column_and_type(kind: str, tmp_path: Path) -> None:
    table = pa.table({"user": BYTES[kind], "query": ["q"] * 40})
    pq.write_table(table, tmp_path / "log.parquet")
    pq.write_table(table.append_column("aside", pa.array([[1]] * 40)), tmp_path / "nested.parquet")
    sources = [table, table.to_reader(), *(str(tmp_path / name) for name in ("log.parquet", "nested.parquet"))]
    for source in sources:
        with pytest.raises(LogError, match="broken") as refused:
            read_log(source)
        said = str(refused.value)
        assert f"the column 'user' holds {kind}): give columns of text or numbers," in said
        assert "encoding" not in said
    for read in (read_answers, open_answers):
        with pytest.raises(LogError, match=r"The column 'user'.* give a column of text or numbers") as refused:
            read(tmp_path / "log.parquet", missing="value")
        assert kind in str(refused.value)


def test_texts_of_a_parquet_file_that_are_not_utf_8_get_no_advice_about_encodings(tmp_path: Path) -> None:
    offsets, data = np.array([0, 2, 3], dtype=np.int32), b"\xff\xfeq"
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    pq.write_table(pa.table({"user": ["a", "b"], "query": wrong}), tmp_path / "log.parquet")
    with pytest.raises(LogError, match="'not UTF-8'") as refused:
        read_log(tmp_path / "log.parquet")
    assert "encoding" not in str(refused.value)
    (tmp_path / "log.csv").write_bytes(b"user,query\na,\xff\xfe\nb,q\n")
    with pytest.raises(LogError, match="say the encoding of the file"):
        read_log(tmp_path / "log.csv")


def test_objects_of_polars_are_never_read_as_where_they_lie() -> None:
    mixed = pl.DataFrame({"user": pl.Series([UUID(int=1), object()], dtype=pl.Object), "query": ["a", "b"]})
    with pytest.raises(LogError, match=r"The column 'user' of the table holds values of more than one type .*map_elem"):
        read_log(mixed)
    days = pl.DataFrame({"user": pl.Series([date(2026, 1, 1)], dtype=pl.Object), "query": ["a"]})
    with pytest.raises(LogError, match="The column 'user' of the table holds objects, which would be read as date32"):
        read_log(days)


@pytest.mark.parametrize(("start", "length"), [(0, 10), (3, 4), (9, 1), (4, 0)])
def test_any_part_of_a_column_has_its_own_texts(start: int, length: int) -> None:
    """Batches of a stream are parts of larger columns, and may be empty."""
    column = pa.array([each.bytes for each in IDS], pa.uuid())
    part = column.slice(start, length)
    texts = [str(each).encode() for each in IDS]
    own = texts[start : start + length]
    assert as_bytes(part).to_pylist() == own
    assert as_bytes(pa.chunked_array([part])).to_pylist() == own
    assert as_bytes(pa.chunked_array([part, column])).to_pylist() == own + texts
