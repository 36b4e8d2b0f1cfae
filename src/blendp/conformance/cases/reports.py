"""Whole reports and enrolments, what they are bound to, and what they tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blendp.conformance.cases.case import bad, good, some_bytes, tape
from blendp.conformance.samples import ALONE, LIST, LONG, MIXED, QUERIES, SITES, TERMS, manifest_of
from blendp.conformance.vectors import VectorFile
from blendp.headlist import HeadList
from blendp.wire import Manifest

_HIT, _MISS = 0, (1 << 64) - 1
_SECRET, _ID = some_bytes("secret", 32).hex(), some_bytes("id", 16).hex()
_OWN = [["Query  3", "http://B.example/"], ["other", "http://else.example"], ["query 7", "http://elsewhere.example"]]

_CAMPAIGNS: dict[str, tuple[Manifest, HeadList]] = {
    "blendp": (manifest_of(LIST), LIST),
    "blendp, one level": (manifest_of(QUERIES, 0.25), QUERIES),
    "blendp, epsilon 1, long": (manifest_of(LONG, 0.3, epsilon=1.0), LONG),
    "blendp, only queries": (manifest_of(LIST, 1.0), LIST),
    "blendp, only records": (manifest_of(LIST, 0.0), LIST),
    "blendp, no records": (manifest_of(HeadList(())), HeadList(())),
    "blendp, queries without URLs": (manifest_of(MIXED), MIXED),
    "blendp, only queries without URLs": (manifest_of(ALONE, 0.25), ALONE),
    "apart": (manifest_of(LIST, randomiser="apart"), LIST),
    "apart, queries without URLs": (manifest_of(MIXED, randomiser="apart"), MIXED),
    "apart, one level": (manifest_of(QUERIES, 0.25, "apart"), QUERIES),
    "apart, epsilon 1, long": (manifest_of(LONG, 0.3, "apart", epsilon=1.0), LONG),
    "apart, only records": (manifest_of(LIST, 0.0, "apart", epsilon=0.5), LIST),
    "apart, no records": (manifest_of(HeadList(()), 0.4, "apart"), HeadList(())),
    "published": (manifest_of(LIST, 0.85, method="published"), LIST),
    "published, no delta": (manifest_of(LONG, 0.5, method="published", delta=0.0, epsilon=1.0), LONG),
    "published, one level": (manifest_of(QUERIES, 0.85, method="published"), QUERIES),
    "published, queries without URLs": (manifest_of(MIXED, 0.85, method="published"), MIXED),
    "published, only queries without URLs": (manifest_of(ALONE, 0.85, method="published"), ALONE),
    "published, no records": (manifest_of(HeadList(()), 0.85, method="published"), HeadList(())),
}


def vector_files() -> Iterator[VectorFile]:
    """Of reports."""
    yield good("scheme", "scheme", "R12 C4", {name: _texts(*one) for name, one in _CAMPAIGNS.items()})
    yield good("report", "report", "C5 N6 R11 R12 W1 W2 W3", dict(_reports()))
    yield good("enrol", "enrol", "C6 W5", dict(_enrolments()))
    yield good("install", "install", "W3 W4", dict(_installs()))
    yield good("explain", "explain", "E1 E2 E3 E4", dict(_explanations()))
    yield bad("explain", "explain", "E1 R7", dict(_bad_explanations()))
    yield good("odds", "odds", "E4 E5 E6", dict(_odds()))


def _texts(manifest: Manifest, head_list: HeadList) -> dict[str, str]:
    return {"manifest": manifest.to_bytes().decode(), "list": head_list.to_bytes().decode()}


def _reports() -> Iterator[tuple[str, Any]]:
    def case(campaign: str | tuple[Manifest, HeadList], records: list[Any], drawn: str) -> dict[str, Any]:
        texts = _texts(*(_CAMPAIGNS[campaign] if isinstance(campaign, str) else campaign))
        return {**texts, "records": records, "tape": drawn, "secret": _SECRET, "id": _ID}

    for name in _CAMPAIGNS:
        long = 140 if "long" in name else 24
        yield f"{name}: some records", case(name, _OWN, tape(f"report {name}", long))
        yield f"{name}: no records", case(name, [], tape(f"nothing {name}", long))
    bare = [["query 0", "http://elsewhere.example"], ["Query 35", "http://anywhere.example/"]]
    for way in ("blendp", "apart", "published"):
        for number in range(3):
            drawn = tape(f"bare {way} {number}")
            yield (
                f"queries that are listed without URLs {number}, {way}",
                case(f"{way}, queries without URLs", bare, drawn),
            )
    turned = tape("bare turned", w2=_HIT, w3=_MISS)
    yield "no other URL to turn to, published", case("published, queries without URLs", bare[1:], turned)
    for number in range(6):
        yield f"other words {number}, apart", case("apart", _OWN, tape(f"apart {number}"))
    for number in range(6):
        yield f"other words {number}", case("blendp", _OWN, tape(f"other {number}"))
        yield f"other words {number}, published", case("published", _OWN, tape(f"published {number}"))
    yield "the query is asked for", case("blendp", _OWN, tape("asked", w1=_HIT))
    yield "the record is asked for", case("blendp", _OWN, tape("asked", w1=_MISS))
    yield "the choice of a record is drawn again", case("blendp", _OWN, tape("choice", w2=0))
    yield "a lie", case("published", [["query 3", SITES[1]]], tape("lie", w2=_MISS))
    yield "a turned URL", case("published", [["query 3", SITES[1]]], tape("turned", w2=_HIT, w3=_MISS))
    half = (manifest_of(LIST, participation=0.5), LIST)
    yield "drawn to take part", case(half, _OWN, tape("half", w0=(1 << 63) - 1))
    yield "drawn to be silent", case(half, _OWN, tape("half", w0=1 << 63))
    third = (manifest_of(LIST, 1 / 3, participation=1 / 3), LIST)
    coin = round((1 / 3) * (1 << 53))
    yield "the last word that takes part", case(third, _OWN, tape("third", w0=(coin << 11) - 1))
    yield "the first word that does not", case(third, _OWN, tape("third", w0=coin << 11))
    even = (manifest_of(LIST, 2.0**-54), LIST)
    yield "a share that is rounded to even", case(even, _OWN, tape("even", w1=0))
    odd = (manifest_of(LIST, 1.5 * 2.0**-53), LIST)
    yield "a share that is rounded up to even", case(odd, _OWN, tape("odd", w1=1 << 11))
    yield "unusable records count for nothing", case("blendp", [["", ""], ["query 3", SITES[1]], [5]], tape("unusable"))


def _enrolments() -> Iterator[tuple[str, Any]]:
    records = [[f"Query {number}", f"HTTP://site-{number}.example/"] for number in range(6)]
    escaped = [['say "hi"\\', "http://a.example/\x7f"], ["日本 🔍", "u\tv"]]

    def case(own: list[Any], drawn: str, head_list: HeadList = LIST, max_bytes: int = 1 << 20, **terms: Any) -> Any:
        text = manifest_of(head_list, **terms).terms.to_bytes().decode()
        nonce = some_bytes("nonce", 16).hex()
        return {"terms": text, "records": own, "tape": drawn, "nonce": nonce, "max_bytes": max_bytes}

    yield "one record", case(records[:1], tape("enrol one"))
    yield "one of six", case(records, tape("enrol six"))
    yield "three of six", case(records, tape("enrol three"), opt_in_records=3)
    yield "more than there are", case(records, tape("enrol all"), opt_in_records=9)
    yield "no records", case([], tape("enrol none"), opt_in_records=2)
    yield "unusable ones", case([["", ""], *records[:2]], tape("enrol unusable"), opt_in_records=2)
    yield "one level", case(records, tape("flat"), QUERIES, opt_in_records=2)
    yield "texts that are escaped", case(escaped, tape("escaped"), opt_in_records=2, normalise="none")
    yield "a word that is drawn again", case(records, tape("again", w0=0), opt_in_records=2)
    yield "a number that is taken", case(records[:4], tape("taken", w0=1 << 31, w1=1 << 31), opt_in_records=2)
    for max_bytes in (138, 186, 187, 234, 235, 280):
        long = [["a" * 40, "u"], *records[:4], ["é" * 30, "u"]]
        yield f"what fits into {max_bytes} bytes", case(long, tape("room"), max_bytes=max_bytes, opt_in_records=6)


def _installs() -> Iterator[tuple[str, Any]]:
    for number, campaign in enumerate((TERMS.campaign, "a", "a" + "-" * 62 + "9")):
        yield f"secret {number}", {"secret": some_bytes(f"secret {number}", 32).hex(), "campaign": campaign}
    yield "the same secret elsewhere", {"secret": some_bytes("secret 0", 32).hex(), "campaign": "elsewhere"}


def _explanations() -> Iterator[tuple[str, Any]]:
    for name, question, data in (
        ("blendp", "query", "03"),
        ("blendp", "record", "18"),
        ("blendp, one level", "record", "00"),
        ("blendp, only queries", "query", "0c"),
        ("blendp, no records", "query", "00"),
        ("apart", "query", "03"),
        ("apart", "query", "0c"),
        ("apart", "record", "19"),
        ("apart, one level", "query", "0b"),
        ("apart, no records", "record", "00"),
        ("published", "cell", "04"),
        ("published", "cell", "18"),
        ("published, no delta", "cell", "0100"),
        ("published, one level", "cell", "02"),
        ("published, no records", "cell", "00"),
        ("blendp, queries without URLs", "query", "03"),
        ("blendp, queries without URLs", "record", "00"),
        ("blendp, only queries without URLs", "record", "0b"),
        ("apart, queries without URLs", "query", "00"),
        ("apart, queries without URLs", "record", "07"),
        ("published, queries without URLs", "cell", "00"),
        ("published, queries without URLs", "cell", "01"),
        ("published, queries without URLs", "cell", "02"),
        ("published, queries without URLs", "cell", "14"),
        ("published, only queries without URLs", "cell", "00"),
    ):
        yield f"{name}, {question} {data}", {**_texts(*_CAMPAIGNS[name]), "question": question, "data": data}
    for way in ("blendp", "apart"):
        long = _CAMPAIGNS[f"{way}, epsilon 1, long"]
        for question in ("query", "record"):
            width = long[0].scheme(long[1]).questions[question].report_bytes
            name = f"a set of many, {question}" + (", apart" if way == "apart" else "")
            yield name, {**_texts(*long), "question": question, "data": "00" * (width - 1) + "2a"}
    for epsilon in (0.1, 2.5, 12.0):
        other = (manifest_of(LIST, epsilon=epsilon), LIST)
        width = other[0].scheme(LIST).questions["record"].report_bytes
        yield f"epsilon {epsilon}", {**_texts(*other), "question": "record", "data": "00" * width}


def _bad_explanations() -> Iterator[tuple[str, tuple[str, Any]]]:
    blendp, published = _texts(*_CAMPAIGNS["blendp"]), _texts(*_CAMPAIGNS["published"])
    yield "a question of the other method", ("question", {**blendp, "question": "cell", "data": "00"})
    yield "a question of the other method, published", ("question", {**published, "question": "query", "data": "00"})
    yield "no question", ("question", {**blendp, "question": "url", "data": "00"})
    yield "a rank too large", ("report", {**blendp, "question": "query", "data": "ff"})
    yield "a byte too many", ("report", {**blendp, "question": "query", "data": "0000"})
    yield "a cell too large", ("report", {**published, "question": "cell", "data": "1a"})
    apart = _texts(*_CAMPAIGNS["apart"])
    yield "a rank too large, apart", ("report", {**apart, "question": "query", "data": "0d"})
    yield "a byte too many, apart", ("report", {**apart, "question": "query", "data": "000c"})
    only = _texts(*_CAMPAIGNS["blendp, only queries"])
    yield "a question that nobody is asked", ("report", {**only, "question": "record", "data": "00"})
    other = {**blendp, "list": QUERIES.to_bytes().decode()}
    yield "another list", ("head list", {**other, "question": "query", "data": "00"})


def _odds() -> Iterator[tuple[str, Any]]:
    for name, one in _CAMPAIGNS.items():
        yield name, _texts(*one)
    for name in ("blendp", "published"):
        yield f"{name}, before there is a list", {"manifest": _CAMPAIGNS[name][0].to_bytes().decode(), "list": None}
