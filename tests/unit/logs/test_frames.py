"""Tables of other libraries are read like files, whatever holds them, and streams are read once."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from io import StringIO
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from blendp.answers import Attribute, Questionnaire
from blendp.errors import LogError, ParameterError
from blendp.logs import Columns, log_of_table, open_log, read_answers, read_log

ROWS = 600


def rows() -> pa.Table:
    """People with several records each, a column that nobody asks for, and one of lists."""
    choice = np.random.default_rng(1)
    return pa.table(
        {
            "aside": pa.array([[1, 2]] * ROWS),
            "user": [f"person {number % 90}" for number in range(ROWS)],
            "query": [f"query {number}" for number in choice.integers(0, 7, ROWS)],
            "url": [f"http://site{number}.example/" for number in choice.integers(0, 3, ROWS)],
        }
    )


def of_duckdb() -> Any:
    connection = duckdb.connect()
    connection.register("rows", rows())
    return connection.sql("FROM rows")


def of_pandas() -> pd.DataFrame:
    return rows().to_pandas()


WAYS: dict[str, Callable[[], Any]] = {
    "pandas": of_pandas,
    "pandas of objects": lambda: of_pandas().astype(object),
    "pandas of categories": lambda: of_pandas().astype({"user": "category", "query": "category"}),
    "pandas of Arrow": lambda: of_pandas().astype({"user": pd.ArrowDtype(pa.string())}),
    "pandas with an index": lambda: of_pandas().set_index(pd.Index(range(ROWS), name="person")),
    "polars": lambda: pl.DataFrame(rows()),
    "polars of categories": lambda: pl.DataFrame(rows()).with_columns(pl.col("user").cast(pl.Categorical)),
    "DuckDB": of_duckdb,
    "reader": lambda: rows().to_reader(100),
    "data set": lambda: ds.dataset(rows()),
    "scanner": lambda: ds.dataset(rows()).scanner(batch_size=50),
    "one batch": lambda: rows().combine_chunks().to_batches()[0],
    "list of batches": lambda: rows().to_batches(70),
    "generator of batches": lambda: (batch for batch in rows().to_batches(70)),
    "generator of DataFrames": lambda: (of_pandas().iloc[start : start + 70] for start in range(0, ROWS, 70)),
    "views": lambda: rows().set_column(1, "user", rows()["user"].cast(pa.string_view())),
    "large bytes": lambda: rows().set_column(1, "user", rows()["user"].cast(pa.large_binary())),
    "dictionary": lambda: rows().set_column(1, "user", rows()["user"].dictionary_encode()),
    "run ends": lambda: rows().set_column(1, "user", pc.run_end_encode(rows()["user"])),
    "file of pandas in chunks": lambda: pd.read_csv(StringIO(of_pandas().to_csv(index=False)), chunksize=70),
    "batches of polars": lambda: pl.DataFrame(rows()).lazy().collect_batches(),
}


@pytest.fixture(scope="module")
def expected() -> Any:
    return log_of_table(rows())


@pytest.mark.parametrize("way", WAYS)
def test_whatever_holds_a_table_it_is_the_same_log(way: str, expected: Any) -> None:
    log = read_log(WAYS[way]())
    assert (log.users, log.levels, log.quality) == (expected.users, expected.levels, expected.quality)
    np.testing.assert_array_equal(log.truth().record, expected.truth().record)
    np.testing.assert_array_equal(log.draw(1, 5).records, expected.draw(1, 5).records)


@pytest.mark.parametrize("way", ["polars", "reader", "generator of batches", "DuckDB"])
def test_a_second_look_is_possible_also_at_what_is_read_once(way: str) -> None:
    """Everybody's records are asked for after the log was read."""

    def held_by_all(source: Any) -> list[tuple[int, int]]:
        drawn = open_log(source).draw(1, 5)
        looked = drawn.holdings(np.arange(drawn.users), 3)
        return sorted(zip(looked.owner.tolist(), looked.occurrences.tolist(), strict=True))

    assert held_by_all(WAYS[way]()) == held_by_all(rows())
    assert sum(times for _, times in held_by_all(WAYS[way]())) == ROWS


