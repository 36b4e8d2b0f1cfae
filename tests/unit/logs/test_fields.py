"""The cut into rows and fields, held against Python's own CSV reader."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blendp.errors import LogError
from blendp.logs import fields
from blendp.logs.fields import cut_file


def rows_of(path: Path, **options: Any) -> tuple[list[list[bytes]], int, int]:
    rows: list[list[bytes]] = []
    lines = unclosed = 0
    for cut in cut_file(path, options.pop("delimiter", ","), **options):
        rows += [cut.row(number) for number in range(len(cut.first))]
        lines += int(cut.lines.sum())
        unclosed += cut.unclosed
    return rows, lines, unclosed


@given(text=st.text(st.sampled_from('ab,"\n'), min_size=1, max_size=60))
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_like_the_csv_module(tmp_path: Path, text: str) -> None:
    expected = [len(row) for row in csv.reader(io.StringIO(text, newline="")) if row]
    path = tmp_path / "log.csv"
    path.write_text(text + "\n", newline="")
    if not expected:
        with pytest.raises(LogError, match="is empty"):
            rows_of(path, quotes=True)
        return
    rows, lines, unclosed = rows_of(path, quotes=True)
    counts = [len(row) for row in rows]
    assert counts == (expected[:-1] if unclosed else expected)
    assert lines + unclosed <= text.count("\n") + 1


@given(
    text=st.text(st.sampled_from('a,"\n\r'), min_size=1, max_size=40).filter(lambda text: bool(text.strip("\r\n"))),
    block=st.integers(1, 12),
    quotes=st.booleans(),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, block: int, quotes: bool
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text, newline="")
    at_once = rows_of(path, quotes=quotes)
    with monkeypatch.context() as patch:
        patch.setattr(fields, "BLOCK", block)
        assert rows_of(path, quotes=quotes) == at_once


@given(rows=st.lists(st.lists(st.text(max_size=6), min_size=2, max_size=3), min_size=1, max_size=8))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_rows_come_back(tmp_path: Path, rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    path = tmp_path / "log.csv"
    path.write_bytes(out.getvalue().encode())
    found, _, unclosed = rows_of(path, quotes=True)
    quoted = [[b'"' + field.replace('"', '""').encode() + b'"' for field in row] for row in rows]
    assert found == [[field.replace(b"\r\n", b"\n") for field in row] for row in quoted]
    assert unclosed == 0


def test_lines_of_all_kinds(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xef\xbb\xbfa\tb\r\n\nc\x00\t\xff\r\n\r\nlast")
    assert rows_of(path, delimiter="\t")[0] == [[b"a", b"b"], [b"c\x00", b"\xff"], [b"last"]]
    assert rows_of(path, delimiter=None)[0] == [[b"a\tb"], [b"c\x00\t\xff"], [b"last"]]


def test_quotes_across_lines_and_the_lines_they_take(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b'1,"a\nb\n""c"",",x\n2,5" nail,y\n3,"open\n4,lost\n5,lost')
    (cut, end) = cut_file(path, ",", quotes=True)
    assert [cut.row(0), cut.row(1)] == [[b"1", b'"a\nb\n""c"","', b"x"], [b"2", b'5" nail', b"y"]]
    assert cut.lines.tolist() == [3, 1]
    assert (len(end.first), end.unclosed) == (0, 3)


def test_filled(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_bytes(b"a\tb\tc\na\t\tc\na\na\tb\n")
    (cut,) = cut_file(path, "\t")
    assert cut.filled(1).tolist() == [True, False, False, True]
    assert cut.column(np.array([True, True, False, False]), 2).to_pylist() == [b"c", b"c"]


def test_gzip_of_several_members(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\nc,", mtime=0) + gzip.compress(b"d\n"))
    assert rows_of(path)[0] == [[b"a", b"b"], [b"c", b"d"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\xef\xbb\xbf", "is empty"),
        ("a.csv", b"\r\n\n", "is empty"),
        ("a.csv.gz", b"", "is empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("a.csv.gz", gzip.compress(b"a,b\n" * 9999, mtime=0)[:-9], "cut short"),
        ("a.csv.gz", gzip.compress(b"a,b\n" * 9999, mtime=0)[:40], "cut short"),
        ("a.csv.gz", b"a,b\n", "no gzip file"),
        ("a.csv", "a,b".encode("utf-16"), "UTF-16"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(LogError, match=message) as caught:
        rows_of(path, quotes=True)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_row_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "LONGEST_ROW", 1000)
    monkeypatch.setattr(fields, "BLOCK", 100)
    path = tmp_path / "log.csv"
    path.write_bytes(b'a,"b\n' + b"c,d\n" * 999)
    with pytest.raises(LogError, match="every quote is closed"):
        rows_of(path, quotes=True)
