"""Normal text, records in a campaign's form, and the cells that they fall in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blendp.conformance.cases.case import good
from blendp.conformance.samples import LIST, MIXED, QUERIES, SITES
from blendp.conformance.vectors import VectorFile

LATER = [
    0x1C89,
    0xA7CB,
    0xA7CC,
    0xA7CE,
    0xA7D2,
    0xA7D4,
    0xA7DA,
    0xA7DC,
    *range(0x10D50, 0x10D66),
    *range(0x16EA0, 0x16EB9),
]
"""Letters that got a lower case after Unicode 14.0."""

_WHITE = [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]

_QUERIES: Mapping[str, str] = {
    "plain": "weather",
    "capitals": "Weather TODAY",
    "spaces": "  a \t b\n\nc  ",
    "every white space": "a" + "b".join(map(chr, _WHITE)) + "c",
    "white at both ends": "\u3000\x85a\u2028",
    "not white space": "\ufeffa\u200bb\u180ec\u2060",
    "information separators": "\x1ca\x1db\x1ec\x1f",
    "decomposed": "Cafe\u0301 A\u030a",
    "composed": "Café Å",
    "Kelvin and Angstrom": "\u212a \u212b",
    "dotted I": "İSTANBUL I",
    "final sigma": "ΟΔΥΣΣΕΥΣ ΟΔΟΣ",
    "sharp s": "STRASSE ẞ ß",
    "capital with a mark after it": "E\u0301COLE",
    "lower case that composes": "\u03a5\u0308\u0301 \u1fe3",
    "Deseret": "\U00010400\U00010427",
    "Cherokee": "\u13a0\uab70\u13f8",
    "Georgian": "\u1c90\u10d0",
    "letters that got a lower case later": "".join(map(chr, LATER)),
    "Hangul": "\u1112\u1161\u11ab \ud55c",
    "compatibility forms stay": "ﬁ Ⅷ ＡＢ",
    "emoji": "👩‍👩‍👧 ☂️",
    "nothing": "",
    "only spaces": " \t ",
    "composition that is excluded": "\u0958 \ufb1d \u2adc",
    "marks out of order": "a\u0301\u0327 q\u0307\u0323",
}
_URLS: Mapping[str, str] = {
    "plain": "http://a.example",
    "a slash at the end": "http://a.example/",
    "a path": "http://a.example/Path/",
    "capitals": "HTTP://A.Example/Path?Q=A",
    "port 80": "http://a.example:80/x",
    "port 443": "https://a.example:443",
    "another port": "https://a.example:80/",
    "an empty port": "http://a.example:/",
    "a fragment": "http://a.example/x#y#z",
    "a fragment after the host": "http://a.example#x",
    "only a fragment": "#top",
    "a query after the host": "http://a.example?q=1",
    "a user": "http://Me:Secret@A.example/",
    "two at signs": "http://a@b@C.example/",
    "an address in brackets": "http://[2001:DB8::1]:80/",
    "white space at the ends": "\u2003http://a.example/ \n",
    "white space in the host": "http://a b.example/",
    "white space in the path": "http://a.example/a b",
    "no scheme": "A.Example/",
    "another scheme": "FTP://A.Example/",
    "no host": "http:///x",
    "mail": "mailto:Me@A.Example",
    "letters of other scripts": "http://BÜCHER.example/É",
    "decomposed": "http://bu\u0308cher.example/e\u0301",
    "dotted I in the host": "http://İ.example/",
    "a line end in the path": "http://a.example/a\nb",
    "escapes stay": "http://a.example/%7Efoo/../bar",
    "a backslash": "http:\\\\a.example\\x",
    "nothing": "",
    "a scheme with signs": "Git+SSH://Host.example:80/",
    "letters that got a lower case later": "http://\ua7cb\U00010d50.example/",
}


def vector_files() -> Iterator[VectorFile]:
    """Of texts and records."""
    queries = {f"query: {name}": {"level": "query", "text": text} for name, text in _QUERIES.items()}
    urls = {f"url: {name}": {"level": "url", "text": text} for name, text in _URLS.items()}
    yield good("normal-form", "normalise", "N1 N2 N3 N4", {**queries, **urls})
    yield good("records", "records", "N5 N6 N7", _records())
    yield good("cell", "cell", "D7 D8", dict(_cells()))


def _records() -> dict[str, Any]:
    two = {"levels": 2, "normalise": "blendp-1"}
    odd: list[Any] = [
        ["a"],
        ["a", "b", "c"],
        "ab",
        {},
        None,
        5,
        ["", "u"],
        ["q", ""],
        [" ", "u"],
        ["q", None],
        [None, "u"],
        [5, "u"],
        [],
    ]
    return {
        "as usual": {"records": [["Query  3", "http://A.example/"], ["x", "y"]], **two},
        "unusable ones are left out": {"records": [["a", "b"], *odd, ["c", "d"]], **two},
        "none": {"records": [], **two},
        "one level takes no URL": {
            "records": [["A", "http://x"], ["B", None], ["", "u"], ["C", 7]],
            "levels": 1,
            "normalise": "blendp-1",
        },
        "without a rule": {
            "records": [["A  ", "B/"], ["Cafe\u0301", "#x"], ["", "u"]],
            "levels": 2,
            "normalise": "none",
        },
        "a NUL": {"records": [["a\0b", "u"], ["a", "u\0"], ["ok", "u"]], **two},
        "a URL that becomes empty": {"records": [["a", "#x"], ["b", "u"]], **two},
        "the longest text": {
            "records": [["x" * 8192, "u"], ["y" * 8193, "u"], ["é" * 4096, "u"], ["é" * 4097, "u"]],
            **two,
        },
        "a text that grows": {"records": [["\u0958" * 2730, "u"], ["\u0958" * 1365, "u"], ["z", "u"]], **two},
        "the same twice": {"records": [["A", "U"], ["a ", "U"]], **two},
    }


def _cells() -> Iterator[tuple[str, Any]]:
    text, queries = LIST.to_bytes().decode(), QUERIES.to_bytes().decode()
    for name, query, url in (
        ("the first record", "query 0", SITES[0]),
        ("a query with two URLs, the first", "query 3", SITES[0]),
        ("a query with two URLs, the second", "query 3", SITES[1]),
        ("another URL of a listed query", "query 3", SITES[2]),
        ("a listed query without a URL", "query 3", None),
        ("the last record", "query 9", SITES[0]),
        ("another query", "query 99", SITES[0]),
        ("a star is a text", "*", "*"),
        ("nothing", None, None),
    ):
        yield name, {"list": text, "query": query, "url": url}
    mixed = MIXED.to_bytes().decode()
    for name, query, url in (
        ("the first query, listed without URLs", "query 0", SITES[0]),
        ("a query listed without URLs, between others", "query 35", SITES[1]),
        ("a query listed without URLs, and no URL", "query 35", None),
        ("the last query, listed without URLs", "query 9", "*"),
        ("a record after a query without URLs", "query 4", SITES[1]),
        ("another URL, beside queries without URLs", "query 4", SITES[0]),
        ("another query, beside queries without URLs", "query 99", None),
        ("nothing, beside queries without URLs", None, None),
    ):
        yield name, {"list": mixed, "query": query, "url": url}
    for name, query in (
        ("one level: a query", "word 10"),
        ("one level: another query", "word"),
        ("one level: nothing", None),
    ):
        yield name, {"list": queries, "query": query, "url": None}
