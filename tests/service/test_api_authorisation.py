"""Who may call what: every route by every kind of caller, from a table that names each route."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from blendp.service import campaigns
from blendp.service.board.status import StatusBoard
from blendp.service.campaigns import overview
from blendp.service.collector import CollectorService
from blendp.service.http import endpoints
from blendp.service.http.app import ENDPOINTS
from blendp.wire import Terms
from blendp.wire.media_types import BATCH_TYPE, OPT_IN_TYPE, REPORT_TYPE
from blendp.wire.tokens import SCOPES
from tests.service.helpers import bearer, on, open_collector, records_of, terms_of, with_client

ACCESS = {
    ("GET", "/health/live"): "public",
    ("GET", "/health/ready"): "public",
    ("GET", "/v1/openapi.json"): "public",
    ("GET", "/v1/keys"): "public",
    ("GET", "/v1/campaigns"): "public",
    ("GET", "/v1/campaigns/{campaign}/terms"): "public",
    ("GET", "/v1/campaigns/{campaign}/manifest"): "public",
    ("GET", "/v1/campaigns/{campaign}/release"): "public",
    ("GET", "/v1/campaigns/{campaign}/index"): "public",
    ("GET", "/v1/campaigns/{campaign}/index-descriptor"): "public",
    ("GET", "/v1/campaigns/{campaign}/list"): "public",
    ("PUT", "/v1/campaigns/{campaign}/reports/{report}"): "public",
    ("POST", "/v1/campaigns/{campaign}/reports"): "public",
    ("POST", "/v1/campaigns/{campaign}/deletions"): "public",
    ("PUT", "/v1/campaigns/{campaign}/opt-in"): "enrolment",
    ("DELETE", "/v1/campaigns/{campaign}/opt-in"): "enrolment",
    ("GET", "/"): "page",
    ("GET", "/console"): "page",
    ("GET", "/campaigns/{campaign}"): "page",
    ("GET", "/campaigns/{campaign}/search"): "page",
    ("GET", "/campaigns/{campaign}/search-worker.js"): "page",
    ("GET", "/campaigns/{campaign}/search.webmanifest"): "page",
    ("GET", "/assets/{asset}"): "page",
    ("GET", "/metrics"): "read",
    ("GET", "/v1/audit"): "read",
    ("GET", "/v1/clock"): "read",
    ("GET", "/v1/campaigns/{campaign}/status"): "read",
    ("GET", "/v1/campaigns/{campaign}/export"): "read",
    ("GET", "/v1/token"): "read",
    ("GET", "/v1/overview"): "read",
    ("GET", "/v1/reasons"): "read",
    ("GET", "/v1/campaigns/{campaign}/plan"): "read",
    ("GET", "/v1/campaigns/{campaign}/changes"): "read",
    ("GET", "/v1/campaigns/{campaign}/files/{file}"): "read",
    ("POST", "/v1/clock"): "manage",
    ("POST", "/v1/campaigns"): "manage",
    ("POST", "/v1/drafts"): "manage",
    ("POST", "/v1/campaigns/{campaign}/enrolments"): "manage",
    ("POST", "/v1/campaigns/{campaign}/publish"): "manage",
    ("GET", "/v1/campaigns/{campaign}/forecast"): "manage",
    ("DELETE", "/v1/campaigns/{campaign}"): "manage",
    ("POST", "/v1/campaigns/{campaign}/release"): "release",
    ("GET", "/v1/campaigns/{campaign}/preview"): "release",
}
"""Whoever adds a route decides here who may call it."""

ADMITTED = 200
EXPECTED = {
    # role: what comes of public, page, enrolment, read, manage, release
    "nobody": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "empty token": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "garbage": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "wrong scheme": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "basic": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "enrolled": (ADMITTED, ADMITTED, ADMITTED, 401, 401, 401),
    "enrolled elsewhere": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "read": (ADMITTED, ADMITTED, 401, ADMITTED, 403, 403),
    "manage": (ADMITTED, ADMITTED, 401, 403, ADMITTED, 403),
    "release": (ADMITTED, ADMITTED, 401, 403, 403, ADMITTED),
    "all scopes": (ADMITTED, ADMITTED, 401, ADMITTED, ADMITTED, ADMITTED),
    "revoked": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "wrong secret": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "unknown id": (ADMITTED, ADMITTED, 401, 401, 401, 401),
    "in the address": (ADMITTED, ADMITTED, 401, 401, 401, 401),
}
KINDS = ("public", "page", "enrolment", "read", "manage", "release")
DESTROYS = {
    ("DELETE", "/v1/campaigns/{campaign}"),
    ("POST", "/v1/campaigns"),
    ("DELETE", "/v1/campaigns/{campaign}/opt-in"),
}


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CollectorService:
    """With two campaigns that people may opt in to, and no limit of wrong tokens."""
    monkeypatch.setattr(endpoints, "_FAILURES", (0.0, 0.0))
    opened = open_collector(tmp_path)
    for name in ("c1", "c2"):
        opened.lifecycle.create(terms_of(name))
    return opened


def headers_of(collector: CollectorService) -> dict[str, dict[str, str]]:
    """What each role sends along."""
    whole = collector.tokens.create("whole")
    gone = collector.tokens.create("gone")
    assert collector.tokens.revoke(gone.split("-")[2])
    (here,), (elsewhere,) = (collector.opt_in.enrol(name, 1) for name in ("c1", "c2"))
    basic = base64.b64encode(f"operator:{whole}".encode()).decode()
    return {
        "nobody": {},
        "empty token": {"authorization": "Bearer "},
        "garbage": bearer("garbage"),
        "wrong scheme": {"authorization": f"Token {whole}"},
        "basic": {"authorization": f"Basic {basic}"},
        "enrolled": bearer(here),
        "enrolled elsewhere": bearer(elsewhere),
        **{scope: bearer(collector.tokens.create(scope, [scope])) for scope in SCOPES},
        "all scopes": bearer(whole),
        "revoked": bearer(gone),
        "wrong secret": bearer(whole[:-64] + "0" * 64),
        "unknown id": bearer("blendp-op-" + "0" * 12 + "-" + whole[-64:]),
        "in the address": {
            "cookie": f"token={whole}; authorization=Bearer {whole}",
            "x-authorization": f"Bearer {whole}",
        },
    }


def sent(terms: Terms, method: str, path: str) -> tuple[dict[str, str], bytes]:
    """The media type and a body that the route takes."""
    if method == "PUT" and path.endswith("/opt-in"):
        return {"content-type": OPT_IN_TYPE}, records_of(terms, 0)
    bodies: dict[str, tuple[str, Any]] = {
        "/reports/{report}": (REPORT_TYPE, {"manifest": "", "pseudonym": "", "question": "", "data": ""}),
        "/reports": (BATCH_TYPE, {}),
        "/deletions": ("application/json", {"deletion_key": "ab" * 32}),
        "/enrolments": ("application/json", {"count": 1}),
        "/campaigns": ("application/json", {"campaign": "NOT A NAME"}),
        "/drafts": ("application/json", {"campaign": "NOT A NAME"}),
        "/clock": ("application/json", {"day": "2026-11-16"}),
    }
    for end, (kind, value) in bodies.items():
        if method in ("PUT", "POST") and path.endswith(end):
            return {"content-type": kind}, msgspec.json.encode(value)
    return {}, b""


def test_the_table_names_every_route() -> None:
    assert {(one.method, one.path): one.access for one in ENDPOINTS} == ACCESS
    assert set(ACCESS.values()) == set(KINDS)


@pytest.mark.parametrize("role", EXPECTED)
def test_matrix(collector: CollectorService, role: str) -> None:
    headers = headers_of(collector)
    assert set(headers) == set(EXPECTED)
    expected = dict(zip(KINDS, EXPECTED[role], strict=True))
    with collector.store.reading() as connection:
        terms = campaigns.terms_of(connection, campaigns.find(connection, "c1").number)
    before = state(collector)
    query = {"token": headers["all scopes"]["authorization"][7:]} if role == "in the address" else {}
    query |= {"access_token": query["token"], "authorization": f"Bearer {query['token']}"} if query else {}

    async def talk(client: httpx.AsyncClient) -> None:
        for (method, path), kind in ACCESS.items():
            admitted = expected[kind] == ADMITTED
            campaign = "none" if admitted and (method, path) in DESTROYS and kind == "manage" else "c1"
            address = (
                path.replace("{campaign}", campaign).replace("{report}", "ab" * 16).replace("{file}", "trends.csv")
            )
            own, body = sent(terms, method, path)
            answer = await client.request(method, address, headers={**headers[role], **own}, content=body, params=query)
            message = f"{role} got {answer.status_code} from {method} {path}: {answer.text[:200]}"
            if admitted:
                assert answer.status_code not in (401, 403, 415, 429), message
                assert answer.status_code < 500, message
            else:
                assert answer.status_code == expected[kind], message
                slug = {401: "unauthorised", 403: "forbidden"}[expected[kind]]
                assert answer.json()["type"] == f"urn:blendp:problem:{slug}"
                assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
        if role not in ("enrolled", "manage", "all scopes"):
            assert state(collector) == before, "somebody who may not has changed something"

    with_client(collector, talk)


def state(collector: CollectorService) -> Any:
    """What a caller could have changed."""
    return overview(collector.store), [StatusBoard(collector.store, on()).status(name) for name in ("c1", "c2")]


def test_one_answer_to_all_wrong_tokens(collector: CollectorService) -> None:
    """Whether an id is known, or a token was good once, is nobody's business."""
    headers = headers_of(collector)
    wrong = ("garbage", "enrolled", "revoked", "wrong secret", "unknown id")
    not_here = ("garbage", "enrolled elsewhere", "read", "all scopes", "revoked")
    opt_in = "/v1/campaigns/c1/opt-in"

    async def talk(client: httpx.AsyncClient) -> None:
        answers = [await client.get("/v1/campaigns/c1/status", headers=headers[role]) for role in wrong]
        answers.append(await client.get("/v1/campaigns/c1/status", headers=bearer("blendp-in-" + "0" * 64)))
        assert {(one.status_code, one.content) for one in answers} == {(401, answers[0].content)}
        assert len({tuple(sorted(one.headers.items())) for one in answers}) == 1
        answers = [await client.delete(opt_in, headers=headers[role]) for role in not_here]
        answers.append(await client.delete(opt_in, headers=bearer("blendp-in-" + "0" * 64)))
        assert {(one.status_code, one.content) for one in answers} == {(401, answers[0].content)}
        known, unknown = [
            await client.get(f"/v1/campaigns/{name}/status", headers=bearer("x")) for name in ("c1", "none")
        ]
        assert known.content == unknown.content

    with_client(collector, talk)


