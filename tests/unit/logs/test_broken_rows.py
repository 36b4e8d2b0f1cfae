"""Broken rows are counted by reason, keep their user, and stop the read beyond a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blendp.engines import EmbeddedLog
from blendp.errors import LogError
from blendp.logs import Columns, LogQuality, log_of_table, read_log

LONG = b"x" * 8193


def read(tmp_path: Path, name: str, content: bytes, max_broken: float = 1, **columns: Any) -> EmbeddedLog:
    (tmp_path / name).write_bytes(content)
    return read_log(tmp_path / name, columns=Columns(**columns), max_broken=max_broken)


def test_csv(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "log.csv",
        b"user,query,url\n"
        b"good,q,http://a.com\n"
        b"few,q\n"
        b"many,q,u,v\n"
        b"few and not UTF-8,\xff\n"
        b",no user,u\n"
        b" \t,no user,u\n"
        b"not utf8,\xff\xfe,u\n"
        b"\xc0\x80,q,not utf8 user\n"
        b"nul,a\0b,u\n"
        b"no query,,u\n"
        b"no query, \xe3\x80\x80 ,u\n"
        b"no url,q,\n"
        b"no url,q,#only\n"
        b"long," + LONG + b",u\n" + LONG + b",q,long user\n"
        b'quote,"a" b,u\n'
        b"\n\r\n"
        b'open,"a,u\nafter,q,u\n' + b"x" * (1 << 20) + b",q,u\n",
    )
    assert log.quality == LogQuality(
        rows=19,
        usable=2,
        broken={
            "wrong number of fields": 3,
            "no user": 2,
            "not UTF-8": 2,
            "NUL byte": 1,
            "no query": 2,
            "no URL": 2,
            "text too long": 2,
            "text after a closing quote": 1,
            "quote not closed": 1,
            "line too long": 1,
        },
    )
    # good, not utf8, nul, no query, no url, long, after: their ids can be read, so they take part.
    assert (log.users, log.distinct_records) == (7, 2)
    assert sorted(log.sample(1, 3).ravel().tolist()) == [-1, -1, -1, -1, -1, 0, 1]
    assert log.truth().record.tolist() == [1 / 7, 1 / 7]


def test_the_longest_text_that_fits(tmp_path: Path) -> None:
    log = read(tmp_path, "log.tsv", b"user\tquery\nu\t" + LONG[:-1] + b"\n", max_broken=0)
    assert log.quality.usable == 1


def test_broken_quotes_do_not_lose_later_rows(tmp_path: Path) -> None:
    log = read(tmp_path, "log.csv", b'user,query\nu1,"a\nu2,kept\nu3,"b"\nu4,kept\nu5,"kept"\n')
    assert dict(log.quality.broken) == {"quote not closed": 1}
    assert (log.quality.rows, log.quality.usable, log.users) == (5, 4, 4)


def test_ndjson(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "log.ndjson",
        b'{"user": "good", "query": "q", "url": "u"}\n'
        b"not json\n"
        b'{"user": "cut", "que\n'
        b'{"user": "\\ud800", "query": "lone surrogate"}\n'
        b"[1, 2]\n"
        b'"text"\n'
        b'{"user": "\xff", "query": "q", "url": "u"}\n'
        b'{"user": {"id": 1}, "query": "q", "url": "u"}\n'
        b'{"user": "nested", "query": ["q"], "url": "u"}\n'
        b'{"user": null, "query": "q", "url": "u"}\n'
        b'{"user": "null query", "query": null, "url": "u"}\n'
        b'{"user": "no url", "query": "q"}\n'
        b'{"user": "nul", "query": "a\\u0000b", "url": "u"}\n',
    )
    assert dict(log.quality.broken) == {
        "not JSON": 3,
        "not a JSON object": 2,
        "nested value": 2,
        "not UTF-8": 1,
        "no user": 1,
        "no query": 1,
        "no URL": 1,
        "NUL byte": 1,
    }
    assert (log.quality.rows, log.quality.usable, log.users) == (13, 1, 5)


def test_table_of_bytes_and_nulls() -> None:
    table = pa.table(
        {"user": pa.array([b"a", b"b", None, b"\xff"]), "query": pa.array([b"q", b"\xff", b"q", None], pa.binary())}
    )
    log = log_of_table(table, max_broken=1)
    assert dict(log.quality.broken) == {"not UTF-8": 2, "no user": 1}
    assert (log.users, log.distinct_records) == (2, 1)


def test_opt_in(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "log.csv",
        b"user,query,in\na,q,yes\na,q,TRUE\nb,q,1\nb,q,no\nc,q,1\nc,q,maybe\nd,q,0\ne,q,\nf,,Yes\n",
        opt_in="in",
    )
    assert log.opt_in is not None
    assert log.opt_in.tolist() == [True, False, False, False, False, True]
    assert dict(log.quality.broken) == {"opt-in value": 2, "no query": 1}
    assert not log.opt_in.flags.writeable


@pytest.mark.parametrize(("max_broken", "stops"), [(0, True), (0.09, True), (0.1, False), (1, False)])
def test_limit(tmp_path: Path, max_broken: float, stops: bool) -> None:
    content = b"user,query\n" + b"u,q\n" * 18 + b",q\nu,\n"
    if not stops:
        assert read(tmp_path, "log.csv", content, max_broken).quality.broken_share == 0.1
        return
    with pytest.raises(LogError) as caught:
        read(tmp_path, "log.csv", content, max_broken)
    message = str(caught.value)
    assert "2 of 20 rows" in message
    assert "(10.00%)" in message
    assert f"max_broken = {max_broken}" in message
    assert "'no query' (1 row)" in message


def test_no_broken_row_passes_the_strictest_limit(tmp_path: Path) -> None:
    assert read(tmp_path, "log.csv", b"user,query\nu,q\n", 0).quality.broken_share == 0


def test_quality_for_people() -> None:
    quality = LogQuality(10, 5, {"no user": 1, "no query": 2, "no URL": 0}, {"no click": 2})
    assert str(quality) == "10 rows, 5 usable\n3 broken: no query 2, no user 1\n2 ignored: no click 2"
    assert str(LogQuality(1, 1)) == "1 row, 1 usable"
    assert LogQuality(0, 0).broken_share == 0
    assert quality.broken_share == 0.3


HEADERS = {
    "csv": b"user,query,url\n",
    "tsv": b"user\tquery\turl\n",
    "ndjson": b'{"user": 1, "query": "q", "url": "u"}\n',
    "aol": b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n",
    "yandex": b"1\tM\t1\t1\n1\t0\tQ\t0\t5\t6\t7,8\n",
}
SCRAPS = st.sampled_from(
    [b",", b"\t", b"\n", b"\r\n", b'"', b"a", b"1", b" ", b"C", b"Q", b"M", b"\xff", b"\0", b"{", b"}"]
)


@pytest.mark.parametrize("format", HEADERS)
@given(scraps=st.lists(SCRAPS, max_size=40))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_a_log_or_a_log_error(tmp_path: Path, format: str, scraps: list[bytes]) -> None:
    path = tmp_path / "log"
    body = b"".join(scraps)
    path.write_bytes(HEADERS[format] + body)
    try:
        log = read_log(path, format=format, max_broken=1)
    except LogError:
        return
    lines = sum(1 for line in body.replace(b"\r\n", b"\n").split(b"\n") if line)
    quality = log.quality
    assert quality.rows == quality.usable + quality.broken_rows + sum(quality.ignored.values())
    assert quality.rows <= lines + (format in ("ndjson", "yandex"))
    if format in ("csv", "tsv", "ndjson", "aol"):
        assert quality.rows == lines + (format == "ndjson")


def test_table_of_text_that_is_not_utf8() -> None:
    for kind, wide in ((pa.string(), "<i4"), (pa.large_string(), "<i8")):
        offsets = pa.py_buffer(np.array([0, 1, 2], dtype=wide))
        text = pa.Array.from_buffers(kind, 2, [None, offsets, pa.py_buffer(b"q\xff")])
        log = log_of_table(pa.table({"user": ["a", "b"], "query": text}), max_broken=1)
        assert (dict(log.quality.broken), log.users) == ({"not UTF-8": 1}, 2)
