"""Indices of releases, their descriptors, and what is found in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from blendp.canonical import canonical_json
from blendp.conformance.cases.case import bad, good, later
from blendp.conformance.samples import SITES, TERMS
from blendp.conformance.vectors import VectorFile
from blendp.search import build_index
from blendp.wire.releases import RELEASE_FORMAT
from blendp.wire.search_index import DESCRIPTOR_FORMAT, INDEX_FORMAT, IndexDescriptor

_Row = tuple[Any, Any, Any, Any]
"""Query, URL, probability, standard error."""

_POPULAR: Sequence[_Row] = (
    ("weather", SITES[0], 0.05, 0.003),
    ("weather channel", SITES[0], 0.02, 0.002),
    ("weather channel", SITES[1], 0.06, 0.002),
    ("the weather", SITES[2], 0.09, 0.001),
    ("leather", SITES[0], 0.08, 0.001),
    ("www.weather.com", SITES[1], 0.005, 0.001),
    ("feather boa", SITES[0], 0.05, 0.003),
    ("new york times", SITES[0], 0.04, 0.001),
    ("new yorker", SITES[0], 0.03, 0.001),
    ("york minster", SITES[0], 0.02, 0.001),
    ("*", SITES[0], 0.007, 0.001),
    ("c++", SITES[0], 0.006, 0.001),
    ("café", SITES[0], 0.004, 0.001),
    ("cafe\u0301 rouge \U0001f600 bar", SITES[0], 0.003, 0.001),
    ("\U0001f600\U0001f601\U0001f602", SITES[0], 0.002, 0.001),
    ("\ue000", SITES[0], 0.002, 0.001),
    (" ".join("abcdefghijklmnop") + " quagga", SITES[0], 0.0005, 0.001),
    ("дорога домой", SITES[0], 0.001, 0.001),
    ("東京 天気", SITES[0], 0.001, 0.001),
    ("weather", None, 0.1, 0.1),
    (None, None, 0.2, 0.1),
)


_PARTLY: Sequence[_Row] = (
    ("answers", None, 0.09, 0.002),
    ("weather", SITES[0], 0.05, 0.003),
    ("weather", SITES[1], 0.01, 0.001),
    ("weather", None, 0.2, 0.003),
    ("weather map", None, 0.04, 0.003),
    ("west", SITES[2], 0.04, 0.001),
    ("west", None, 0.3, 0.001),
    ("zoo", None, 0.01, 0.001),
    (None, None, 0.2, 0.1),
)
"""Some queries are listed without any URL; the numbers of others' other URLs are in no index."""


def vector_files() -> Iterator[VectorFile]:
    """Of indices and of the search."""
    releases = {name: {"release": text} for name, text in _releases().items()}
    yield good("index", "index", "I1 I2 I3", releases)
    yield bad("index", "index", "I2 I3", {name: ("release", {"release": text}) for name, text in _bad_releases()})
    yield good("index-descriptor", "document", "I4", {name: _document(one) for name, one in _descriptors().items()})
    yield bad("index-descriptor", "document", "I4", dict(_bad_descriptors()))
    yield good("search", "search", "I1 I5 I6 I7 I8 I9", dict(_searches()))
    yield bad("search", "search", "I1 I9", dict(_bad_searches()))


def _release(rows: Sequence[_Row], **members: Any) -> str:
    names = ("query", "url", "probability", "std_error")
    estimates = [{**dict(zip(names, row, strict=True)), "weight_opt_in": 0.5} for row in rows]
    document = {"format": RELEASE_FORMAT, "campaign": TERMS.campaign, "manifest_sha256": "ab" * 32}
    rest = {"released": "2026-12-01", "card": {"a": 4.0}, "trends": [], "groups": {}, "estimates": estimates}
    return canonical_json({**document, **rest, **members}).decode("utf-8")


