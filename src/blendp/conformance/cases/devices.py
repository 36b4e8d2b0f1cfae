"""Whole devices: what they are asked to do, what collectors answer, and all that they send."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from blendp.conformance.cases.case import bad, good, some_bytes, tape
from blendp.conformance.samples import LIST, QUERIES, SITES, manifest_of, signing_key
from blendp.conformance.vectors import VectorFile
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest, SigningKey
from blendp.wire.addresses import CAMPAIGN, KEYS, TERMS, of_campaign, of_report
from blendp.wire.keys import KeyStatement
from blendp.wire.media_types import MANIFEST_TYPE, RELEASE_TYPE, TERMS_TYPE

_URL, _MIRROR = "https://collector.example", "https://mirror.example"
_NOW = 1_794_657_600
"""2026-11-14, noon."""

_NAME = manifest_of(LIST).terms.campaign
_KEY, _NEXT, _STRANGER = (signing_key(number) for number in (1, 2, 9))
_TOKEN = f"blendp-in-{7:064x}"
_OWN = [["Query  3", "http://B.example/"], ["other", "http://else.example"]]

_LOCAL, _OPT_IN, _OFF = ({"do": "consent", "level": level} for level in ("local", "opt-in", "off"))
_TAKE_PART = {"do": "take-part", "campaign": _NAME, "records": _OWN}
_ENROL = {"do": "enrol", "campaign": _NAME, "token": _TOKEN, "records": _OWN}
_SEND, _FORGET, _LOOK = {"do": "send"}, {"do": "forget", "campaign": _NAME}, {"do": "look", "campaign": _NAME}

_ACCEPTED = {"status": 201, "body": '{"outcome":"accepted"}'}
_BUSY = {"status": 503, "headers": {"Retry-After": "60"}, "body": '{"type":"urn:blendp:problem:busy"}'}
_ID = some_bytes("entropy", 48)[32:].hex()
"""The first 32 bytes of entropy are the install secret, the next 16 the report's id."""


class _Served:
    """What a collector answers, by method and address."""

    def __init__(self, manifest: Manifest, head_list: HeadList, keys: Sequence[SigningKey] = (_KEY,)) -> None:
        self.answers: dict[str, list[dict[str, Any]]] = {}
        day = {"since": "2026-01-01", "until": None}
        self.get(KEYS, json.dumps({"keys": [{"key": keys[0].public.text, **day}], "statements": []}))
        campaign = of_campaign(CAMPAIGN, manifest.terms.campaign)
        self.get(f"{campaign}/terms", sealed(TERMS_TYPE, manifest.terms.to_bytes(), *keys))
        self.get(f"{campaign}/manifest", sealed(MANIFEST_TYPE, manifest.to_bytes(), *keys))
        self.get(f"{campaign}/list", head_list.to_bytes().decode())
        deleted = {"status": 200, "body": '{"deleted":true}'}
        self.answer("PUT", of_report(manifest.terms.campaign, bytes.fromhex(_ID)), _ACCEPTED)
        self.answer("PUT", f"{campaign}/opt-in", _ACCEPTED)
        self.answer("DELETE", f"{campaign}/opt-in", deleted)
        self.answer("POST", f"{campaign}/deletions", deleted)

    def get(self, path: str, *bodies: str, server: str = _URL) -> _Served:
        """Serve these documents at a path, one after the other."""
        return self.answer("GET", path, *({"status": 200, "body": body} for body in bodies), server=server)

    def answer(self, method: str, path: str, *answers: dict[str, Any], server: str = _URL) -> _Served:
        """Answer so to a request, one after the other."""
        self.answers[f"{method} {server}{path}"] = list(answers)
        return self

    def document(self, name: str, *bodies: str, server: str = _URL) -> _Served:
        """Serve these documents of the campaign."""
        return self.get(f"{of_campaign(CAMPAIGN, _NAME)}/{name}", *bodies, server=server)

    def without(self, name: str) -> _Served:
        """Serve no such document of the campaign."""
        del self.answers[f"GET {_URL}{of_campaign(CAMPAIGN, _NAME)}/{name}"]
        return self

    def case(self, *steps: dict[str, Any], label: str = "device", **options: Any) -> dict[str, Any]:
        """A transcript with these answers."""
        collector = {"url": _URL, "keys": [_KEY.public.text], **options.pop("collector", {})}
        given = {"now": _NOW, "tape": tape(label), "entropy": some_bytes("entropy", 128).hex(), **options}
        return {"collector": collector, **given, "steps": list(steps), "answers": self.answers}


