"""The rule on devices and the rule on logs are one rule."""

from __future__ import annotations

import unicodedata

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.engines.database import connect
from blendp.normalise import RULES, normalise_query, normalise_url, query_sql, url_sql

# NUL never gets as far as the rule: its row is broken. Unassigned code points are left out, since Python and
# the database may know different versions of Unicode.
ANY = st.characters(exclude_characters="\0", exclude_categories=["Cs", "Cn"])
# Spaces of all kinds, letters whose lower case is special, and marks that combine with what stands before.
TRICKY = st.sampled_from(" \t\n\r\x0b\x1c\x85\xa0\u2003\u2028\u3000\u200b\ufeffİIıΣσςßẞǰJKÅé\u0301\u0307\u030c\u0338Ⱥ")
TEXT = st.text(ANY | TRICKY, max_size=30)
URL_PART = st.text(ANY | TRICKY | st.sampled_from("aB:/?#@[].80"), max_size=8)
URL = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", " ", "\u3000"]),
        st.sampled_from(["", "http://", "HTTP://", "https://", "ftp://", "://", "1a://", "http:/"]),
        st.sampled_from(["", "User:PW@", "@", "a@B@"]),
        st.sampled_from(["", "Example.COM", "İ.com", "[::1]", "[", "ΑΣ.gr", "J\u030c.cz"]) | URL_PART,
        st.sampled_from(["", ":80", ":443", ":", ":8080", ":x"]),
        st.sampled_from(["", "/", "/ ", "/Path", "?Q=A", "//"]) | URL_PART,
        st.sampled_from(["", "#", "#Frag", " ", "/#"]),
    ),
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return connect()


def in_sql(database: duckdb.DuckDBPyConnection, expression: str, texts: list[str]) -> list[str]:
    database.register("texts", pa.table({"place": range(len(texts)), "text": texts}))
    rows = database.execute(f"SELECT {expression} FROM texts ORDER BY place").fetchall()
    return [text for (text,) in rows]


@given(texts=st.lists(TEXT, min_size=1, max_size=50))
def test_queries_agree(database: duckdb.DuckDBPyConnection, texts: list[str]) -> None:
    assert in_sql(database, query_sql("blendp-1", "text"), texts) == [normalise_query(text) for text in texts]


@given(texts=st.lists(URL | TEXT, min_size=1, max_size=50))
@settings(max_examples=200)
def test_urls_agree(database: duckdb.DuckDBPyConnection, texts: list[str]) -> None:
    assert in_sql(database, url_sql("blendp-1", "text"), texts) == [normalise_url(text) for text in texts]


@given(text=URL | TEXT)
@settings(max_examples=500)
def test_idempotent(text: str) -> None:
    assert normalise_query(normalise_query(text)) == normalise_query(text)
    assert normalise_url(normalise_url(text)) == normalise_url(text)


@given(text=URL | TEXT)
def test_one_answer_for_equivalent_spellings(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert normalise_query(unicodedata.normalize(form, text)) == normalise_query(text)
        assert normalise_url(unicodedata.normalize(form, text)) == normalise_url(text)


@pytest.mark.skipif(
    int(unicodedata.unidata_version.split(".")[0]) > 15, reason="this Python knows letters the database does not"
)
def test_every_assigned_character_agrees(database: duckdb.DuckDBPyConnection) -> None:
    assigned = [chr(i) for i in range(1, 0x110000) if unicodedata.category(chr(i)) not in ("Cs", "Cn", "Co")]
    queries = [f"a{character}b" for character in assigned]
    assert in_sql(database, query_sql("blendp-1", "text"), queries) == [normalise_query(text) for text in queries]
    urls = [f"http://a{character}b/A{character}" for character in assigned]
    assert in_sql(database, url_sql("blendp-1", "text"), urls) == [normalise_url(text) for text in urls]


def test_none_is_nfc_alone(database: duckdb.DuckDBPyConnection) -> None:
    texts = ["  A\u030a B ", "HTTP://A.com:80/#x"]
    for expression in (query_sql("none", "text"), url_sql("none", "text")):
        assert in_sql(database, expression, texts) == ["  Å B ", "HTTP://A.com:80/#x"]
    assert RULES == ("blendp-1", "none")


@pytest.mark.parametrize(
    ("query", "normal"),
    [
        ("  Hello\t\n WORLD ", "hello world"),
        ("CAFE\u0301", "café"),
        ("J\u030c", "ǰ"),
        ("İstanbul", "istanbul"),
        ("ΟΔΟΣ", "οδοσ"),
        ("a\u3000b", "a b"),
        ("a\u200bb", "a\u200bb"),
        ("*", "*"),
        (" \t", ""),
    ],
)
def test_query_examples(query: str, normal: str) -> None:
    assert normalise_query(query) == normal


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://a.com/", "http://a.com"),
        ("http://a.com", "http://a.com"),
        (" HTTP://A.Com:80/Path?Q#part ", "http://a.com/Path?Q"),
        ("https://A.com:443/#x", "https://a.com"),
        ("https://a.com:80/", "https://a.com:80"),
        ("http://a.com:443/x/", "http://a.com:443/x/"),
        ("http://User:Word@A.com/", "http://User:Word@a.com"),
        ("http://[::A]:80/", "http://[::a]"),
        ("ftp://A.com/", "ftp://a.com"),
        ("http://a.com/?", "http://a.com/?"),
        ("http://a.com//", "http://a.com//"),
        ("file:///X", "file:///X"),
        ("www.A.com/", "www.A.com/"),
        ("http://a.com /", "http://a.com /"),
        ("#x", ""),
    ],
)
def test_url_examples(url: str, normal: str) -> None:
    assert normalise_url(url) == normal