def _releases() -> dict[str, str]:
    return {
        "as usual": _release(_POPULAR),
        "nothing listed": _release([(None, None, 1.0, 0.0)]),
        "no estimates": _release([]),
        "of no campaign": _release(_POPULAR[:2], campaign=""),
        "queries alone": _release([("b", None, 0.5, 0.1), ("a", None, 0.25, 0.1), (None, None, 0.25, 0.1)]),
        "queries without URLs among others": _release(_PARTLY),
        "a query whose URLs have no numbers": _release(
            [("a", "u", None, 0.1), ("a", None, 0.1, 0.1), ("b", None, 0.1, 0.1), ("c", "u", 0.1, 0.1)]
        ),
        "order of code points": _release(
            [(query, url, 0.1, 0.1) for query in ("\U0001f600", "\uffff", "é", "z", "", "A") for url in ("b", "a", "")]
        ),
        "numbers that are not known": _release(
            [("a", "u", None, 0.1), ("b", "u", 0.1, None), ("c", "u", 0.1, 0.1), ("d", "u", None, None)]
        ),
        "ties are rounded to even": _release(
            [(f"q{i}", "u", (i + 0.5) / 2**30, (i - 8.5) / 2**30) for i in range(1, 16)]
            + [(f"h{i}", "u", i * 5e-10, -i * 5e-10) for i in range(1, 16)]
        ),
        "numbers of all sizes": _release(
            [
                ("a", "u", 1, 0),
                ("b", "u", 0.0, -0.0),
                ("c", "u", -0.25, 5e-324),
                ("d", "u", 1 / 3, 1e-9),
                ("e", "u", 9007199.254740991, 4.9e-10),
                ("f", "u", 0.1 + 0.2, 2.675e-9),
            ]
        ),
        "texts with signs": _release([('"\\\n\0\x7f/\u2028', "\t", 0.1, 0.1)]),
        "a member too many in an estimate": _release([], estimates=[_estimate(more=[None, {}])]),
    }


def _estimate(**changed: Any) -> dict[str, Any]:
    return {"query": "a", "url": "u", "probability": 0.1, "std_error": 0.1, **changed}


def _bad_releases() -> Iterator[tuple[str, str]]:
    yield "another format", _release([], format=later(RELEASE_FORMAT))
    yield "not canonical", _release([]) + "\n"
    yield "a record twice", _release([("a", "u", 0.1, 0.1), ("b", "u", 0.1, 0.1), ("a", "u", 0.2, 0.1)])
    yield "a query twice", _release([("a", None, 0.1, 0.1), ("a", None, 0.1, 0.1)])
    yield "a query without URLs twice", _release([("a", None, 0.1, 0.1), ("b", "u", 0.1, 0.1), ("a", None, 0.1, 0.1)])
    yield "a name that no campaign has", _release([], campaign="Trends")
    yield "no name", _release([], campaign=None)
    yield "no day", _release([], released="2026-12-32")
    yield "estimates that are none", _release([], estimates={"0": _estimate()})
    yield "an estimate that is none", _release([], estimates=["a"])
    for name in ("query", "url", "probability", "std_error"):
        without = {member: value for member, value in _estimate().items() if member != name}
        yield f"no {name}", _release([], estimates=[without])
    for name, value in {"query": 5, "url": ["u"], "probability": "0.1", "std_error": True}.items():
        yield f"another type of {name}", _release([], estimates=[_estimate(**{name: value})])
    yield "a whole number too large", _release([], estimates=[_estimate(probability=2**53)])
    yield "a share too large", _release([], estimates=[_estimate(probability=-9007199.3)])
    yield "an error too large", _release([], estimates=[_estimate(std_error=1e300)])


def _descriptors() -> dict[str, bytes]:
    data = _release(_POPULAR).encode("utf-8")
    return {
        "as usual": IndexDescriptor.of(TERMS.campaign, data, build_index(data)).to_bytes(),
        "one byte": IndexDescriptor(TERMS.campaign, "01" * 32, "ab" * 32, 1).to_bytes(),
        "as long as can be": IndexDescriptor("a", "01" * 32, "01" * 32, 8 << 20).to_bytes(),
    }


def _document(data: bytes) -> dict[str, Any]:
    return {"type": "index-descriptor", "text": data.decode("utf-8")}


