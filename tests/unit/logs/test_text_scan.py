"""The database and the careful reader read the same from any file, or the careful reader takes over."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blendp.engines import Contributions
from blendp.errors import LogError
from blendp.logs import Columns, fields, line_witness, open_log, read_log, text_scan
from blendp.logs.dialect import CSV, TSV, TextDialect
from blendp.logs.filters import RowFilter
from blendp.logs.reading import HowRead, LogReading
from blendp.logs.text_scan import scan_delimited
from tests.unit.logs.both_readers import careful, rows_and_flaws, settled

SCRAPS = st.sampled_from(
    [
        *(b'"', b'""', b'"""', b"\n", b"\r", b"\r\n", b"\n\n", b",", b"\t", b";", b"\0", b" ", b"\\", b"a", b"b c"),
        *(b'"a"', b',"a",', b'"a, b"', b'"a" b', b'" a', b"x" * 70, b"#", b"\xc3\xa9", b"\xf0\x9f\x98\x80"),
        *(b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x82"),
        *(b"u,q,http://u\n", b'u,"q",http://u\n', b'"u","q","http://u"\n', b"u\tq\thttp://u\r\n", b"\xf4\x8f\xbf\xbf"),
    ]
)
BODY = st.lists(st.one_of(SCRAPS, SCRAPS, st.binary(max_size=4)), max_size=24).map(b"".join)
DIALECTS = {"csv": CSV, "tsv": TSV, "semicolons": TextDialect(";"), "bars": TextDialect("|", quotes=False)}


def read_both(path: Path, dialect: TextDialect, columns: Columns) -> tuple[Any, Any, bool]:
    """What either reader gives, or the message of its error, and whether the database was believed."""
    given: list[Any] = []
    believed = False
    for scans in (True, False):
        try:
            log = careful(path, dialect, columns)
            if scans:
                reading = LogReading(columns=columns, max_broken=1)
                scan = scan_delimited([path], dialect, reading)
                if scan is not None:
                    log.connection.close()
                    how = HowRead("csv", {}, dialect, RowFilter())
                    opened = scan.staged(str(path), reading, how, None, None, lambda: careful(path, dialect, columns))
                    log = settled(opened)
                    believed = log.witness is not None
            given.append(rows_and_flaws(log))
        except LogError as error:
            given.append(str(error))
    return given[0], given[1], believed


@pytest.mark.parametrize("name", DIALECTS)
@given(body=BODY, line=st.sampled_from([60, 1 << 20]), block=st.integers(1, 99), crlf=st.booleans(), mark=st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(body=b'\x00,"\x00",\x00\n', line=60, block=3, crlf=False, mark=True)
@example(body=b'a,"b\n,"\nc,d,e\n', line=60, block=3, crlf=False, mark=False)
@example(body=b"\n" * 40 + b"a,b,c", line=60, block=3, crlf=True, mark=False)
@example(body=b"\xef\xbb\xbfa,\xff,c\na,b,c", line=60, block=7, crlf=False, mark=True)
def test_both_readers_give_the_same_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    body: bytes,
    line: int,
    block: int,
    crlf: bool,
    mark: bool,
) -> None:
    dialect = DIALECTS[name]
    header = dialect.delimiter.join(("user", "query", "more", "in")).encode() + b"\n"
    content = header + body.replace(b",", dialect.delimiter.encode())
    if crlf:
        content = content.replace(b"\n", b"\r\n").replace(b"\r\r\n", b"\r\n")
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" * mark + content)
    with monkeypatch.context() as patch:
        patch.setattr(fields, "MAX_LINE", line)
        patch.setattr(line_witness, "_BLOCK", block)
        patch.setattr(text_scan, "_HEAD", block)
        scanned, read, believed = read_both(path, dialect, Columns(opt_in="in"))
    assert scanned == read
    odd = b"\r" in content.replace(b"\r\n", b"\n").removesuffix(b"\r") or b"\xf4\x8f\xbf\xbf" in content
    assert believed or odd


