"""The database and the careful reader read the same from any file, or the careful reader takes over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blendp.errors import LogError
from blendp.logs import Columns, fields, line_witness
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
                    believed = log is opened
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
        scanned, read, believed = read_both(path, dialect, Columns(opt_in="in"))
    assert scanned == read
    odd = b"\r" in content.replace(b"\r\n", b"\n").removesuffix(b"\r") or b"\xf4\x8f\xbf\xbf" in content
    assert believed or odd