def _bad_descriptors() -> Iterator[tuple[str, tuple[str, Any]]]:
    value = json.loads(_descriptors()["as usual"])

    def changed(**members: Any) -> dict[str, Any]:
        return _document(canonical_json({**value, **members}))

    yield "another format", ("index descriptor", changed(format=DESCRIPTOR_FORMAT[:-1] + "2"))
    yield "not canonical", ("index descriptor", _document(canonical_json(value) + b" "))
    yield "a member too many", ("index descriptor", changed(day="2026-12-01"))
    for name in ("campaign", "release_sha256", "sha256", "bytes"):
        rest = {member: one for member, one in value.items() if member != name}
        yield f"no {name}", ("index descriptor", _document(canonical_json(rest)))
    wrong: dict[str, list[Any]] = {
        "campaign": ["", "A", None],
        "release_sha256": ["AB" * 32, "ab" * 31, None],
        "sha256": ["ab" * 33, 5],
        "bytes": [0, (8 << 20) + 1, 5.0, "5", True, -1],
    }
    for name, values in wrong.items():
        for one in values:
            yield f"{name}: {one!r}", (name, changed(**{name: one}))


def _searches() -> Iterator[tuple[str, Any]]:
    index = build_index(_release(_POPULAR).encode("utf-8")).decode("utf-8")
    for name, text in {
        "a whole query": "weather",
        "the beginning of a query": "wea",
        "one letter": "w",
        "capitals and spaces": "  WEATHER\u3000Chan ",
        "a word within": "york",
        "words in another order": "times new",
        "the same word twice": "new new",
        "a word between marks": "com",
        "an exchange": "waether",
        "one too few": "wether",
        "one too many": "weatther",
        "another letter": "weatjer",
        "two errors": "waethr",
        "three errors": "waehtrr",
        "an error in the first letter": "neather",
        "an error in three letters": "wae",
        "no error in two letters": "xe",
        "a space too many": "wea ther",
        "a space too few": "newyork",
        "an error in a word": "yrok minst",
        "an error in each of two words": "nwe yrok",
        "a word too many": "weather york",
        "a star": "*",
        "marks": "c++",
        "marks alone": "++",
        "a letter with an accent": "CAFÉ",
        "an accent by itself": "cafe\u0301",
        "no accent": "cafe",
        "an accent at the start": "\u0301",
        "a character beyond 16 bits": "\U0001f600",
        "characters beyond 16 bits, exchanged": "\U0001f601\U0001f600\U0001f602",
        "a private character": "\ue000",
        "Cyrillic": "ДОРОГ",
        "Cyrillic with errors": "дороаг дмой",
        "Japanese": "東",
        "nothing": "",
        "spaces alone": " \t ",
        "something else": "zebra crossing",
        "a longer text than any": "weather channel for the whole of england",
        "no letter in common": "7",
        "a very long text": "weather " * 100,
        "257 characters": "x" * 256 + "y",
        "the first eight words": "k j i h g f e d zebra",
        "an eighth word that is nowhere": "k j i h g f e zebra d",
        "the sixteenth word of a query": "p",
        "the seventeenth": "qu",
    }.items():
        yield name, {"index": index, "text": text, "limit": 10}
    for limit in (1, 3, 1000):
        yield f"at most {limit}", {"index": index, "text": "weather", "limit": limit}
    yield "of no campaign", {"index": _index(_POPULAR[:3], campaign=""), "text": "channel", "limit": 10}
    yield "nothing listed", {"index": _index([]), "text": "weather", "limit": 10}
    queries = _index([("weather", None, 0.1, 0.1), ("whether", None, 0.2, 0.1), ("the weather", None, 0.1, 0.1)])
    for text in ("weather", "whe", "x", "weaher"):
        yield f"queries alone: {text}", {"index": queries, "text": text, "limit": 10}
    partly = _index(_PARTLY)
    for text in ("weather", "weather map", "we", "answres", "zo", ""):
        yield f"queries without URLs among others: {text}", {"index": partly, "text": text, "limit": 10}
    yield "queries without URLs among others, at most 2", {"index": partly, "text": "we", "limit": 2}
    ties = _index([(query, url, 0.25, 0.1) for query in ("ab", "a\U0001f600", "a\uffff", "a") for url in ("v", "u")])
    for text in ("a", "ab", "b"):
        yield f"equal shares: {text}", {"index": ties, "text": text, "limit": 5}
    plain = _index(
        [(query, "u", 0.1, 0.1) for query in ("Weather", "weather", "WEATHER  Now", " İstanbul", "ΟΔΟΣ", "")]
    )
    for text in ("weather", "WEATHER now", "i", "οδος", "", "stanbul"):
        yield f"queries without a rule: {text}", {"index": plain, "text": text, "limit": 10}
    negative = _index([("a", "u", -0.1, 0.1), ("a", "v", 0.0, 0.1), ("a", "w", 0.1, 0.1)])
    yield "shares below 0", {"index": negative, "text": "a", "limit": 10}
    long = "weather " * 31 + "forecast"
    lengths = _index([(long, "u", 0.1, 0.1), (long + "s", "u", 0.2, 0.1), (long[:200], "u", 0.3, 0.1)])
    yield "long queries", {"index": lengths, "text": long, "limit": 10}
    yield "long queries, with an error", {"index": lengths, "text": long.replace("we", "ew", 1), "limit": 10}