def test_both_readers_give_the_same_of_every_short_line(tmp_path: Path) -> None:
    """Quotes around all fields, some, parts of them and nothing, with delimiters inside and out."""
    lines = ("".join(line) for length in range(1, 9) for line in product('",a', repeat=length))
    (tmp_path / "log.csv").write_text("user,query\n" + "\n".join(lines))
    scanned, read, believed = read_both(tmp_path / "log.csv", CSV, Columns())
    assert scanned == read
    assert scanned[0]["a", "a", None, None, None] == 4
    assert believed


ROWS = b"user,query,url\n" + b"".join(b"u%d,q %d,http://%d.com\n" % (i % 40, i % 7, i % 3) for i in range(400))
DAMAGED = ROWS + (
    b'u1,"a, ""b""",http://x.com\nu2,"open,http://x.com\nu3,"a" b,http://x.com\nu4,q\nu5,q,u,v\nnew,\xff,u\n\xff,q,u\n'
    b"nul,a\0b,u\n\n,q,u\nu6,,u\nu7,  spaces  ,u\n" + b"x" * 3_000_000 + b"\nlast,q,http://x.com"
)


def written(path: Path, content: bytes) -> Path:
    """The content as the end of the name says."""
    if path.suffix == ".gz":
        content = gzip.compress(content[:5000], mtime=0) + gzip.compress(content[5000:], mtime=0)
    elif path.suffix == ".zst":
        content = bytes(pa.compress(content, "zstd", asbytes=True))
    path.write_bytes(content)
    return path


def drawn_people(drawn: Contributions) -> Counter[tuple[tuple[str, str | None] | None, int]]:
    """The record and the number of occurrences of everybody."""
    chosen = [drawn.texts(row)[0] if row[0] >= 0 else None for row in drawn.records]
    return Counter(zip(chosen, drawn.record_counts.tolist(), strict=True))


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.csv.zst"])
@pytest.mark.parametrize("content", [ROWS, DAMAGED], ids=["whole", "damaged"])
def test_people_and_fates_are_those_of_the_careful_reader(tmp_path: Path, name: str, content: bytes) -> None:
    path = written(tmp_path / name, content)
    columns = Columns()
    log = open_log(path, max_broken=1)
    assert log.witness is not None
    log = open_log(path, max_broken=1)
    object.__setattr__(log, "instead", None)  # the database must do
    expected = careful(path, CSV, columns).draw(1, 5, reproducible=True)
    drawn = log.draw(1, 5, reproducible=True)
    assert drawn.quality == expected.quality
    assert drawn_people(drawn) == drawn_people(expected)
    holdings, others = (one.holdings(np.arange(0, one.users, 2), 3) for one in (drawn, expected))
    assert sorted(holdings.totals.tolist()) == sorted(others.totals.tolist())
    at_random = open_log(path, max_broken=1).draw(1, 5)
    assert (at_random.quality, at_random.users) == (expected.quality, expected.users)
    assert sorted(at_random.record_counts.tolist()) == sorted(expected.record_counts.tolist())
    assert read_log(path, max_broken=1).quality == expected.quality


