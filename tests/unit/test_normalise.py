"""The rule on devices and the rule on logs are one rule."""

from __future__ import annotations

import random
import sys
import unicodedata

import duckdb
import pyarrow as pa
import pytest

from blendp.engines.database import connect
from blendp.normalise import RULES, normalise_query, normalise_url, query_sql, url_sql

# Spaces of all kinds, letters whose lower case is special, and marks that combine with what stands before.
TRICKY = " \t\n\r\x0b\x1c\x85\xa0\u2003\u2028\u3000\u200b\ufeffİIıΣσςßẞǰJKÅé\u0301\u0307\u030c\u0338Ⱥ"
URL_PARTS = (
    ("", " ", "\u3000"),
    ("", "http://", "HTTP://", "https://", "ftp://", "://", "1a://", "http:/"),
    ("", "User:PW@", "@", "a@B@"),
    ("", "Example.COM", "İ.com", "[::1]", "[", "ΑΣ.gr", "J\u030c.cz", None),
    ("", ":80", ":443", ":", ":8080", ":x"),
    ("", "/", "/ ", "/Path", "?Q=A", "//", None),
    ("", "#", "#Frag", " ", "/#"),
)
"""What URLs are made of; None is any text."""


def any_sign(chance: random.Random) -> str:
    """NUL never gets as far as the rule: its row is broken. Unassigned code points are left out, since Python and
    the database may know different versions of Unicode."""
    while True:
        sign = chr(chance.randint(1, chance.choice([0x7F, 0x2FF, 0xFFFF, 0x1FFFF, sys.maxunicode])))
        if unicodedata.category(sign) not in ("Cs", "Cn"):
            return sign


def any_text(chance: random.Random, max_length: int = 30, more: str = "") -> str:
    tricky = TRICKY + more
    return "".join(
        chance.choice(tricky) if chance.random() < 0.5 else any_sign(chance)
        for _ in range(chance.randint(0, max_length))
    )


def any_url(chance: random.Random) -> str:
    parts = (chance.choice(choices) for choices in URL_PARTS)
    return "".join(any_text(chance, 8, "aB:/?#@[].80") if part is None else part for part in parts)


def any_texts(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [any_text(chance) for _ in range(count)]


def any_urls(seed: int, count: int) -> list[str]:
    """URLs, and every fourth any text."""
    chance = random.Random(seed)
    return [any_url(chance) if turn % 4 else any_text(chance) for turn in range(count)]


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return connect()


def in_sql(database: duckdb.DuckDBPyConnection, expression: str, texts: list[str]) -> list[str]:
    database.register("texts", pa.table({"place": range(len(texts)), "text": texts}))
    rows = database.execute(f"SELECT {expression} FROM texts ORDER BY place").fetchall()
    return [text for (text,) in rows]


def test_queries_agree(database: duckdb.DuckDBPyConnection) -> None:
    texts = any_texts(1, 5_000)
    assert in_sql(database, query_sql("blendp-1", "text"), texts) == [normalise_query(text) for text in texts]


def test_urls_agree(database: duckdb.DuckDBPyConnection) -> None:
    texts = any_urls(2, 10_000)
    assert in_sql(database, url_sql("blendp-1", "text"), texts) == [normalise_url(text) for text in texts]


def test_idempotent() -> None:
    for text in any_urls(3, 3_000):
        assert normalise_query(normalise_query(text)) == normalise_query(text)
        assert normalise_url(normalise_url(text)) == normalise_url(text)


def test_one_answer_for_equivalent_spellings() -> None:
    for text in any_urls(4, 3_000):
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