def sealed(kind: str, payload: bytes, *keys: SigningKey) -> str:
    """An envelope as a text."""
    return Envelope.sealed(kind, payload, keys).to_bytes().decode("utf-8")


def vector_files() -> Iterator[VectorFile]:
    """Of devices."""
    sent = "N6 S9 W1 W4 W5 W6 L1 L2 L4 Q1 Q4 Q5 Q6 P3 P4 P5 P6 P7 P8"
    yield good("device", "device", sent, dict(_devices()))
    yield bad("device", "device", "S9 W6 L1 L2 L4 P2 P3 P4 P5 P6 P7 P8", dict(_refusals()))


def _usual(**terms: Any) -> _Served:
    return _Served(manifest_of(LIST, **terms), LIST)


def _devices() -> Iterator[tuple[str, Any]]:
    reports = of_report(_NAME, bytes.fromhex(_ID))
    opt_in: dict[str, Any] = {"now": _NOW - 7 * 86_400}
    yield "a report", _usual().case(_LOCAL, _TAKE_PART, _SEND)
    yield "a report of nothing", _usual().case(_LOCAL, {**_TAKE_PART, "records": []}, _SEND)
    yield "queued and not sent", _usual().case(_LOCAL, _TAKE_PART)
    yield "drawn once", _usual().case(_LOCAL, _TAKE_PART, _TAKE_PART, _SEND, _SEND)
    yield "silent", _usual(participation=0.5).case(_LOCAL, _TAKE_PART, _SEND, tape=tape("silent", w0=(1 << 64) - 1))
    yield "published", _usual(method="published").case(_LOCAL, _TAKE_PART, _SEND)
    apart = manifest_of(LIST, randomiser="apart")
    yield "wildcard apart", _Served(apart, LIST).case(_LOCAL, _TAKE_PART, _SEND)
    yield "one level", _Served(manifest_of(QUERIES), QUERIES).case(_LOCAL, _TAKE_PART, _SEND)
    yield (
        "tried again",
        _usual()
        .answer("PUT", reports, _BUSY, {"status": 200, "body": '{"outcome":"duplicate"}'})
        .case(_LOCAL, _TAKE_PART, _SEND, _wait(61), _SEND, _wait(2), _SEND),
    )
    refused = {"status": 422, "body": '{"type":"urn:blendp:problem:wrong-scheme"}'}
    yield "refused", _usual().answer("PUT", reports, refused).case(_LOCAL, _TAKE_PART, _SEND, _SEND)
    late = {"status": 410, "body": '{"type":"urn:blendp:problem:late"}'}
    yield "late before its time", _usual().answer("PUT", reports, late).case(_LOCAL, _TAKE_PART, _SEND, _SEND)
    yield (
        "late in time",
        _usual()
        .answer("PUT", reports, late)
        .case(_LOCAL, _TAKE_PART, _SEND, {"do": "wait", "seconds": 17 * 86_400}, _SEND),
    )
    yield (
        "a page of a proxy",
        _usual().answer("PUT", reports, {"status": 403, "body": "<html>"}).case(_LOCAL, _TAKE_PART, _SEND),
    )
    nobody = {"status": 0, "body": ""}
    yield (
        "nobody answers, then somebody",
        _usual().answer("PUT", reports, nobody, _ACCEPTED).case(_LOCAL, _TAKE_PART, _SEND, _wait(6), _SEND),
    )
    yield "nobody answers", _usual().answer("PUT", reports, nobody).case(_LOCAL, _TAKE_PART, _SEND)
    moved = {"status": 302, "headers": {"Location": f"{_MIRROR}{reports}"}, "body": ""}
    yield "a redirect is not followed", _usual().answer("PUT", reports, moved).case(_LOCAL, _TAKE_PART, _SEND)
    waits = [step for attempt in range(11) for step in (_SEND, _wait(2.5 * 2**attempt + 1))]
    often = (_LOCAL, _TAKE_PART, *waits, _SEND, _wait(2_000), _SEND)
    yield "late before its time, often", _usual().answer("PUT", reports, late).case(*often)
    busy = _usual().answer("PUT", reports, {**_BUSY, "headers": {}})
    old = (_wait(40 * 86_400), _SEND, _wait(43_200), _SEND, _wait(86_400), _SEND)
    yield "too old", busy.case(_LOCAL, _TAKE_PART, _SEND, *old)
    yield "old by a clock that was wrong", busy.case(_LOCAL, _TAKE_PART, *old[:2], _wait(-40 * 86_400), *old[:2])
    yield "forgotten twice", _usual().case(_LOCAL, _TAKE_PART, _SEND, _FORGET, _FORGET, _SEND)
    contradicted = _usual().document("manifest", _manifest_text(), _manifest_text(published="2026-11-13"))
    again = {**_LOOK, "refused": "equivocation"}
    yield "equivocation drops what waits", contradicted.case(_LOCAL, _TAKE_PART, again, _SEND)
    whole = _manifest_text(terms=replace(manifest_of(LIST).terms, epsilon=4, participation=1))
    yield "the same numbers in another spelling", _usual().document("manifest", whole).case(_LOCAL, _TAKE_PART, _SEND)
    yield "years are counted in days that were seen", _two_years().case(*_years(5))
    yield "forgotten", _usual().case(_LOCAL, _TAKE_PART, _SEND, _FORGET)
    yield "forgotten before it was sent", _usual().case(_LOCAL, _TAKE_PART, _FORGET, _SEND)
    yield "consent withdrawn", _usual().case(_LOCAL, _TAKE_PART, _SEND, _OFF)
    yield "consent withdrawn before it was sent", _usual().case(_LOCAL, _TAKE_PART, _OFF, _SEND)
    overdrawn = {**_TAKE_PART, "refused": "epsilon"}
    low = {"do": "lower-cap", "year": [3.0, 0.0]}
    yield "refused by a cap, so nothing is queued", _usual().case(_LOCAL, low, overdrawn, _SEND)
    elsewhere = {"do": "collector", "url": _MIRROR, "keys": [_KEY.public.text]}
    yield ("taken part elsewhere, sent where it was drawn", _usual().case(_LOCAL, _TAKE_PART, elsewhere, _SEND))
    yield "enrolled", _usual(opt_in_records=2).case(_OPT_IN, _ENROL, _SEND, **opt_in)
    yield "enrolled, then local", _usual(opt_in_records=2).case(_OPT_IN, _ENROL, _SEND, _LOCAL, **opt_in)
    yield "enrolled with nothing", _usual().case(_OPT_IN, {**_ENROL, "records": []}, _SEND, **opt_in)
    yield (
        "a witness that was told the same",
        _with_mirror(_manifest_text()).case(_LOCAL, _TAKE_PART, _SEND, collector={"witnesses": [_MIRROR]}),
    )
    yield "a key that follows", _rotated().case(_LOCAL, _TAKE_PART, _SEND)
    yield (
        "trust on first use",
        _usual().case(_LOCAL, _TAKE_PART, _SEND, collector={"keys": [], "trust_on_first_use": True}),
    )
    yield "looked at, and no more", _usual().case(_LOOK)