def test_a_revoked_token_is_worthless_at_once(collector: CollectorService) -> None:
    token = collector.tokens.create("short")

    async def talk(client: httpx.AsyncClient) -> None:
        for _ in range(2):
            assert (await client.get("/v1/campaigns/c1/status", headers=bearer(token))).status_code == 200
        assert collector.tokens.revoke(token.split("-")[2])
        assert (await client.get("/v1/campaigns/c1/status", headers=bearer(token))).status_code == 401

    with_client(collector, talk)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(collector: CollectorService, scheme: str) -> None:
    token = collector.tokens.create("any case")

    async def talk(client: httpx.AsyncClient) -> int:
        return (await client.get("/metrics", headers={"authorization": f"{scheme} {token}"})).status_code

    assert with_client(collector, talk) == 200


def test_whoever_guesses_has_to_wait(tmp_path: Path) -> None:
    """And with them whoever shares their address; others, and what needs no token, go on."""
    collector = open_collector(tmp_path)
    token = collector.tokens.create("right")
    tried = int(endpoints._FAILURES[1])

    async def talk(client: httpx.AsyncClient) -> None:
        for _ in range(tried):
            assert (await client.get("/metrics", headers=bearer("wrong"))).status_code == 401
        refused = await client.get("/metrics", headers=bearer(token))
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert (await client.get("/v1/campaigns")).status_code == 200
        elsewhere = httpx.ASGITransport(client._transport.app, client=("198.51.100.7", 1))  # type: ignore[attr-defined]
        async with httpx.AsyncClient(transport=elsewhere, base_url="http://collector.test") as other:
            assert (await other.get("/metrics", headers=bearer(token))).status_code == 200

    with_client(collector, talk)


def test_to_send_no_token_is_no_guess(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    token = collector.tokens.create("right")

    async def talk(client: httpx.AsyncClient) -> list[int]:
        without = [await client.get("/metrics") for _ in range(20)]
        return [one.status_code for one in (*without, await client.get("/metrics", headers=bearer(token)))]

    assert with_client(collector, talk) == [401] * 20 + [200]


def test_an_opt_in_route_is_guarded_from_guessing_too(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    collector.lifecycle.create(terms_of("c1"))
    (token,) = collector.opt_in.enrol("c1", 1)

    async def talk(client: httpx.AsyncClient) -> list[int]:
        wrong = bearer("blendp-in-" + "0" * 64)
        tried = [await client.delete("/v1/campaigns/c1/opt-in", headers=wrong) for _ in range(11)]
        right = await client.delete("/v1/campaigns/c1/opt-in", headers=bearer(token))
        return [one.status_code for one in (*tried, right)]

    assert with_client(collector, talk) == [401] * 10 + [429] * 2