def _index(rows: Sequence[_Row], **members: Any) -> str:
    return build_index(_release(rows, **members).encode("utf-8")).decode("utf-8")


def _bad_searches() -> Iterator[tuple[str, tuple[str, Any]]]:
    text = _index([("b", "u", 0.1, 0.1), ("b", "v", 0.2, 0.1), ("c", "u", 0.3, 0.1)])
    value = json.loads(text)

    def asked(index: str, limit: Any = 10) -> dict[str, Any]:
        return {"index": index, "text": "b", "limit": limit}

    def changed(**members: Any) -> str:
        return canonical_json({**value, **members}).decode("utf-8")

    for name, index in {
        "nothing": "",
        "an empty object": "{}",
        "a list": f"[{text}]",
        "a space": text.replace(":", ": ", 1),
        "a new line at the end": text + "\n",
        "an escaped letter": text.replace('"b"', '"\\u0062"'),
        "a lone surrogate": text.replace('"b"', '"\\ud800"'),
        "a number with a point": text.replace("100000000", "100000000.0", 1),
        "a number with an exponent": text.replace("100000000", "1e8", 1),
        "minus nought": text.replace("200000000", "-0"),
        "a name twice": text.replace('"campaign"', '"campaign":"x","campaign"'),
        "another format": changed(format=later(INDEX_FORMAT)),
        "a member too many": changed(more=1),
        "another campaign": changed(campaign="B c"),
        "no campaign": changed(campaign=None),
        "no day": changed(released="2026-00-01"),
        "no hash": changed(release_sha256="ab"),
        "queries out of order": changed(queries=["c", "b"]),
        "a query twice": changed(queries=["b", "b"]),
        "queries that are a text": changed(queries="bc"),
        "queries that are none": changed(queries=None),
        "a query that is none": changed(queries=["b", 5]),
        "a query too many": changed(queries=["b", "c", "d"]),
        "URLs out of order": changed(urls=[["v", "u"], ["u"]]),
        "a URL that is none": changed(urls=[["u", None], ["u"]]),
        "a query without URLs, and no share of it": changed(urls=[["u", "v"], []], shares=[1, 2], errors=[1, 2]),
        "URLs of no query": changed(urls=[[], []], shares=[1, 2], errors=[1, 2]),
        "null for no URLs of a query": changed(urls=[["u", "v"], None]),
        "URLs that are a text": changed(urls=["uv", ["u"]]),
        "URLs that are none": changed(urls={}),
        "URLs that are none, of queries alone": changed(urls={}, shares=[1, 2], errors=[1, 2]),
        "too few URLs": changed(urls=[["u", "v"]]),
        "no URLs": changed(urls=[]),
        "too few shares": changed(shares=[1, 2]),
        "too many errors": changed(errors=[1, 2, 3, 4]),
        "a share that is no number": changed(shares=[1, "2", 3]),
        "a share that is a truth": changed(shares=[1, True, 3]),
        "a share that is not known": changed(shares=[1, None, 3]),
        "a share too large": changed(shares=[1, 2**53, 3]),
        "an error too large": changed(errors=[1, 2, -(2**53)]),
    }.items():
        yield name, ("index", asked(index))
    for name in ("campaign", "released", "release_sha256", "queries", "urls", "shares", "errors"):
        rest = {member: one for member, one in value.items() if member != name}
        yield f"no member {name}", ("index", asked(canonical_json(rest).decode("utf-8")))
    for limit in (0, -1, 1001, 2.5, "10", None):
        yield f"limit {limit!r}", ("limit", asked(text, limit))