def test_a_table_in_memory_is_scanned_where_it_lies_and_others_are_taken_in() -> None:
    def tables(source: Any) -> set[str]:
        return {name for (name,) in open_log(source).connection.execute("SHOW TABLES").fetchall()}

    for way in ("pandas", "polars", "one batch", "views"):
        assert tables(WAYS[way]()) == {"frame"}, way
    for way in ("reader", "data set", "generator of batches", "DuckDB", "large bytes"):
        assert tables(WAYS[way]()) == {"staged"}, way


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pa.array([1, 2, None], pa.uint64()), ["1", "2"]),
        (pa.array([1.0, 2.5, float("nan")]), ["1", "2.5"]),
        (pa.array([1e15, -2.0, None], pa.float32()), ["-2", "999999986991104"]),
        (pa.array([True, False, None]), ["false", "true"]),
        (pa.array([0, 86400, None], pa.timestamp("s")), ["1970-01-01 00:00:00", "1970-01-02 00:00:00"]),
        (pa.array([Decimal("1.50"), Decimal("2.00"), None]), ["1.50", "2.00"]),
        (pa.array(["a", "b", None], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b", None], pa.string_view()), ["a", "b"]),
        (pa.array([b"a", b"b", None], pa.binary_view()), ["a", "b"]),
        (pa.array(["a", "b", None]).dictionary_encode(), ["a", "b"]),
        (pa.array([1.0, 2.0, None]).dictionary_encode(), ["1", "2"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_values_of_any_plain_type_are_their_text_and_gaps_are_broken_rows(column: pa.Array, texts: list[str]) -> None:
    table = pa.table({"user": ["x", "y", "z"], "query": column})
    for source in (table, table.to_reader()):
        log = read_log(source, max_broken=1)
        records = log.draw(1, 1)
        assert sorted(query for query, _ in records.texts(np.arange(records.distinct_records))) == texts
        assert (log.users, log.quality.broken_rows) == (3, 1)


def test_a_column_of_nothing_is_read() -> None:
    log = read_log(pa.table({"user": ["a", "b"], "query": ["q", "r"], "url": pa.nulls(2)}), max_broken=1)
    assert (log.levels, log.quality.usable) == (2, 0)


def test_texts_that_are_not_utf_8_break_their_own_rows_alone() -> None:
    """The database trusts that a table's texts are UTF-8: it must never see others."""
    offsets, data = np.array([0, 2, 3, 4], dtype=np.int32), b"\xff\xfeqr"
    wrong = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    users = pa.array(["a", "b", "c"])
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), wrong)
    for query in (wrong, encoded):
        for source in (
            pa.table({"user": users, "query": query}),
            pa.table({"user": users, "query": query}).to_reader(),
        ):
            log = read_log(source, max_broken=1)
            assert (log.users, dict(log.quality.broken)) == (3, {"not UTF-8": 1})


def test_what_a_file_and_a_table_say_is_the_same(tmp_path: Any) -> None:
    table = pa.table({"user": pa.array([1.0, 2.0, float("nan"), 1.0]), "query": ["a", "b", "c", "a"]})
    pq.write_table(table, tmp_path / "log.parquet")
    from_file, from_frame = read_log(tmp_path / "log.parquet", max_broken=1), read_log(table.to_pandas(), max_broken=1)
    assert from_file.users == from_frame.users == 2
    assert from_file.quality == from_frame.quality


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        ({"user": ["a"], "query": ["q"]}, ParameterError, r"pyarrow\.table\(\.\.\.\)"),
        (5, ParameterError, r"source = 'int' is not allowed: it must be a path, .* Arrow's C stream"),
        (None, ParameterError, "NoneType"),
        (b"log.csv", ParameterError, "bytes"),
        (pl.DataFrame({"user": ["a"]}).lazy(), ParameterError, r"Collect it first, with \.collect\(\)"),
        (pd.Series(["a"]), ParameterError, "Series"),
        (pl.Series(["a"]), ParameterError, "Series"),
        (pa.chunked_array([["a"]]), ParameterError, "ChunkedArray"),
        (np.array(["a"]), ParameterError, "ndarray"),
        ([{"user": "a"}], ParameterError, "not of dict"),
        (iter(["log.csv"]), ParameterError, r"Give paths as a list\."),
        (StringIO("user,query\na,q\n"), ParameterError, r"Give the path of the file, to blendp\.open_log"),
        (pd.DataFrame({"user": ["a"]}).groupby("user"), ParameterError, "DataFrameGroupBy"),
        (pd.DataFrame({"user": pd.PeriodIndex(["2026-01"], freq="M"), "query": ["q"]}), LogError, "pandas.period"),
        (pa.table({"user": pa.array([1], pa.duration("s")), "query": ["q"]}), LogError, r"'user' .* duration\[s\]"),
        (rows().slice(0, 0).to_reader(), LogError, "has no rows: .* make it anew if they were read before"),
        (iter([rows(), 5]), ParameterError, "record batches throughout"),
        (iter([]), LogError, "has no rows: give at least one batch"),
        (rows().slice(0, 0), LogError, "The table has no rows"),
        (pd.DataFrame({"user": ["a", 1], "query": ["q", "r"]}), LogError, "column 'user' of the table holds values of"),
        (pd.DataFrame({"user": [1, "a"], "query": ["q", "r"]}), LogError, r'df\["user"\]\.astype\("string"\)'),
        (pd.DataFrame({"user": [[1]], "query": ["q"]}), LogError, "column 'user' of the table holds list<"),
        (pl.DataFrame({"user": [{"id": 1}], "query": ["q"]}), LogError, "column 'user' of the table holds struct<"),
        (pa.table({"user": pa.array([[1]]), "query": ["q"]}).to_reader(), LogError, "holds list<"),
        (pa.table([["a"], ["b"], ["q"]], ["user", "user", "query"]), LogError, "has 2 columns named 'user'"),
        (pd.DataFrame([["a", "b", "q"]], columns=["user", "user", "query"]), LogError, "has 2 columns named 'user'"),
        (pd.DataFrame({"person": ["a"], 3: ["q"]}), LogError, "The table has no column 'query' .it has 'person', '3'"),
        (pd.DataFrame({"query": ["q"]}, index=pd.Index(["a"], name="user")), LogError, r"df\.reset_index\(\)"),
        (duckdb.sql("SELECT 'a' AS user, error('no more') AS query"), LogError, r"failed \(.*no more\): make it anew"),
        (iter([rows(), rows().drop_columns("url")]), LogError, "has the columns user, query, unlike the first"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__),
)
def test_what_is_no_table_of_texts_is_refused_in_one_sentence(source: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as refused:
        read_log(source)
    assert "\n" not in str(refused.value)


def test_an_error_of_the_library_is_told_and_the_memory_of_a_stream_is_bounded() -> None:
    def broken() -> Any:
        yield from rows().to_batches(100)
        raise OSError("the disk went away")

    with pytest.raises(LogError, match=r"Reading the table failed \(IOError: the disk went away\): make it anew"):
        open_log(pa.RecordBatchReader.from_batches(rows().schema, broken()))
    with pytest.raises(ParameterError, match="memory_limit"):
        open_log(rows().to_reader(), memory_limit="1MB")
    with pytest.raises(ParameterError, match="format = 'csv'"):
        open_log(rows(), format="csv")
    with pytest.raises(ParameterError, match="table = 'str'"):
        log_of_table("log.csv")


def test_columns_are_named_as_for_files() -> None:
    frame = of_pandas().rename(columns={"user": "who", "query": "what"})
    assert read_log(frame, columns=Columns(user="who", query="what", levels=1)).levels == 1


ANSWERS = {"colour": ["red", "blue", None, "red"] * 30, "size": [1.0, 2.0, 3.0, 1.0] * 30, "opt": [True, False] * 60}


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame(ANSWERS),
        pl.DataFrame(ANSWERS),
        pa.table(ANSWERS),
        pa.table(ANSWERS).to_reader(7),
        [pd.DataFrame(ANSWERS).iloc[:50], pd.DataFrame(ANSWERS).iloc[50:]],
    ],
    ids=lambda source: type(source).__name__,
)
def test_answers_are_read_from_tables_too(source: Any) -> None:
    answers = read_answers(source, opt_in_column="opt", missing="value")
    assert [attribute.values for attribute in answers.questionnaire.attributes] == [
        ("blue", "red", "(missing)"),
        ("1", "2", "3"),
    ]
    assert answers.opt_in is not None
    assert (answers.people, int(answers.opt_in.sum())) == (120, 60)
    assert answers.codes[:4].tolist() == [[1, 0], [0, 1], [2, 2], [1, 0]]


