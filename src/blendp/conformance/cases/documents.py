"""Canonical bytes, the documents, their signatures and keys."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from blendp.canonical import canonical_json
from blendp.conformance.cases.case import bad, good, later
from blendp.conformance.samples import ALONE, LIST, LONG, MIXED, QUERIES, TERMS, manifest_of, signing_key
from blendp.conformance.vectors import VectorFile
from blendp.headlist import HeadList
from blendp.headlist.head_list import FORMAT as LIST_FORMAT
from blendp.wire import Envelope, SigningKey, Terms
from blendp.wire.campaign import MANIFEST_FORMAT, MANIFEST_FORMAT_2, TERMS_FORMAT
from blendp.wire.keys import KEY_FORMAT, KeyStatement
from blendp.wire.media_types import KEY_TYPE, MANIFEST_TYPE, TERMS_TYPE
from blendp.wire.releases import RELEASE_FORMAT

_FIRST, _SECOND, _THIRD = (signing_key(number) for number in (1, 2, 3))
_FIELD = 2**255 - 19
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826


def vector_files() -> Iterator[VectorFile]:
    """Of documents."""
    yield good(
        "canonical",
        "document",
        "B1 B2 B3 B4 D9",
        {name: _read("release", _release(**one)) for name, one in _CARDS.items()},
    )
    yield bad("canonical", "document", "B1 B2 B3 B4 B5", {name: ("release", one) for name, one in _spellings().items()})
    yield good(
        "terms", "document", "D1 D2 D3", {name: _read("terms", terms.to_bytes()) for name, terms in _TERMS.items()}
    )
    yield bad("terms", "document", "B5 B8 D1 D2 D3", dict(_bad_terms()))
    yield good(
        "manifest",
        "document",
        "D4",
        {name: _read("manifest", manifest_of(*one).to_bytes()) for name, one in _MANIFESTS.items()},
    )
    yield bad("manifest", "document", "B5 D4", dict(_bad_manifests()))
    yield good("list", "document", "D5 D6", {name: _read("list", one.to_bytes()) for name, one in _LISTS.items()})
    yield bad(
        "list", "document", "B1 B5 D5 D6", {name: ("list", _read("list", one)) for name, one in _bad_lists().items()}
    )
    yield bad(
        "release",
        "document",
        "B5 D9",
        {name: ("release", _read("release", one)) for name, one in _bad_releases().items()},
    )
    yield good(
        "key", "key", "S4 S5", {f"key {number}": {"key": signing_key(number).public.text} for number in range(1, 6)}
    )
    yield bad("key", "key", "S5 B6", {name: ("key", {"key": text}) for name, text in _bad_keys().items()})
    yield good(
        "key-statement", "document", "S6", {name: _read("key", _statement(**one)) for name, one in _STATEMENTS.items()}
    )
    yield bad("key-statement", "document", "B5 S6", dict(_bad_statements()))
    yield good("envelope", "envelope", "S1 S2 S3 S4 B7", _envelopes())
    yield bad("envelope", "envelope", "S1 S2 S3 S4 B7", dict(_bad_envelopes()))
    yield good("keys", "keys", "S6 S7 S8", _successions())


def _read(kind: str, data: bytes) -> dict[str, Any]:
    try:
        return {"type": kind, "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"type": kind, "hex": data.hex()}


def _release(**card: Any) -> bytes:
    value = {
        "format": RELEASE_FORMAT,
        "campaign": TERMS.campaign,
        "manifest_sha256": "ab" * 32,
        "released": "2026-12-01",
        "card": card,
        "estimates": [{"query": "weather", "url": "http://a.example", "share": 0.25}],
        "trends": [],
        "groups": {},
    }
    return canonical_json(value)


_CARDS: Mapping[str, dict[str, Any]] = {
    "whole numbers": {"a": 0, "b": -1, "c": 9007199254740993, "d": 10**30},
    "whole and fractional": {"a": 4, "b": 4.0, "c": -0.0, "d": 1e15, "e": 100.5},
    "small numbers": {"a": 0.0001, "b": 0.00001, "c": 1e-6, "d": 1.5e-7, "e": 5e-324},
    "large numbers": {"a": 1e15, "b": 9999999999999998.0, "c": 1e16, "d": 1.2345e22, "e": 1.7976931348623157e308},
    "shortest digits": {"a": 0.1, "b": 0.30000000000000004, "c": 2.675, "d": 1 / 3, "e": 123456789.12345679},
    "escapes": {"a": '"', "b": "\\", "c": "\b\t\n\f\r", "d": "\0\x01\x1f", "e": "\x7f/"},
    "characters": {"a": "é", "b": "日本", "c": "\u2028\u2029\ufeff", "d": "\U0001f600", "e": "\ue000"},
    "order of names": {"": 1, "A": 2, "Z": 3, "a": 4, "aa": 5, "é": 6, "\ue000": 7, "\uffff": 8, "\U0001f600": 9},
    "nesting": {"a": [], "b": {}, "c": [[1, [2]], {"d": [None, True, False]}]},
    "nothing": {},
}


def _spellings() -> dict[str, Any]:
    """Bytes that say the same as a canonical document, or nearly, and are not canonical."""
    text = _release(a=4.0, b="é", c=1).decode("utf-8")
    spelt = {
        "a space": text.replace(":", ": ", 1),
        "a new line at the end": text + "\n",
        "names out of order": text.replace('"a":4.0,"b":"é"', '"b":"é","a":4.0'),
        "a name twice": text.replace('"a":4.0', '"a":4.0,"a":4.0'),
        "an escaped letter": text.replace("é", "\\u00e9"),
        "an escaped slash": text.replace("http:/", "http:\\/"),
        "an escape in capitals": text.replace("é", "\\u001F"),
        "a pair of surrogates": text.replace("é", "\\ud83d\\ude00"),
        "a lone surrogate": text.replace("é", "\\ud800"),
        "digits too many": text.replace("4.0", "4.00"),
        "an exponent where none is due": text.replace("4.0", "4e0"),
        "a capital exponent": text.replace("4.0", "1E+16"),
        "an exponent without sign": text.replace("4.0", "1e16"),
        "no exponent where one is due": text.replace("4.0", "0.00001"),
        "an exponent of one digit": text.replace("4.0", "1e-5"),
        "minus nought": text.replace('"c":1', '"c":-0'),
        "a leading nought": text.replace('"c":1', '"c":01'),
        "a plus": text.replace('"c":1', '"c":+1'),
        "a number too large": text.replace("4.0", "1e400"),
        "not a number": text.replace("4.0", "NaN"),
        "an infinite number": text.replace("4.0", "Infinity"),
        "a comma too many": text.replace('"c":1', '"c":1,'),
        "a comment": text.replace('"c":1', '"c":1/**/'),
        "single quotes": text.replace('"é"', "'é'"),
        "a tab in a text": text.replace("é", "\t"),
        "two documents": text + text,
        "a text that does not end": '{"a":"' + '\\"' * 20_000,
        "a list": "[" + text + "]",
        "nothing": "",
        "another format": text.replace(RELEASE_FORMAT, later(RELEASE_FORMAT)),
        "a mark of byte order": "\ufeff" + text,
    }
    cases = {name: {"type": "release", "text": other} for name, other in spelt.items()}
    for name, data in {
        "UTF-16": text.encode("utf-16-le"),
        "bytes that are no UTF-8": text.encode("latin-1"),
        "an overlong byte": text.encode().replace(b"a", b"\xc1\xa1", 1),
        "a surrogate in UTF-8": text.encode().replace("é".encode(), b"\xed\xa0\x80"),
        "cut off": text.encode()[:-1],
    }.items():
        cases[name] = {"type": "release", "hex": data.hex()}
    return cases


_TERMS: Mapping[str, Terms] = {
    "as usual": TERMS,
    "published": replace(TERMS, method="published"),
    "published, no delta": replace(TERMS, method="published", delta=0.0),
    "a whole number for a fraction": replace(TERMS, epsilon=4, participation=1),
    "one level": replace(TERMS, levels=1, normalise="none"),
    "no size": replace(TERMS, size=None),
    "largest values": replace(TERMS, epsilon=50.0, delta=0.999, grace_days=90, reports_until="2027-03-01", size=10**9),
    "smallest values": replace(TERMS, epsilon=5e-324, delta=5e-324, min_opt_in=1, min_clients=1, participation=5e-324),
    "a leap year": replace(TERMS, opens="2028-02-29", opt_in_until="2028-02-29", reports_until="2028-03-31"),
    "the last days": replace(TERMS, opens="9999-11-01", opt_in_until="9999-11-02", reports_until="9999-12-24"),
    "other letters": replace(TERMS, title="人気の検索 🔍", organisation="Пример", purpose="é" * 1000),
    "a long name": replace(TERMS, campaign="a" + "-" * 62 + "9"),
    "new letters of Unicode": replace(TERMS, title="\U0001fae9 \U00016ea0 \ua7cb \ue000 \U00040000"),
    "longest title in code points": replace(TERMS, title="🔍" * 200),
    "many records": replace(TERMS, opt_in_records=100),
    "another objective": replace(TERMS, objective="trends"),
    "records a person": replace(TERMS, objective="long-list", records_per_person=2.5, opt_in_records=100),
    "records a person, a whole number": replace(TERMS, records_per_person=10**9),
    "hardly a record a person": replace(TERMS, records_per_person=5e-324),
}


def _changed(source: Mapping[str, Any], form: str, **values: Any) -> bytes:
    return canonical_json({"format": form, **source, **values})


def _bad_terms() -> Iterator[tuple[str, tuple[str, Any]]]:
    fields = TERMS.to_plain()
    wrong: dict[str, tuple[str, Any]] = {
        "a name in capitals": ("campaign", "Trends"),
        "a hyphen at the end": ("campaign", "trends-"),
        "a name too long": ("campaign", "a" * 65),
        "a line end in a name": ("campaign", "trends\n"),
        "no title": ("title", ""),
        "a blank title": ("title", " \u3000"),
        "a title too long": ("title", "x" * 201),
        "a control character": ("title", "a\x07b"),
        "a turn of direction": ("organisation", "a\u202eb"),
        "no width": ("contact", "a\u200bb"),
        "a tag character": ("purpose", "a\U000e0041b"),
        "a number for a text": ("purpose", 5),
        "an object for a text": ("title", {"toString": 1}),
        "an object for a number": ("epsilon", {"toString": 1, "valueOf": 1}),
        "an object for a whole number": ("size", {"toString": 1}),
        "an object for a day": ("opens", {"toString": 1}),
        "an object for a name": ("campaign", {"toString": 1}),
        "a list for a choice": ("method", ["blendp"]),
        "no day": ("opens", "2026-02-30"),
        "a day in another spelling": ("opt_in_until", "20261110"),
        "a year of five digits": ("reports_until", "12026-11-30"),
        "the year nought": ("opens", "0000-01-01"),
        "days out of order": ("reports_until", "2026-11-05"),
        "no time to report": ("reports_until", "2026-11-17"),
        "too few days of grace": ("grace_days", 2),
        "too many days of grace": ("grace_days", 91),
        "another method": ("method", "rappor"),
        "no epsilon": ("epsilon", 0.0),
        "an epsilon too large": ("epsilon", 50.5),
        "an epsilon in a text": ("epsilon", "4"),
        "an epsilon that is true": ("epsilon", True),
        "a negative delta": ("delta", -1e-9),
        "a delta of one": ("delta", 1.0),
        "three levels": ("levels", 3),
        "levels with a fraction": ("levels", 2.0),
        "another rule": ("normalise", "blendp-2"),
        "no size": ("size", 0),
        "a size with a fraction": ("size", 50.0),
        "a size too large": ("size", 10**9 + 1),
        "no records": ("opt_in_records", 0),
        "no opt-in people": ("min_opt_in", 0),
        "no clients": ("min_clients", None),
        "a negative number": ("expected_clients", -5),
        "nobody takes part": ("participation", 0.0),
        "more than everybody takes part": ("participation", 1.5),
        "another objective": ("objective", "counts"),
        "the usual objective, which is left out": ("objective", "balanced"),
        "no objective": ("objective", None),
        "no records a person": ("records_per_person", 0.0),
        "records a person in a text": ("records_per_person", "20"),
        "too many records a person": ("records_per_person", 1e9 + 1),
        "records a person not said, which is left out": ("records_per_person", None),
    }
    for name, (field, value) in wrong.items():
        yield name, (field, _read("terms", _changed(fields, TERMS_FORMAT, **{field: value})))
    without = {name: value for name, value in fields.items() if name != "delta"}
    yield "a field is missing", ("terms", _read("terms", _changed(without, TERMS_FORMAT)))
    yield "a field too many", ("terms", _read("terms", _changed(fields, TERMS_FORMAT, extra=1)))
    yield "another version", ("terms", _read("terms", _changed(fields, later(TERMS_FORMAT))))
    yield "not canonical", ("terms", _read("terms", TERMS.to_bytes() + b" "))


_MANIFESTS: Mapping[str, tuple[Any, ...]] = {
    "as usual": (LIST, 0.4),
    "everybody is asked for the record": (LIST, 0.0),
    "everybody is asked for the query": (LIST, 1.0),
    "one level": (QUERIES, 0.25),
    "wildcard apart": (LIST, 0.4, "apart"),
}


def _bad_manifests() -> Iterator[tuple[str, tuple[str, Any]]]:
    manifest = manifest_of(LIST)
    terms = TERMS.to_plain()
    fields = {**asdict(manifest), "terms": manifest.terms.to_plain()}
    del fields["randomiser"]
    wrong: dict[str, tuple[str, str, Any]] = {
        "no hash": ("list_sha256", "list_sha256", "ab" * 31),
        "a hash in capitals": ("list_sha256", "list_sha256", "AB" * 32),
        "a negative number of records": ("records", "records", -1),
        "fewer people than the minimum": ("opt_in_people", "opt_in_people", 99),
        "a share above one": ("query_share", "query_share", 1.01),
        "no day": ("published", "published", "2026-13-01"),
        "terms that are none": ("terms", "terms", []),
        "terms with a format": ("terms", "terms", {"format": TERMS_FORMAT, **terms}),
        "terms without a field": ("terms", "terms", {k: v for k, v in terms.items() if k != "title"}),
        "terms with a wrong value": ("epsilon", "terms", {**terms, "epsilon": -1.0}),
        "terms with what they leave out": ("objective", "terms", {**terms, "objective": "balanced"}),
    }
    for name, (reason, field, value) in wrong.items():
        yield name, (reason, _read("manifest", _changed(fields, MANIFEST_FORMAT, **{field: value})))
    yield "a field too many", ("manifest", _read("manifest", _changed(fields, MANIFEST_FORMAT, extra=0)))
    yield "the terms alone", ("manifest", _read("manifest", TERMS.to_bytes()))
    apart = {**fields, "randomiser": "apart"}
    published = {**terms, "method": "published"}
    others: dict[str, tuple[str, str, dict[str, Any]]] = {
        "a randomiser in the first format": ("manifest", MANIFEST_FORMAT, apart),
        "no randomiser in the second": ("manifest", MANIFEST_FORMAT_2, fields),
        "a randomiser that nobody knows": ("randomiser", MANIFEST_FORMAT_2, {**apart, "randomiser": "unary"}),
        "the usual one in the second format": ("randomiser", MANIFEST_FORMAT_2, {**apart, "randomiser": "split"}),
        "no text for a randomiser": ("randomiser", MANIFEST_FORMAT_2, {**apart, "randomiser": None}),
        "a randomiser of the other method": ("randomiser", MANIFEST_FORMAT_2, {**apart, "terms": published}),
        "a third format": ("manifest", later(MANIFEST_FORMAT_2), apart),
    }
    for name, (reason, form, value) in others.items():
        yield name, (reason, _read("manifest", _changed(value, form)))


_LISTS: Mapping[str, HeadList] = {
    "two levels": LIST,
    "one level": QUERIES,
    "long": LONG,
    "empty": HeadList(()),
    "one record": HeadList.of_records([("*", "*")]),
    "queries without URLs among others": MIXED,
    "only queries without URLs": ALONE,
    "order by code points": HeadList.of_records(
        [("\U0001f600", "u"), ("\uff21", "u"), ("z", "u"), ("é", "u"), ("Z", "u")]
    ),
    "urls in order": HeadList.of_records([("q", url) for url in ("\U0001f600", "\ue000", "a", "B", "a b", "")]),
}


def _list(levels: Any, *queries: Any) -> bytes:
    items = [{"query": query, "urls": urls} for query, urls in queries]
    return canonical_json({"format": LIST_FORMAT, "levels": levels, "queries": items})


def _bad_lists() -> dict[str, bytes]:
    return {
        "queries out of order": _list(2, ("b", ["u"]), ("a", ["u"])),
        "a query twice": _list(2, ("a", ["u"]), ("a", ["v"])),
        "urls out of order": _list(2, ("a", ["v", "u"])),
        "order by 16-bit units": _list(2, ("\U0001f600", ["u"]), ("\uff21", ["u"])),
        "a url twice": _list(2, ("a", ["u", "u"])),
        "null for no urls": _list(2, ("a", None)),
        "a text for urls": _list(2, ("a", "u")),
        "an object for no urls": _list(2, ("a", {})),
        "urls in one level": _list(1, ("a", ["u"])),
        "three levels": _list(3, ("a", ["u"])),
        "levels in a text": _list("2", ("a", ["u"])),
        "a number for a query": _list(2, (5, ["u"])),
        "null for a url": _list(2, ("a", [None])),
        "another format": _list(2, ("a", ["u"])).replace(b"list/1", b"list/2"),
        "a member too many": _list(2, ("a", ["u"])).replace(b'"levels"', b'"extra":1,"levels"'),
        "not canonical": _list(2, ("a", ["u"])).replace(b":2", b": 2"),
        "no list": b"5",
        "bytes that are no UTF-8": b'{"format":"blendp/head-list/1","levels":1,"queries":[{"query":"\xff","urls":[]}]}',
    }


def _bad_releases() -> dict[str, bytes]:
    value = json.loads(_release())
    return {
        "a member is missing": canonical_json({name: one for name, one in value.items() if name != "card"}),
        "a member too many": canonical_json({**value, "extra": 1}),
        "another document": TERMS.to_bytes(),
    }


def _point(y: int, sign: int = 0) -> str:
    return (y | sign << 255).to_bytes(32, "little").hex()


def _bad_keys() -> dict[str, str]:
    return {
        "too short": "ab" * 31,
        "in capitals": signing_key(1).public.text.upper(),
        "with spaces": " ".join(signing_key(1).public.text[start : start + 2] for start in range(0, 64, 2)),
        "order 1": _point(1),
        "order 2": _point(_FIELD - 1),
        "order 4": _point(0),
        "order 4, other sign": _point(0, 1),
        "order 8": _point(_ORDER_8),
        "order 8, other sign": _point(_ORDER_8, 1),
        "order 8, negative": _point(_FIELD - _ORDER_8),
        "order 8, negative, other sign": _point(_FIELD - _ORDER_8, 1),
        "order 1 with a sign": _point(1, 1),
        "y of the field": _point(_FIELD),
        "y beyond the field": _point(_FIELD + 1),
        "all ones": "ff" * 32,
    }


_STATEMENTS: Mapping[str, dict[str, str]] = {"as usual": {}, "an overlap of one day": {"replaced_until": "2026-11-15"}}


def _statement(**changed: Any) -> bytes:
    fields = {
        "key": _SECOND.public.text,
        "since": "2026-11-15",
        "replaces": _FIRST.public.id,
        "replaced_until": "2026-12-15",
    }
    return canonical_json({"format": KEY_FORMAT, **fields, **changed})


def _bad_statements() -> Iterator[tuple[str, tuple[str, Any]]]:
    for name, reason, data in (
        ("no overlap", "replaced_until", _statement(replaced_until="2026-11-14")),
        ("no day", "since", _statement(since="soon")),
        ("a key of small order", "key", _statement(key=_point(1))),
        ("an id too short", "replaces", _statement(replaces="ab")),
        ("an id that is no text", "replaces", _statement(replaces=5)),
        ("a key that is no text", "key", _statement(key=5)),
        ("a member too many", "key statement", _statement(extra=1)),
        ("another format", "key statement", _statement(format=later(KEY_FORMAT))),
        ("not canonical", "key statement", _statement() + b"\n"),
    ):
        yield name, (reason, _read("key", data))


def _envelope_text(*keys: SigningKey, kind: str = TERMS_TYPE, payload: bytes | None = None) -> str:
    data = TERMS.to_bytes() if payload is None else payload
    return Envelope.sealed(kind, data, keys).to_bytes().decode("utf-8")


def _envelopes() -> dict[str, Any]:
    one = {"type": TERMS_TYPE, "keys": [_FIRST.public.text]}
    plain = _envelope_text(_FIRST)
    return {
        "one signature": {"text": plain, **one},
        "two signatures, one trusted": {"text": _envelope_text(_SECOND, _FIRST), **one},
        "two trusted, one signature": {
            "text": plain,
            "type": TERMS_TYPE,
            "keys": [_SECOND.public.text, _FIRST.public.text],
        },
        "a manifest": {
            "text": _envelope_text(_FIRST, kind=MANIFEST_TYPE, payload=manifest_of(LIST).to_bytes()),
            "type": MANIFEST_TYPE,
            "keys": [_FIRST.public.text],
        },
        "an empty payload": {"text": _envelope_text(_FIRST, payload=b""), **one},
        "one byte": {"text": _envelope_text(_FIRST, payload=b"x"), **one},
        "spaces and other members": {"text": plain.replace("{", '{ "later": [1, {"a": null}], ', 1), **one},
        "a wrong signature before the right one": {"text": _with_signatures(plain, first="00" * 64), **one},
    }


def _with_signatures(text: str, first: str) -> str:
    value = json.loads(text)
    wrong = {**value["signatures"][0], "sig": base64.b64encode(bytes.fromhex(first)).decode()}
    return json.dumps({**value, "signatures": [wrong, *value["signatures"]]})


def _bad_envelopes() -> Iterator[tuple[str, tuple[str, Any]]]:
    plain = _envelope_text(_FIRST)
    value = json.loads(plain)
    payload, signature = value["payload"], value["signatures"][0]["sig"]
    trusted = {"type": TERMS_TYPE, "keys": [_FIRST.public.text]}

    def spelt(**changed: Any) -> str:
        return json.dumps({**value, **changed})

    def signed(sig: Any) -> list[Any]:
        return [{"keyid": _FIRST.public.id, "sig": sig}]

    forms = {
        "no JSON": plain[:-1],
        "a list": "[]",
        "not a number in another member": plain.replace("{", '{"later":NaN,', 1),
        "no payload": json.dumps({name: one for name, one in value.items() if name != "payload"}),
        "a number for a type": spelt(payloadType=5),
        "signatures that are none": spelt(signatures=5),
        "a signature without a key": spelt(signatures=[{"sig": signature}]),
        "too many signatures": spelt(signatures=value["signatures"] * 17),
        "base64 without padding": spelt(signatures=signed(signature.rstrip("="))),
        "base64 with a space": spelt(payload=payload[:4] + " " + payload[4:]),
        "base64 for addresses": spelt(signatures=signed("-_" + signature[2:])),
        "base64 with loose bits": spelt(signatures=signed(signature[:-3] + chr(ord(signature[-3]) + 1) + "==")),
        "base64 with too much padding": spelt(payload=payload + "===="),
    }
    for name, text in forms.items():
        yield name, ("envelope", {"text": text, **trusted})
    yield "bytes that are no UTF-8", ("envelope", {"hex": b'{"payload":"\xff"}'.hex(), **trusted})
    flipped = base64.b64encode(TERMS.to_bytes().replace(b"trends", b"trendz")).decode()
    other = bytearray(base64.b64decode(signature))
    other[0] ^= 1
    for name, text in {
        "another payload": spelt(payload=flipped),
        "another signature": spelt(signatures=signed(base64.b64encode(bytes(other)).decode())),
        "a short signature": spelt(signatures=signed(base64.b64encode(bytes(other[:63])).decode())),
        "no signature": spelt(signatures=[]),
        "a stranger's signature": _envelope_text(_SECOND),
        "a stranger under a trusted id": spelt(
            signatures=[{"keyid": _FIRST.public.id, "sig": json.loads(_envelope_text(_SECOND))["signatures"][0]["sig"]}]
        ),
        "another type": _envelope_text(_FIRST, kind=MANIFEST_TYPE),
        "a type that was changed": spelt(payloadType=MANIFEST_TYPE),
    }.items():
        yield name, ("signature", {"text": text, **trusted})
    yield "nobody is trusted", ("signature", {"text": plain, "type": TERMS_TYPE, "keys": []})
    yield "a trusted key of small order", ("key", {"text": plain, "type": TERMS_TYPE, "keys": [_point(1)]})


def _link(old: SigningKey, new: SigningKey, since: str, until: str, *signers: SigningKey) -> str:
    statement = KeyStatement(new.public.text, since, old.public.id, until)
    if not signers:
        return statement.sealed(old, new).to_bytes().decode("utf-8")
    payload = statement.sealed(old, new).payload
    return Envelope.sealed(KEY_TYPE, payload, signers).to_bytes().decode("utf-8")


def _successions() -> dict[str, Any]:
    first = [_FIRST.public.text]
    one = _link(_FIRST, _SECOND, "2026-11-15", "2026-12-15")
    two = _link(_SECOND, _THIRD, "2027-01-15", "2027-02-15")
    fourth = signing_key(4)
    wrong_type = Envelope.sealed(
        TERMS_TYPE, json.loads(one) and base64.b64decode(json.loads(one)["payload"]), (_FIRST, _SECOND)
    )
    return {
        "no statement": {"keys": first, "statements": [], "day": "2026-11-20"},
        "one successor": {"keys": first, "statements": [one], "day": "2026-11-20"},
        "on the last day": {"keys": first, "statements": [one], "day": "2026-12-15"},
        "after the last day": {"keys": first, "statements": [one], "day": "2026-12-16"},
        "two successors": {"keys": first, "statements": [one, two], "day": "2027-01-20"},
        "in the wrong order": {"keys": first, "statements": [two, one], "day": "2027-01-20"},
        "the old key did not sign": {
            "keys": first,
            "statements": [_link(_FIRST, _SECOND, "2026-11-15", "2026-12-15", _SECOND)],
            "day": "2026-11-20",
        },
        "the new key did not sign": {
            "keys": first,
            "statements": [_link(_FIRST, _SECOND, "2026-11-15", "2026-12-15", _FIRST)],
            "day": "2026-11-20",
        },
        "a stranger's statement": {"keys": first, "statements": [two], "day": "2026-11-20"},
        "a second successor": {
            "keys": first,
            "statements": [one, _link(_FIRST, fourth, "2026-11-16", "2026-12-30")],
            "day": "2026-11-20",
        },
        "the same statement twice": {"keys": first, "statements": [one, one], "day": "2026-11-20"},
        "a shorter overlap later": {
            "keys": first,
            "statements": [one, _link(_FIRST, _SECOND, "2026-11-15", "2026-12-01")],
            "day": "2026-12-05",
        },
        "a statement under another type": {
            "keys": first,
            "statements": [wrong_type.to_bytes().decode()],
            "day": "2026-11-20",
        },
        "a statement that is none": {
            "keys": first,
            "statements": [_envelope_text(_FIRST, kind=KEY_TYPE, payload=b"{}"), one],
            "day": "2026-11-20",
        },
    }
