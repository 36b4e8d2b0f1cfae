"""Reading a log is row-local: whatever bytes stand in one person's rows, all other rows are read as ever.

Rows are read one by one, so reading adds up: the rows of a file with some bytes put in are the rows without them, and
those that the bytes spell by themselves, whoever these name. Nothing else may change, in any format, wherever the bytes
stand and however the file is cut into blocks.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blendp.errors import LogError
from blendp.logs import fields, open_log, read_log
from tests.unit.logs.both_readers import Rows, rows_and_flaws, settled

HEADERS = {
    "csv": b"user,query,url,more\n",
    "tsv": b"user\tquery\turl\n",
    "aol": b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n",
    "ndjson": b"",
    "yandex": b"",
}
OTHERS = {
    "csv": [
        b'b,"say ""hi"", you",u,\n',
        b'c,5" nail,"u",x\n',
        b"d,caf\xc3\xa9,u,\r\n",
        b"e,\xff,u,1\n",
        b"f,q\n",
        b"g,,u,\n",
    ],
    "tsv": [b'b\t"open\tu\n', b"c\tq\tu\r\n", b"d\tcaf\xc3\xa9\tu\n", b"e\t\xff\tu\n", b"f\tq\n", b"g\t\tu\n"],
    "aol": [b'b\t"q\t2006\t1\tu\n', b"c\tq\t2006\t\t\r\n", b"d\tq\t2006\n", b"e\t\xff\t2006\t2\tu\n", b"f\tq\n"],
    "ndjson": [
        b'{"user": "b", "query": "q", "url": "u"}\n',
        b'{"user": 5, "query": "caf\xc3\xa9", "url": "u"}\r\n',
        b'{"user": "d", "query": "q"}\n',
        b"no json\n",
        b'{"user": "\xff", "query": "q", "url": "u"}\n',
    ],
    "yandex": [
        b"b\tM\t1\tbob\n",
        b"b\t0\tQ\t0\t5\t6\t7,8\r\n",
        b"b\t1\tC\t0\t7\n",
        b"b\t1\tC\t4\t7\n",
        b"c\t1\tC\t0\t7\n",
        b"d\tM\t1\n",
    ],
}
SCRAPS = st.sampled_from(
    [
        *(b'"', b'""', b"\n", b"\r", b"\r\n", b",", b"\t", b"\0", b" ", b"\\", b"a", b"{", b"}", b"[" * 9, b"x" * 70),
        *(b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"),
        *(b"a,q,u,\n", b"a\tq\tu\n", b"a\tq\t2006\t1\tu\n", b"a\tM\t1\ta\n", b"a\t1\tC\t0\t7\n"),
        b'{"user": "a", "query": "q", "url": "u"}',
    ]
)
ANY = st.lists(st.one_of(SCRAPS, st.binary(max_size=6)), max_size=12).map(b"".join)


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_LINE", 60)


_KNOWN: dict[tuple[str, int], tuple[Rows, Rows]] = {}


def rows_without(path: Path, format: str, lines: int) -> tuple[Rows, Rows]:
    """The rows of the first lines of a file in which nobody's rows are replaced, read once."""
    if (format, lines) not in _KNOWN:
        _KNOWN[format, lines] = rows_of(path, format, b"".join([HEADERS[format], *OTHERS[format]][:lines]))
    return _KNOWN[format, lines]


def rows_of(path: Path, format: str, content: bytes) -> tuple[Rows, Rows]:
    """All rows that are read, and how many lines are broken or ignored by reason."""
    path.write_bytes(content)
    return rows_and_flaws(settled(open_log(path, format=format, max_broken=1)))


def names_a_session_of_others(lines: bytes) -> bool:
    return any(line.split(b"\t")[0] in (b"b", b"c", b"d") for line in lines.split(b"\n"))


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("format", HEADERS)
@given(bytes_put_in=ANY, line=st.integers(1, 6), block=st.integers(1, 40), ended=st.booleans())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_one_persons_rows_leave_all_other_rows_as_they_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    format: str,
    bytes_put_in: bytes,
    line: int,
    block: int,
    ended: bool,
) -> None:
    """Rows of one person, somewhere in the file, are replaced by any bytes and the end of their line.

    In the Yandex format a person's lines are those of their sessions, so the bytes name no session of others.
    """
    lines = [HEADERS[format], *OTHERS[format]]
    if format == "yandex" and names_a_session_of_others(bytes_put_in):
        return
    put_in = bytes_put_in + b"\n" * (ended or line < len(lines))
    path = tmp_path / "log"
    without, broken_without = rows_without(path, format, len(lines))
    alone, broken_alone = rows_of(path, format, b"".join(lines[:2]) + put_in)
    first, broken_first = rows_without(path, format, 2)
    line = max(line, 2)
    with monkeypatch.context() as patch:
        patch.setattr(fields, "BLOCK", block)
        rows, broken = rows_of(path, format, b"".join([*lines[:line], put_in, *lines[line:]]))
    assert rows - without == alone - first
    assert without - rows == Counter()
    assert rows.total() == without.total() + alone.total() - first.total()
    if format != "yandex":
        assert broken + broken_first == broken_without + broken_alone


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("format", ["ndjson", "yandex"])
@given(bytes_put_in=ANY)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_row_of_a_file_without_header_says_nothing_about_the_others(
    tmp_path: Path, format: str, bytes_put_in: bytes
) -> None:
    if format == "yandex" and names_a_session_of_others(bytes_put_in):
        return
    path = tmp_path / "log"
    without, _ = rows_without(path, format, 1 + len(OTHERS[format]))
    rows, _ = rows_of(path, format, bytes_put_in + b"\n" + b"".join(OTHERS[format]))
    assert without - rows == Counter()


def test_two_stray_quotes_lose_two_rows(tmp_path: Path) -> None:
    """As searches for exact phrases look; the rows between them were once a part of one broken row."""
    rows = [f"u{i},weather,http://weather.com\n" for i in range(999)]
    rows[100], rows[800] = 'u100,"5 inch,http://a.com\n', 'u800,screen",http://a.com\n'
    path = tmp_path / "log.csv"
    path.write_text("user,query,url\n" + "".join(rows))
    log = read_log(path)
    assert (log.users, dict(log.quality.broken)) == (998, {"quote not closed": 1})
    rows[900] = 'u100,screen","http://a.com\n'
    path.write_text("user,query,url\n" + "".join(rows))
    log = read_log(path)
    assert (log.users, dict(log.quality.broken)) == (997, {"quote not closed": 2})


@pytest.mark.parametrize("format", ["csv", "tsv", "aol", "ndjson", "yandex"])
def test_a_line_too_long_is_one_broken_row(tmp_path: Path, format: str) -> None:
    path = tmp_path / "log"
    lines = [HEADERS[format], *OTHERS[format]]
    without, broken_without = rows_of(path, format, b"".join(lines))
    lines.insert(2, b'"' + b"x" * (fields.MAX_LINE + 9) + b"\n")
    rows, broken = rows_of(path, format, b"".join(lines))
    assert (rows, broken) == (without, broken_without + Counter({("line too long",): 1}))


def test_a_header_that_is_no_row_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,"query,url\nu,q,u\n')
    with pytest.raises(LogError, match=r"no header that can be read, line 1 \(quote not closed\)"):
        read_log(path)