def test_answers_that_cannot_be_read_are_refused_by_row() -> None:
    with pytest.raises(LogError, match=r"column 'colour' of the table has 30 missing answers \(first on row 3"):
        read_answers(pd.DataFrame(ANSWERS), columns=["colour", "size"])
    with pytest.raises(LogError, match="The table has no rows"):
        read_answers(pd.DataFrame(ANSWERS).iloc[:0], columns=["size"])
    with pytest.raises(ParameterError, match=r"source = 'dict'"):
        read_answers(ANSWERS)


def test_no_object_decides_how_others_are_written() -> None:
    """One price with two decimals would make 1.00 of everybody's 1.0."""
    for own in (Decimal("1.0"), Decimal("2.25")):
        frame = pd.DataFrame({"user": ["a", "b"], "query": [Decimal("1.0"), own]})
        with pytest.raises(LogError, match=r"'query' of the table holds objects.*astype\(\"string\"\)"):
            open_log(frame)
        texts = open_log(frame.astype({"query": "string"})).draw(1, 7)
        assert ("1.0", None) in texts.texts(np.arange(texts.distinct_records))


def test_a_fragment_of_a_data_set_is_a_table(tmp_path: Any) -> None:
    pq.write_table(rows(), tmp_path / "rows.parquet")
    (fragment,) = ds.dataset(tmp_path / "rows.parquet").get_fragments()
    assert (read_log(fragment).users, read_log(fragment).levels) == (90, 2)


def test_answers_of_an_enumeration_of_polars_are_read() -> None:
    answers = pl.DataFrame({"age": ["old", "young", "old"]}, schema={"age": pl.Enum(["young", "old"])})
    assert read_answers(answers).codes[:, 0].tolist() == [0, 1, 0]


def test_a_log_with_an_enumeration_of_polars_is_read() -> None:
    log = pl.DataFrame({"user": ["a", "b"], "query": ["q", "r"]}, schema_overrides={"query": pl.Enum(["q", "r"])})
    assert read_log(log).users == 2


def test_a_table_without_columns_says_that_it_has_none() -> None:
    asked = Questionnaire((Attribute("age", ("young", "old")),))
    with pytest.raises(LogError, match=r"has no column 'age' \(it has none\)"):
        read_answers(pd.DataFrame(), questionnaire=asked)