def _wait(seconds: float) -> dict[str, Any]:
    return {"do": "wait", "seconds": seconds}


def _two_years() -> _Served:
    """The usual campaign, and one fifteen months later."""
    served, later = _usual(), replace(manifest_of(LIST).terms, campaign="later", **_LATER_DAYS)
    manifest = replace(manifest_of(LIST), terms=later)
    served.answers |= _Served(manifest, LIST).answers
    return served


_LATER_DAYS: dict[str, Any] = {"opens": "2028-01-01", "opt_in_until": "2028-01-10", "reports_until": "2028-03-31"}


def _years(looks: int) -> list[dict[str, Any]]:
    """Take part with a cap for one campaign a year, look at the ledger now and then, and take part again."""
    seen = [step for _ in range(looks) for step in (_wait(90 * 86_400), {"do": "ledger"})]
    left = _wait((450 - 90 * looks) * 86_400)
    again = {**_TAKE_PART, "campaign": "later"}
    return [_LOCAL, {"do": "lower-cap", "year": [4.0, 0.0]}, _TAKE_PART, *seen, left, again]


def _manifest_text(*keys: SigningKey, **changed: Any) -> str:
    manifest = replace(manifest_of(LIST), **changed)
    return sealed(MANIFEST_TYPE, manifest.to_bytes(), *(keys or (_KEY,)))


def _with_mirror(body: str) -> _Served:
    return _usual().document("manifest", body, server=_MIRROR)


def _rotated() -> _Served:
    served = _Served(manifest_of(LIST), LIST, (_NEXT,))
    statement = KeyStatement(_NEXT.public.text, "2026-11-01", _KEY.public.id, "2026-11-10").sealed(_KEY, _NEXT)
    keys = [
        {"key": _KEY.public.text, "since": "2026-01-01", "until": "2026-11-10"},
        {"key": _NEXT.public.text, "since": "2026-11-01", "until": None},
    ]
    return served.get(KEYS, json.dumps({"keys": keys, "statements": [json.loads(statement.to_bytes())]}))