@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv.zst"])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, name: str) -> None:
    """The database takes what it gets of some for all; the witness does not."""
    path = written(tmp_path / name, ROWS + bytes(np.random.default_rng(1).integers(65, 90, 300_000, dtype=np.uint8)))
    whole = path.read_bytes()
    for cut in (len(whole) - 5, len(whole) // 2):
        path.write_bytes(whole[:cut])
        with pytest.raises(LogError, match="cut short"):
            open_log(path, max_broken=1).draw(1, 5)


def test_what_the_database_alone_would_lose(tmp_path: Path) -> None:
    """Why it is asked for lines, and watched: its own reader of CSV follows a quote across lines, without a word."""
    path = tmp_path / "log.csv"
    path.write_bytes(
        b'user,query,url\nu1,"5 inch,http://a.com\n' + b"u2,q,http://a.com\n" * 500 + b'u3,a",http://a.com\n'
    )
    rows = "SELECT count(*) FROM read_csv({!r}, columns={{'u': 'VARCHAR', 'q': 'VARCHAR', 'l': 'VARCHAR'}}, {})"
    options = "delim=',', quote='\"', escape='\"', header=true, auto_detect=false, ignore_errors=true"
    ((alone,),) = duckdb.execute(rows.format(str(path), options)).fetchall()
    assert alone < 500
    drawn = open_log(path).draw(1, 1)
    assert (drawn.quality.usable, dict(drawn.quality.broken)) == (501, {"quote not closed": 1})


NOT_PLAIN = {
    "quote": b'"u1",q,http://a.com\n',
    "nul": b"u1,a\0b,u\n",
    "bytes": b"u1,\xff,u\n",
    "long": b"x" * 1_100_000 + b",q,u\n",
}


@pytest.mark.parametrize("end", [b"u1,q\nu1,q,u,v,w\n", *NOT_PLAIN.values()], ids=["plain", *NOT_PLAIN])
def test_plain_files_are_cut_by_the_database(tmp_path: Path, end: bytes) -> None:
    """A line that is not plain, wherever it comes, makes lines be read instead, with the same result."""
    path = written(tmp_path / "log.csv", ROWS * 10 + end + ROWS[15:])
    log = open_log(path, max_broken=1)
    assert "column4" in log.rows
    drawn = log.draw(1, 1, reproducible=True)
    expected = careful(path, CSV, Columns()).draw(1, 1, reproducible=True)
    assert drawn_people(drawn) == drawn_people(expected)
    assert log.quality == expected.quality
    everybody = np.arange(drawn.users)
    assert drawn.holdings(everybody, 1).totals.tolist() == expected.holdings(everybody, 1).totals.tolist()


def test_a_log_that_cannot_be_read_twice_goes_to_the_careful_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    writer = Thread(target=(tmp_path / "pipe.csv").write_bytes, args=(ROWS,))
    writer.start()
    log = open_log(tmp_path / "pipe.csv")
    writer.join()
    assert log.witness is None
    drawn = log.draw(1, 1)
    assert (drawn.users, drawn.quality.usable) == (40, 400)
    assert drawn.holdings(np.arange(40), 1).totals.sum() == 400


def test_files_of_different_layouts_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\n\r\nuser,query\r\nu1,q1\r\n")
    written(tmp_path / "b.csv.gz", b"\xef\xbb\xbfquery,more,user\nq2,x,u2\nq3,x,\xff\n")
    written(tmp_path / "c.csv.zst", b"user,query\nu1,q4")
    drawn = open_log(tmp_path, max_broken=1).draw(2, 1)
    assert (drawn.users, drawn.quality.usable, dict(drawn.quality.broken)) == (2, 3, {"not UTF-8": 1})


def test_too_many_lines_that_are_not_utf_8_are_for_the_careful_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_witness, "MAX_ASIDE", 100)
    path = written(tmp_path / "log.csv", ROWS * 200 + b"\xe9\xe9,q,u\n" * 20)
    drawn = open_log(path, max_broken=1).draw(1, 1)
    assert drawn.quality.broken["not UTF-8"] == 20
    assert drawn.quality == careful(path, CSV, Columns()).draw(1, 1).quality


def test_the_random_choice_among_a_persons_rows_is_fair(tmp_path: Path) -> None:
    """Rows have no place of their own: every occurrence counts, equal ones too."""
    path = written(
        tmp_path / "log.csv",
        b"user,query\n" + b"".join(b"u%d,%b\n" % (i, q) for i in range(3000) for q in [b"a", b"b", b"b"]),
    )
    drawn = open_log(path).draw(1, 77)
    ((text, _),) = drawn.texts(np.array([0]))
    first = int((drawn.records[:, 0] == 0).sum())
    share = 1 / 3 if text == "a" else 2 / 3
    assert abs(first - 3000 * share) < 6 * (3000 * 2 / 9) ** 0.5


def test_holdings_of_people_whose_rows_both_readers_read(tmp_path: Path) -> None:
    """Somebody with one line in UTF-8 and one that is not has every row once, and stops nobody's run."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"user,query\nu,weather\nu,caf\xe9\nu,news\nv,news\n")
    drawn = open_log(path, max_broken=1).draw(1, 7)
    assert sorted(drawn.holdings(np.arange(2), 7).totals.tolist()) == [1, 2]
