"""The ledger, and what happens to what was queued: waits, answers, policy, addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from blendp.conformance.cases.case import bad, good
from blendp.conformance.samples import LIST, manifest_of
from blendp.conformance.vectors import VectorFile
from blendp.wire.problems import PROBLEMS

_CAP, _YEARLY = [48.0, 4e-5], [12.0, 1e-5]


def vector_files() -> Iterator[VectorFile]:
    """Of the ledger and of sending."""
    yield good("ledger", "ledger", "L1 L2 L3 L4", dict(_ledgers()))
    yield bad("ledger", "ledger", "L1 L2 L3", dict(_bad_ledgers()))
    yield good("days", "days", "L4 B8", dict(_days()))
    yield good("backoff", "backoff", "Q1 Q2", dict(_delays()))
    yield good("answer", "answer", "Q3 Q4 Q5", dict(_answers()))
    yield good("policy", "policy", "P2", {name: _policy(**one) for name, one in _CONTENT.items()})
    yield bad("policy", "policy", "P2", {name: ("policy", _policy(**one)) for name, one in _DISCONTENT.items()})
    yield good("server", "server", "P1", {url: {"url": url, "allow_http": allowed} for url, allowed in _SERVERS})
    yield bad(
        "server",
        "server",
        "P1",
        {url or "nothing": ("server", {"url": url, "allow_http": False}) for url in _NO_SERVERS},
    )


def _entry(epsilon: float, delta: float = 0.0, counted: int = 0, campaign: str = "next") -> dict[str, Any]:
    entry = {"campaign": campaign, "group": "client", "epsilon": epsilon, "delta": delta}
    return {**entry, "day": "2026-11-17", "counted": counted}


def _ledger(entry: dict[str, Any], *before: dict[str, Any], counted: int = 0, **caps: list[float]) -> dict[str, Any]:
    named = [{**one, "campaign": f"c{number}"} for number, one in enumerate(before)]
    return {"cap": _CAP, "yearly": _YEARLY, **caps, "entries": named, "counted": counted, "entry": entry}


def _ledgers() -> Iterator[tuple[str, Any]]:
    four = _entry(4.0)
    yield "the first", _ledger(four)
    yield "the whole year", _ledger(four, four, four)
    yield "tenths add up exactly", _ledger(_entry(0.1), _entry(0.1), _entry(0.1), cap=[1.0, 0.0], yearly=[0.31, 0.0])
    yield "a delta", _ledger(_entry(1.0, 1e-6), _entry(4.0, 1e-5, 0), counted=365)
    yield "an entry of 365 days ago", _ledger(four, four, four, four, counted=365)
    yield (
        "entries of many years",
        _ledger(_entry(4.0, 0.0, 1000), *[_entry(4.0, 0.0, 100 * n) for n in range(8)], counted=1000),
    )
    yield "a whole number", _ledger(_entry(4), _entry(4))
    yield "a cap that was lowered below what is spent elsewhere", _ledger(_entry(1.0), four, cap=[5.0, 0.0])


def _bad_ledgers() -> Iterator[tuple[str, tuple[str, Any]]]:
    four = _entry(4.0)
    yield "a year that is full", ("epsilon", _ledger(_entry(1.0), four, four, four))
    yield "364 days ago is this year", ("epsilon", _ledger(four, four, four, four, counted=364))
    yield "a life that is full", ("epsilon", _ledger(_entry(4.0, 0.0, 9999), *[four] * 12, counted=9999))
    yield (
        "tenths are more than they look",
        ("epsilon", _ledger(_entry(0.1), _entry(0.1), _entry(0.1), cap=[0.3, 0.0], yearly=[0.3, 0.0])),
    )
    yield "a delta too much", ("delta", _ledger(_entry(1.0, 1e-6), _entry(1.0, 1e-5)))
    yield "a delta that is not there", ("delta", _ledger(_entry(1.0, 1e-12), cap=[48.0, 0.0]))
    yield "twice in a campaign", ("campaign", _ledger(_entry(1.0, campaign="c0"), four))


def _days() -> Iterator[tuple[str, Any]]:
    for name, last, today in (
        ("the first day", None, "2026-11-17"),
        ("the same day", "2026-11-17", "2026-11-17"),
        ("the next day", "2026-11-17", "2026-11-18"),
        ("a leap day", "2028-02-28", "2028-03-01"),
        ("no leap day", "2100-02-28", "2100-03-01"),
        ("90 days", "2026-11-17", "2027-02-15"),
        ("91 days", "2026-11-17", "2027-02-16"),
        ("a thousand years", "2026-11-17", "3026-11-17"),
        ("a day before", "2026-11-17", "2026-11-16"),
    ):
        yield name, {"last": last, "today": today}


def _delays() -> Iterator[tuple[str, Any]]:
    def case(attempts: int, u: float = 0.5, header: str | None = None, late: bool = False) -> dict[str, Any]:
        return {"attempts": attempts, "u": u, "retry_after": header, "now": 1794000000.0, "late": late}

    for attempts in (1, 2, 10, 11, 31, 32, 1000):
        yield f"attempt {attempts}", case(attempts)
    yield "no jitter", case(5, 0.0)
    yield "almost all of it", case(5, 0.9999999999999999)
    yield "late", case(20, late=True)
    yield "in seconds", case(1, header="120")
    yield "more seconds than 14 days", case(1, header="999999999999999")
    yield "a date", case(1, header="Fri, 06 Nov 2026 22:00:00 GMT")
    yield "a date in the past", case(1, header="Sun, 06 Nov 1994 08:49:37 GMT")
    yield "a date far away", case(1, header="Fri, 06 Nov 2099 22:00:00 GMT")
    for header in (
        "",
        "-5",
        "1.5",
        "soon",
        "2026-11-07",
        "Fri, 31 Feb 2027 22:00:00 GMT",
        "Fri, 06 Nov 2026 24:00:00 GMT",
    ):
        yield f"no sense: {header!r}", case(1, header=header)
    for header in (
        "fri, 06 Nov 2026 22:00:00 GMT",
        "Fri, 06 nov 2026 22:00:00 GMT",
        "Fri, 6 Nov 2026 22:00:00 GMT",
        "Friday, 06-Nov-26 22:00:00 GMT",
        "Fri Nov  6 22:00:00 2026",
        "Fri, 06 Nov 2026 22:00:00 +0000",
        "٣",
    ):
        yield f"another form: {header!r}", case(1, header=header)


def _answers() -> Iterator[tuple[str, Any]]:
    def case(status: int, body: str, kind: str = "report", in_time: bool = False) -> dict[str, Any]:
        return {"kind": kind, "status": status, "body": body, "in_time": in_time}

    yield "accepted", case(201, '{"outcome":"accepted"}')
    yield "duplicate", case(200, '{"outcome":"duplicate"}')
    yield "opt-in accepted", case(201, '{"outcome":"accepted"}', "opt-in")
    yield "another outcome", case(200, '{"outcome":"maybe"}')
    yield "a member of a later version", case(201, '{"later": [1], "outcome": "accepted"}')
    yield "a page of a proxy", case(200, "<html>")
    yield "another status", case(202, '{"outcome":"accepted"}')
    yield "no body", case(204, "")
    yield "deleted", case(200, '{"deleted":true}', "deletion")
    yield "nothing to delete", case(200, '{"deleted":false}', "deletion")
    yield "opt-in records deleted", case(200, '{"deleted":true}', "opt-in-deletion")
    yield "an outcome for a deletion", case(200, '{"outcome":"accepted"}', "deletion")
    for problem in PROBLEMS.values():
        body = json.dumps({"type": problem.type, "title": problem.title, "status": problem.status, "detail": "x"})
        yield f"problem {problem.slug}", case(problem.status, body)
        if problem.slug in ("late", "wrong-state", "deleted"):
            yield f"problem {problem.slug}, in time", case(problem.status, body, in_time=True)
    yield "a problem of another kind", case(404, '{"type":"about:blank","title":"Not Found"}')
    yield "a refusal without a problem", case(403, "<html>")
    yield "a problem of a later version", case(422, '{"type":"urn:blendp:problem:of-later"}')
    yield "a problem of a later version that passes", case(503, '{"type":"urn:blendp:problem:of-later"}')
    yield "a problem in capitals", case(422, '{"type":"urn:blendp:problem:Late"}')
    yield "a problem without a name", case(422, '{"type":"urn:blendp:problem:"}')
    yield "a problem with more behind it", case(422, '{"type":"urn:blendp:problem:late/x"}')
    yield "a problem without the prefix", case(410, '{"type":"late"}')
    yield "a problem under a status that is none", case(200, '{"type":"urn:blendp:problem:late"}')
    yield "a redirect", case(302, "")
    yield "a failing proxy", case(502, "<html>")


_CONTENT: dict[str, dict[str, Any]] = {
    "as usual": {},
    "just enough records": {"min_records": 13},
    "just enough people": {"min_opt_in": 250},
    "just the epsilon": {"max_epsilon": 4.0},
}
_DISCONTENT: dict[str, dict[str, Any]] = {
    "too few records": {"min_records": 14},
    "too many records": {"max_records": 12},
    "too few people": {"min_opt_in": 251},
    "too large an epsilon": {"max_epsilon": 3.9},
}


def _policy(**given: Any) -> dict[str, Any]:
    usual = {"min_records": 10, "max_records": 20_000, "min_opt_in": 100, "max_epsilon": None}
    return {"policy": {**usual, **given}, "manifest": manifest_of(LIST).to_bytes().decode()}


_SERVERS = (
    ("https://collector.example", False),
    ("https://collector.example/", False),
    ("https://collector.example:8443/blendp/", False),
    ("http://127.0.0.1:8321", False),
    ("http://localhost:8321", False),
    ("http://collector.example", True),
)
_NO_SERVERS = (
    "http://collector.example",
    "ftp://collector.example",
    "collector.example",
    "https://user@collector.example",
    "https://user:secret@collector.example",
    "https://collector.example?x=1",
    "https://collector.example?",
    "https://collector.example#",
    "https://@collector.example",
    "https://collector.example/#x",
    "https://",
    "",
    "https://collector.example:99999",
)
