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

from blendp.engines.quality import NOT_CLOSED
from blendp.errors import LogError
from blendp.logs import fields
from blendp.logs.fields import TOO_LONG, cut_file


def rows_of(path: Path, **options: Any) -> tuple[dict[int, list[bytes]], dict[str, list[int]]]:
    """The rows by their lines, and the lines that are none by reason."""
    rows: dict[int, list[bytes]] = {}
    flawed: dict[str, list[int]] = {}
    for cut in cut_file(path, options.pop("delimiter", ","), header=options.pop("header", False), **options):
        rows |= {int(line): cut.row(number) for number, line in enumerate(cut.lines)}
        for reason, lines in cut.flawed.items():
            flawed[reason] = flawed.get(reason, []) + lines.tolist()
    return rows, flawed


def csv_fields(line: str) -> int | None:
    """How many fields Python's own reader finds in one line; None if a quote is open at its end."""
    (row,) = csv.reader([line + "\n"])
    return None if row[-1].endswith("\n") else len(row)


@given(text=st.text(st.sampled_from('ab,"\n'), min_size=1, max_size=60).filter(lambda text: bool(text.strip("\n"))))
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_by_itself_like_the_csv_module(tmp_path: Path, text: str) -> None:
    expected = {number: csv_fields(line) for number, line in enumerate(text.split("\n"), 1) if line}
    path = tmp_path / "log.csv"
    path.write_text(text + "\n", newline="")
    rows, flawed = rows_of(path, quotes=True)
    assert {number: len(row) for number, row in rows.items()} == {
        number: fields for number, fields in expected.items() if fields is not None
    }
    assert flawed[NOT_CLOSED] == [number for number, fields in expected.items() if fields is None]


@given(
    text=st.text(st.sampled_from('a,"\n\r'), min_size=1, max_size=40).filter(lambda text: bool(text.strip("\r\n"))),
    block=st.integers(1, 12),
    max_line=st.integers(1, 20),
    mark=st.booleans(),
    quotes=st.booleans(),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, block: int, max_line: int, mark: bool, quotes: bool
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("\ufeff" * mark + text, newline="")
    with monkeypatch.context() as patch:
        patch.setattr(fields, "MAX_LINE", max_line)
        at_once = rows_of(path, quotes=quotes)
        patch.setattr(fields, "BLOCK", block)
        assert rows_of(path, quotes=quotes) == at_once


def one_line(text: str) -> str:
    return text.replace("\n", " ")


@given(rows=st.lists(st.lists(st.text(max_size=6).map(one_line), min_size=2, max_size=3), min_size=1, max_size=8))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_rows_come_back(tmp_path: Path, rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    path = tmp_path / "log.csv"
    path.write_bytes(out.getvalue().encode())
    kept, flawed = rows_of(path, quotes=True)
    assert list(kept.values()) == [[b'"' + field.replace('"', '""').encode() + b'"' for field in row] for row in rows]
    assert flawed == {TOO_LONG: [], NOT_CLOSED: []}


def test_lines_of_all_kinds(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xef\xbb\xbfa\tb\r\n\nc\x00\t\xff\r\n\r\nlast")
    assert rows_of(path, delimiter="\t")[0] == {1: [b"a", b"b"], 3: [b"c\x00", b"\xff"], 5: [b"last"]}
    assert rows_of(path, delimiter=None)[0] == {1: [b"a\tb"], 3: [b"c\x00\t\xff"], 5: [b"last"]}


def test_a_carriage_return_ends_a_line_only_before_its_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b'a,b\r\n1,x\ry\n2,"x\r"\r\n3,"x\r\n4,x\r\r\n5,x\r')
    rows, flawed = rows_of(path, quotes=True)
    assert rows == {1: [b"a", b"b"], 2: [b"1", b"x\ry"], 3: [b"2", b'"x\r"'], 5: [b"4", b"x\r"], 6: [b"5", b"x"]}
    assert flawed[NOT_CLOSED] == [4]


def test_an_open_quote_touches_no_other_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b'1,"a\nb\n""c"",",x\n2,5" nail,y\n3,"open\n4,kept\n5,kept')
    rows, flawed = rows_of(path, quotes=True)
    assert flawed == {TOO_LONG: [], NOT_CLOSED: [1, 3, 5]}
    assert rows == {2: [b"b"], 4: [b"2", b'5" nail', b"y"], 6: [b"4", b"kept"], 7: [b"5", b"kept"]}


def test_filled(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_bytes(b"a\tb\tc\na\t\tc\na\na\tb\n")
    (cut,) = cut_file(path, "\t")
    assert cut.filled(1).tolist() == [True, False, False, True]
    assert cut.column(np.array([True, True, False, False]), 2).to_pylist() == [b"c", b"c"]


def test_gzip_of_several_members(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\nc,", mtime=0) + gzip.compress(b"d\n"))
    assert rows_of(path)[0] == {1: [b"a", b"b"], 2: [b"c", b"d"]}


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
        ("a.csv", b'\n"a,b\nc,d\n', r"no header that can be read, line 2 \(quote not closed\)"),
        ("a.csv", b"a" * (1 << 20) + b"b\nc,d\n", r"no header that can be read, line 1 \(line too long\)"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(LogError, match=message) as caught:
        rows_of(path, quotes=True, header=True)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_without_end_is_skipped_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_LINE", 1000)
    monkeypatch.setattr(fields, "BLOCK", 100)
    sizes: list[int] = []
    cut = fields.cut_lines

    def measured(data: bytes, *rest: Any) -> fields.Cut:
        sizes.append(len(data))
        return cut(data, *rest)

    monkeypatch.setattr(fields, "cut_lines", measured)
    path = tmp_path / "log.csv"
    path.write_bytes(b"a,b\n" + b'"x,' * 9999 + b"\nc,d\n" + b"x" * 1000 + b"\r\n" + b"x" * 1001 + b"\r\ne,f")
    rows, flawed = rows_of(path, quotes=True)
    assert rows == {1: [b"a", b"b"], 3: [b"c", b"d"], 4: [b"x" * 1000], 6: [b"e", b"f"]}
    assert flawed == {TOO_LONG: [2, 5], NOT_CLOSED: []}
    assert max(sizes) < 1000 + 2 * 100 + 10
