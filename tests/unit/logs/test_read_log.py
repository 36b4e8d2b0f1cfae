"""Every format gives the same log, and every way to name files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from blendp.engines import EmbeddedLog
from blendp.errors import LogError, ParameterError
from blendp.logs import Columns, log_of_table, read_log

ROWS = [
    ("u2", "Weather", "http://weather.com/"),
    ("u1", 'say "hi", *', "http://a.com/x"),
    ("u1", "*", "*"),
    ("u3", "weather ", "HTTP://Weather.com"),
    ("u1", "café", "http://a.com/É"),
]
RECORDS = [("*", "*"), ("café", "http://a.com/É"), ('say "hi", *', "http://a.com/x"), ("weather", "http://weather.com")]


def table(rows: Sequence[tuple[str, ...]] = ROWS) -> pa.Table:
    names = ("user", "query", "url")[: len(rows[0])]
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def write(path: Path, rows: Sequence[tuple[str, ...]] = ROWS) -> Path:
    """Write a log in the format of the extension."""
    log, kind = table(rows), path.name.removesuffix(".gz").rpartition(".")[2]
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pa.parquet.write_table(log, sink)
    elif kind == "csv":
        pa.csv.write_csv(log, sink)
    elif kind == "tsv":
        lines = ["\t".join(log.column_names), *("\t".join(row) for row in rows)]
        sink.write("\r\n".join(lines).encode())
    else:
        sink.write("\n".join(json.dumps(row) for row in log.to_pylist()).encode())
    content = sink.getvalue().to_pybytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def records(log: EmbeddedLog) -> list[tuple[str, str | None]]:
    return log.texts(np.arange(log.distinct_records))


def check_log(log: EmbeddedLog) -> None:
    assert (log.users, log.levels, log.distinct_records, log.opt_in) == (3, 2, 4, None)
    assert records(log) == RECORDS
    assert (log.quality.rows, log.quality.usable, dict(log.quality.broken)) == (5, 5, {})
    users = [sorted(set(row)) for row in log.sample(3, 1).tolist()]
    assert users == [[0, 1, 2], [3], [3]]


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "ndjson", "jsonl"])
def test_formats(tmp_path: Path, kind: str, gz: str) -> None:
    path = write(tmp_path / f"log.{kind}{gz}")
    check_log(read_log(path))
    check_log(read_log(str(path)))
    unnamed = path.rename(tmp_path / f"log.data{gz}")
    check_log(read_log(unnamed, format="ndjson" if kind == "jsonl" else kind))


def test_several_files_folder_and_glob(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", ROWS[:2])
    second = write(tmp_path / "b.csv.gz", ROWS[2:])
    (tmp_path / ".hidden.csv").write_text("no log")
    (tmp_path / "README").write_text("no log")
    (tmp_path / "sub").mkdir()
    check_log(read_log([first, str(second)]))
    check_log(read_log(tmp_path))
    check_log(read_log(str(tmp_path), format="csv"))
    check_log(read_log(f"{tmp_path}/*.csv*"))
    check_log(read_log([f"{tmp_path}/a*", second]))


def test_file_name_with_glob_characters(tmp_path: Path) -> None:
    check_log(read_log(write(tmp_path / "log[1].csv")))


def test_arrow_table() -> None:
    check_log(log_of_table(table()))
    pieces = table()
    check_log(log_of_table(pa.concat_tables([pieces.slice(0, 2), pieces.slice(2)])))
    encoded = pa.table({name: table()[name].dictionary_encode() for name in table().column_names})
    check_log(log_of_table(encoded))
    for kind in (pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()):
        check_log(log_of_table(pa.table({name: table()[name].cast(kind) for name in table().column_names})))


def test_columns_in_any_order_and_under_any_name(tmp_path: Path) -> None:
    columns = Columns(user="who's", query='the "query"', url="a/b~c", opt_in="Trusts")
    names = {"user": "who's", "query": 'the "query"', "url": "a/b~c"}
    log = table().rename_columns([names[name] for name in table().column_names])
    log = log.append_column("Trusts", [["yes", "1", "TRUE", "0", "Yes"]]).append_column("more", [list(range(5))])
    log = log.select(["more", "Trusts", "a/b~c", 'the "query"', "who's"])
    pa.parquet.write_table(log, tmp_path / "log.parquet")
    pa.csv.write_csv(log, tmp_path / "log.csv")
    (tmp_path / "log.ndjson").write_text("\n".join(json.dumps(row) for row in log.to_pylist()))
    for kind in ("parquet", "csv", "ndjson"):
        read = read_log(tmp_path / f"log.{kind}", columns=columns)
        assert records(read) == RECORDS
        assert read.opt_in is not None
        assert read.opt_in.tolist() == [True, True, False]


def test_files_may_order_their_columns_differently(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,query\nu1,q1\n")
    (tmp_path / "b.csv").write_text("query,more,user\nq2,x,u2\n")
    assert records(read_log(tmp_path)) == [("q1", None), ("q2", None)]


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "ndjson"])
def test_one_level(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"log.{kind}", [row[:2] for row in ROWS])
    log = read_log(path, columns=Columns(levels=1 if kind == "ndjson" else None))
    assert (log.levels, log.users) == (1, 3)
    assert records(log) == [(query, None) for query, _ in RECORDS]
    with pytest.raises(LogError, match="has no column 'url'"):
        read_log(path, columns=Columns(url="url"))


def test_ndjson_numbers_are_text(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    path.write_text(
        '{"user": 1, "query": 2.5, "url": true}\n{"user": 123456789012345678901234567890, "query": "q", "url": 7}\n'
        '{"user": 123456789012345678901234567891, "query": "q", "url": 7}\n'
    )
    log = read_log(path)
    assert (log.users, records(log)) == (3, [("2.5", "true"), ("q", "7")])


def test_typed_columns_are_text(tmp_path: Path) -> None:
    log = pa.table({"user": [1, 2, 1], "query": [10, 20, 10], "trust": [True, True, False]})
    pa.parquet.write_table(log, tmp_path / "log.parquet")
    read = read_log(tmp_path / "log.parquet", columns=Columns(opt_in="trust"))
    assert (read.users, records(read)) == (2, [("10", None), ("20", None)])
    assert read.opt_in is not None
    assert read.opt_in.tolist() == [False, True]


def test_tsv_quotes_are_text_and_csv_quotes_are_not(tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_text('user\tquery\nu1\t"exact" words\nu2\t5" nail\nu3\t"open\n')
    assert records(read_log(tmp_path / "log.tsv")) == [('"exact" words', None), ('"open', None), ('5" nail', None)]
    (tmp_path / "log.csv").write_text('"user",query\nu1,"a ""b"", c"\nu2,5" nail\nu3,"no"\n')
    assert records(read_log(tmp_path / "log.csv")) == [('5" nail', None), ('a "b", c', None), ("no", None)]


def test_a_line_break_in_quotes_ends_the_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,query,url\nu1,"a\nu2,q,http://x.com\nb",http://y.com\n')
    log = read_log(path, max_broken=1)
    assert (log.users, records(log)) == (1, [("q", "http://x.com")])
    assert dict(log.quality.broken) == {"quote not closed": 1, "wrong number of fields": 1}


def test_rules(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    assert ("Weather", "http://weather.com/") in records(read_log(path, normalise="none"))
    with pytest.raises(ParameterError, match="normalise"):
        read_log(path, normalise="blendp-0")


def test_users_are_trimmed_but_keep_their_case() -> None:
    log = log_of_table(pa.table({"user": ["a", " a\t", "A", "e\u0301", "é"], "query": ["q"] * 5}))
    assert log.users == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.csv", "does not exist"),
        ("*.tsv", "No file matches"),
        ("empty", "no files of a log"),
        ("log.doc", "format of .* is unknown"),
        ("zero.csv", "is empty"),
        ("zero.parquet", "is empty"),
        ("zero.ndjson", "is empty"),
        ("header.csv", "has no rows"),
        ("wrong.csv", r"has no column 'user' \(it has 'id', 'query'\)"),
        ("wrong.ndjson", "has no column 'query'"),
        ("twice.csv", "2 columns named 'user'"),
        ("text.parquet", "no readable Parquet file"),
        ("cut.parquet.gz", "no readable Parquet file"),
        ("nested.parquet", "holds list"),
        ("nobody.csv", "no row that names a user"),
    ],
)
def test_logs_that_cannot_be_read(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    for file in ("zero.csv", "zero.parquet", "zero.ndjson", "log.doc"):
        (tmp_path / file).touch()
    (tmp_path / "header.csv").write_text("user,query")
    (tmp_path / "wrong.csv").write_text("id,query\n1,2\n")
    (tmp_path / "wrong.ndjson").write_text('{"user": 1}\n')
    (tmp_path / "twice.csv").write_text("user,query,user\n1,2,3\n")
    (tmp_path / "text.parquet").write_text("user,query\n")
    (tmp_path / "nobody.csv").write_text("user,query\n,q\n")
    whole = write(tmp_path / "whole.parquet.gz").read_bytes()
    (tmp_path / "cut.parquet.gz").write_bytes(whole[:-30])
    pa.parquet.write_table(pa.table({"user": [[1]], "query": ["q"]}), tmp_path / "nested.parquet")
    with pytest.raises(LogError, match=message) as caught:
        read_log(str(tmp_path / name), max_broken=1)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    two, one = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", [row[:2] for row in ROWS])
    with pytest.raises(LogError, match="no URL column, unlike"):
        read_log([two, one])
    with pytest.raises(LogError, match="different formats"):
        read_log([two, write(tmp_path / "c.tsv")])
    with pytest.raises(LogError, match="given twice"):
        read_log([two, f"{tmp_path}/a*"])
    with pytest.raises(LogError, match="no files"):
        read_log([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xlsx"}, "format = 'xlsx'"),
        ({"max_broken": 1.5}, "max_broken"),
        ({"max_broken": -0.1}, "max_broken"),
        ({"format": "aol", "columns": Columns(user="u")}, "columns"),
    ],
)
def test_parameters(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_log(write(tmp_path / "log.csv"), **options)


@pytest.mark.parametrize("names", [{"user": ""}, {"user": "query"}, {"url": "x", "opt_in": "x"}])
def test_column_names(names: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="columns"):
        Columns(**names)


def test_query_column_may_be_called_url() -> None:
    log = log_of_table(pa.table({"user": ["u"], "url": ["q"]}), columns=Columns(query="url"))
    assert (log.levels, records(log)) == (1, [("q", None)])


def test_progress_counts_the_rows(tmp_path: Path) -> None:
    counts: list[int] = []
    log = read_log(write(tmp_path / "log.csv"), progress=counts.append)
    assert counts[-1] == log.quality.rows


def test_one_persons_record_does_not_decide_the_levels(tmp_path: Path) -> None:
    """NDJSON has no schema: whether there are URLs is said by the caller, never by a row."""
    rows = [{"user": str(i), "query": "q"} for i in range(50)]
    plain, one = tmp_path / "plain.ndjson", tmp_path / "one.ndjson"
    plain.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one.write_text("".join(json.dumps({**row, "url": "u"} if i == 0 else row) + "\n" for i, row in enumerate(rows)))
    for path in (plain, one):
        assert read_log(path, columns=Columns(levels=1)).levels == 1
        with pytest.raises(LogError, match=r"levels=1|no URL"):
            read_log(path)
    assert read_log(one, max_broken=1).levels == 2


def test_levels_and_columns_must_agree(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    assert read_log(path, columns=Columns(levels=1)).levels == 1
    assert read_log(path, columns=Columns(levels=2)).levels == 2
    for wrong in ({"levels": 3}, {"levels": 1, "url": "url"}):
        with pytest.raises(ParameterError, match="levels"):
            Columns(**wrong)
    with pytest.raises(LogError, match="no column 'url'"):
        read_log(write(tmp_path / "one.csv", [row[:2] for row in ROWS]), columns=Columns(levels=2))