def _refusals() -> Iterator[tuple[str, tuple[str, Any]]]:
    manifest = manifest_of(LIST)
    other = _manifest_text(published="2026-11-13")
    half = HeadList.of_records([(f"query {number}", SITES[0]) for number in range(5)])
    retitled = replace(manifest.terms, title="Another title")
    yield "no consent", ("consent", _usual().case(_TAKE_PART))
    yield "consent to less", ("consent", _usual().case(_LOCAL, _ENROL, now=_NOW - 7 * 86_400))
    yield "no key", ("key", _usual().case(_LOOK, collector={"keys": []}))
    yield "no such campaign", ("campaign", _usual().case(_LOOK | {"campaign": "another"}))
    yield "a name that is none", ("campaign", _usual().case(_LOOK | {"campaign": "A/B"}))
    yield "after the last day", ("campaign", _usual().case(_LOCAL, _TAKE_PART, now=_NOW + 30 * 86_400))
    yield "enrolment after the last day", ("campaign", _usual().case(_OPT_IN, _ENROL))
    yield "in both groups", ("campaign", _usual().case(_OPT_IN, _ENROL, _TAKE_PART, now=_NOW - 7 * 86_400))
    yield "nothing to forget", ("campaign", _usual().case(_FORGET))
    yield "a token that is none", ("token", _usual().case(_OPT_IN, {**_ENROL, "token": "x"}, now=_NOW - 7 * 86_400))
    lowered = {"do": "lower-cap", "life": [3.0, 0.0]}
    yield "more than the cap", ("epsilon", _usual().case(_LOCAL, lowered, _TAKE_PART))
    yield (
        "more than the cap of a year",
        ("epsilon", _usual().case(_LOCAL, {"do": "lower-cap", "year": [3.0, 0.0]}, _TAKE_PART)),
    )
    for reason, raised in (
        ("cap epsilon", {"life": [49.0, 0.0]}),
        ("cap delta", {"life": [48.0, 5e-5]}),
        ("yearly epsilon", {"year": [13.0, 0.0]}),
        ("yearly delta", {"year": [12.0, 2e-5]}),
    ):
        yield f"a cap that is raised: {reason}", (reason, _usual().case({"do": "lower-cap", **raised}))
    yield (
        "a delta beyond the cap",
        ("delta", _usual(method="published").case(_LOCAL, {"do": "lower-cap", "life": [48.0, 0.0]}, _TAKE_PART)),
    )
    yield (
        "terms of a stranger",
        ("signature", _usual().document("terms", sealed(TERMS_TYPE, manifest.terms.to_bytes(), _STRANGER)).case(_LOOK)),
    )
    yield (
        "a manifest of a stranger",
        ("signature", _usual().document("manifest", _manifest_text(_STRANGER)).case(_LOOK)),
    )
    yield (
        "a release in the place of a manifest",
        ("signature", _usual().document("manifest", sealed(RELEASE_TYPE, manifest.to_bytes(), _KEY)).case(_LOOK)),
    )
    yield "a year that was not seen", ("epsilon", _two_years().case(*_years(2)))
    yield "enrolment before the first day", ("campaign", _usual().case(_OPT_IN, _ENROL, now=_NOW - 20 * 86_400))
    yield "enrolment among few", ("policy", _usual(min_opt_in=99).case(_OPT_IN, _ENROL, now=_NOW - 7 * 86_400))
    unavailable = {"status": 503, "body": ""}
    yield (
        "a collector that is busy",
        ("network", _usual().answer("GET", of_campaign(TERMS, _NAME), unavailable).case(_LOOK)),
    )
    first = {"keys": [], "trust_on_first_use": True}
    ended = json.dumps(
        {"keys": [{"key": _KEY.public.text, "since": "2026-01-01", "until": "2026-11-13"}], "statements": []}
    )
    yield "a first visit to a key that ended", ("signature", _usual().get(KEYS, ended).case(_LOOK, collector=first))
    changing = _usual().document("manifest", _manifest_text(), _manifest_text(published="2026-11-13"), server=_MIRROR)
    yield "a witness that changes", ("equivocation", changing.case(_LOOK, _LOOK, collector={"witnesses": [_MIRROR]}))
    yield "a key that ended", ("signature", _ended().case(_LOOK))
    yield "terms that are no envelope", ("document", _usual().document("terms", "<html>").case(_LOOK))
    yield (
        "terms that are not canonical",
        (
            "document",
            _usual().document("terms", sealed(TERMS_TYPE, manifest.terms.to_bytes() + b" ", _KEY)).case(_LOOK),
        ),
    )
    yield "keys that are none", ("document", _usual().get(KEYS, "{}").case(_LOOK))
    yield (
        "an answer that is no document",
        ("document", _usual().answer("GET", of_campaign(TERMS, _NAME), {"status": 403, "body": ""}).case(_LOOK)),
    )
    elsewhere = sealed(TERMS_TYPE, replace(manifest.terms, campaign="elsewhere").to_bytes(), _KEY)
    yield "terms of another campaign", ("terms", _usual().document("terms", elsewhere).case(_LOOK))
    yield (
        "a manifest with other terms",
        ("terms", _usual().document("manifest", _manifest_text(terms=retitled)).case(_LOOK)),
    )
    yield "another list", ("list", _usual().document("list", half.to_bytes().decode()).case(_LOOK))
    yield "no list", ("list", _usual().without("list").case(_LOOK))
    yield (
        "a list that is not canonical",
        ("list", _usual().document("list", LIST.to_bytes().decode() + "\n").case(_LOOK)),
    )
    yield "no manifest", ("not-published", _usual().without("manifest").case(_LOOK))
    yield "a release", ("released", _usual().document("release", sealed(RELEASE_TYPE, b"{}", _KEY)).case(_LOOK))
    yield "a short list", ("policy", _Served(manifest_of(half), half).case(_LOOK))
    few = _usual(min_opt_in=50).document(
        "manifest", _manifest_text(terms=replace(manifest.terms, min_opt_in=50), opt_in_people=60)
    )
    yield "a list of few people", ("policy", few.case(_LOOK))
    yield (
        "another manifest later",
        ("equivocation", _usual().document("manifest", _manifest_text(), other).case(_LOOK, _LOOK)),
    )
    mirrored = _usual()
    mirrored.answers |= {address.replace(_URL, _MIRROR): some for address, some in mirrored.answers.items()}
    mirrored.document("terms", sealed(TERMS_TYPE, retitled.to_bytes(), _KEY), server=_MIRROR)
    mirrored.document("manifest", _manifest_text(terms=retitled), server=_MIRROR)
    other_address = {"do": "collector", "url": _MIRROR, "keys": [_KEY.public.text]}
    yield "another campaign of this name elsewhere", ("terms", mirrored.case(_LOOK, other_address, _LOOK))
    nobody = {"status": 0, "body": ""}
    yield "nobody answers", ("network", _usual().answer("GET", of_campaign(TERMS, _NAME), nobody).case(_LOOK))
    moved = {"status": 302, "headers": {"Location": f"{_MIRROR}{of_campaign(TERMS, _NAME)}"}, "body": ""}
    yield "a redirect", ("document", _usual().answer("GET", of_campaign(TERMS, _NAME), moved).case(_LOOK))
    yield "never again", ("equivocation", _caught().case(_LOOK, {**_LOOK, "refused": "equivocation"}, _LOOK))
    both = _usual().document("manifest", _manifest_text(), _manifest_text(terms=retitled))
    both.document("terms", *(sealed(TERMS_TYPE, terms.to_bytes(), _KEY) for terms in (manifest.terms, retitled)))
    yield "other terms later", ("equivocation", both.case(_LOOK, _LOOK))
    mirror = {"witnesses": [_MIRROR]}
    yield "a witness that was told something else", ("equivocation", _with_mirror(other).case(_LOOK, collector=mirror))
    yield (
        "a witness that was lied to",
        ("witness", _with_mirror(_manifest_text(_STRANGER, published="2026-11-13")).case(_LOOK, collector=mirror)),
    )
    yield "a witness that knows nothing", ("witness", _usual().case(_LOOK, collector=mirror))
    stranger = _with_mirror(_manifest_text(terms=replace(manifest.terms, campaign="elsewhere")))
    yield "a witness that shows another campaign", ("witness", stranger.case(_LOOK, collector=mirror))
    yield "a witness that talks nonsense", ("witness", _with_mirror("<html>").case(_LOOK, collector=mirror))


def _ended() -> _Served:
    """The old key still signs, after the last day on which it counts."""
    served = _rotated()
    terms = sealed(TERMS_TYPE, manifest_of(LIST).terms.to_bytes(), _KEY)
    return served.document("terms", terms)


def _caught() -> _Served:
    """Another manifest is served once, and the right one again: the device has not forgotten."""
    return _usual().document("manifest", _manifest_text(), _manifest_text(published="2026-11-13"), _manifest_text())
