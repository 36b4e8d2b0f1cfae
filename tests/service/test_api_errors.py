"""One shape of refusals whatever goes wrong, safe headers on every answer, and what pages of other origins may do."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from blendp.reports import QUESTIONS
from blendp.service.collector import CollectorService
from blendp.service.http import endpoints, make_app, public
from blendp.service.http.app import ENDPOINTS
from blendp.service.http.endpoints import Endpoint
from blendp.service.intake import ReportIntake
from blendp.service.journal import _Lines
from blendp.service.tokens import OperatorTokens
from blendp.wire.media_types import BATCH_TYPE, REPORT_TYPE
from blendp.wire.problems import PREFIX, PROBLEMS
from blendp.wire.reports import Binding, write_batch, write_report
from tests.service.helpers import bearer, open_collector, published_campaign, terms_of, with_client

SAFE = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
MEMBERS = {"type", "title", "status", "detail"}
WITH_BODY = [endpoint for endpoint in ENDPOINTS if endpoint.accepts]
INTERFACE = [endpoint for endpoint in ENDPOINTS if endpoint.access != "page"]
"""Pages have headers and refusals of their own (test_pages.py)."""

OF_CAMPAIGNS = [endpoint for endpoint in INTERFACE if "{campaign}" in endpoint.path]
GETS = [endpoint for endpoint in INTERFACE if endpoint.method == "GET"]
PATHS: dict[str, set[str]] = defaultdict(set)
for _endpoint in ENDPOINTS:
    PATHS[_endpoint.path].add(_endpoint.method)

Talk = Callable[[httpx.AsyncClient], Awaitable[None]]


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def address(endpoint: Endpoint | str, campaign: str = "c1") -> str:
    path = endpoint if isinstance(endpoint, str) else endpoint.path
    return path.replace("{campaign}", campaign).replace("{report}", "ab" * 16)


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CollectorService:
    monkeypatch.setattr(endpoints, "_FAILURES", (0.0, 0.0))
    return open_collector(tmp_path)


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """What the service writes about itself."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines())
    logger = logging.getLogger("blendp.service")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(level)


def require_safe(answer: httpx.Response) -> None:
    for name, value in SAFE.items():
        assert answer.headers[name] == value
    assert "server" not in answer.headers
    assert "set-cookie" not in answer.headers


def require_problem(answer: httpx.Response, slug: str) -> dict[str, Any]:
    """The problem document, if it is one and of this kind."""
    assert answer.status_code == PROBLEMS[slug].status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    require_safe(answer)
    document: dict[str, Any] = answer.json()
    assert MEMBERS <= set(document) <= MEMBERS | {"missing", "reason"}
    assert document["type"] == PREFIX + slug
    assert document["title"] == PROBLEMS[slug].title
    assert document["status"] == answer.status_code
    assert isinstance(document["detail"], str)
    assert document["detail"]
    assert not any(word in answer.text for word in ("Traceback", 'File "', ".py", "sqlalchemy", "sqlite3"))
    assert ("retry-after" in answer.headers) == PROBLEMS[slug].retryable
    if PROBLEMS[slug].retryable:
        assert int(answer.headers["retry-after"]) > 0
    assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
    return document


async def ask(
    client: httpx.AsyncClient, endpoint: Endpoint, token: str, *, campaign: str = "c1", **request: Any
) -> httpx.Response:
    """A request as somebody who may, with the media type that is right."""
    headers = {**bearer(token), **request.pop("headers", {})}
    if endpoint.accepts:
        headers = {"content-type": next(iter(endpoint.accepts)), **headers}
    return await client.request(endpoint.method, address(endpoint, campaign), headers=headers, **request)


UNKNOWN = (
    "/campaigns",
    "/v1",
    "/v1/",
    "/v2/keys",
    "/v1/keys/",
    "/health",
    "/v1/campaigns/",
    "/v1/Keys",
    "/%00",
    "/v1//keys",
)


def test_unknown_addresses(collector: CollectorService) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for path in UNKNOWN:
            for method in ("GET", "PUT", "POST", "DELETE", "OPTIONS", "BREW"):
                require_problem(await client.request(method, path), "not-found")

    with_client(collector, talk)


def test_unknown_campaigns(collector: CollectorService) -> None:
    """Bodies are as they should be, so that it is the name that is looked at."""
    token = collector.tokens.create("all")
    bodies = {
        "EnrolmentRequest": {"count": 1},
        "DeletionRequest": {"deletion_key": "ab" * 32},
        "OptInRecords": {"terms": "", "nonce": "5a" * 16, "records": []},
    }

    async def talk(client: httpx.AsyncClient) -> None:
        for campaign in ("none", "NONE", "a b", "%00", "..%2f", "a" * 65, "%ff", "-", "é"):
            for endpoint in OF_CAMPAIGNS:
                kind = next(iter(endpoint.accepts.values()), None)
                body = json.dumps(bodies.get(getattr(kind, "__name__", ""), {})).encode()
                require_problem(await ask(client, endpoint, token, campaign=campaign, content=body), "not-found")

    with_client(collector, talk)


def test_methods_that_an_address_does_not_know(collector: CollectorService) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for path, methods in PATHS.items():
            allowed = {*methods, "OPTIONS", *({"HEAD"} if "GET" in methods else ())}
            for method in {"GET", "PUT", "POST", "DELETE", "PATCH", "TRACE", "BREW"} - allowed:
                answer = await client.request(method, address(path))
                require_problem(answer, "method-not-allowed")
                assert answer.headers["allow"] == ", ".join(sorted(allowed))

    with_client(collector, talk)


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=named)
def test_bodies_that_are_not_taken(collector: CollectorService, endpoint: Endpoint) -> None:
    token = collector.tokens.create("all")
    max_bytes = collector.settings.max_body

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(max_bytes // 65536 + 1):
            yield b" " * 65536

    async def talk(client: httpx.AsyncClient) -> None:
        require_problem(await ask(client, endpoint, token, content=b" " * (max_bytes + 1)), "over-size")
        require_problem(await ask(client, endpoint, token, content=chunks()), "over-size")
        for kind in ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "*/*"):
            refused = await ask(client, endpoint, token, content=b"{}", headers={"content-type": kind})
            assert " or ".join(endpoint.accepts) in require_problem(refused, "unsupported-media-type")["detail"]
        packed = await ask(client, endpoint, token, content=b"{}", headers={"content-encoding": "gzip"})
        require_problem(packed, "unsupported-media-type")

    with_client(collector, talk)


MALFORMED = (b"", b"{", b"null", b"[]", b'{"more":1}', b"\xff\xfe", b"[" * 100_000, b"1" * 5000)


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=named)
def test_malformed_bodies(collector_with_list: tuple[CollectorService, str], endpoint: Endpoint) -> None:
    collector, token = collector_with_list

    async def talk(client: httpx.AsyncClient) -> None:
        for body in MALFORMED:
            require_problem(await ask(client, endpoint, token, content=body), "malformed")

    with_client(collector, talk)


@pytest.fixture(scope="module")
def list_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a campaign that takes reports; each test opens it anew."""
    folder = tmp_path_factory.mktemp("listed")
    collector = open_collector(folder)
    published_campaign(collector)
    token = collector.tokens.create("all")
    collector.close()
    return folder, token


@pytest.fixture
def collector_with_list(list_folder: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> tuple[CollectorService, str]:
    monkeypatch.setattr(endpoints, "_FAILURES", (0.0, 0.0))
    return open_collector(list_folder[0]), list_folder[1]


OUTSIDE: tuple[dict[str, Any], ...] = (
    {"epsilon": 5e-324, "method": "published"},
    {"epsilon": 0},
    {"delta": 0},
    {"expected_clients": 10**400},
    {"campaign": "A"},
    {"opt_in_until": "2026-11-15"},
    {"title": "\x07"},
)


def test_parameters_outside_their_range(collector: CollectorService) -> None:
    token = collector.tokens.create("all")

    async def talk(client: httpx.AsyncClient) -> None:
        for fields in OUTSIDE:
            answer = await client.post("/v1/campaigns", headers=bearer(token), json=terms_of(**fields))
            assert len(require_problem(answer, "invalid-parameter")["detail"]) < 1000

    with_client(collector, talk)


def test_problems_of_a_campaign_on_its_way(collector: CollectorService) -> None:
    token = bearer(collector.tokens.create("all"))
    published = published_campaign(collector, "c1")
    first, second = published.make(2)
    while (first.question, first.data) == (second.question, second.data):  # one pair in seventy is
        (second,) = published.make(1)
    collector.lifecycle.create(terms_of("c2"))

    def put(report: Any, binding: Binding = published.binding, report_id: bytes | None = None) -> dict[str, Any]:
        url = f"/v1/campaigns/c1/reports/{(report_id or report.report_id).hex()}"
        return {"url": url, "content": write_report(binding, report), "headers": {"content-type": REPORT_TYPE}}

    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.put(**put(first))).status_code == 201
        assert (await client.put(**put(first))).status_code == 200
        require_problem(await client.put(**put(replace(first, data=second.data, question=second.question))), "conflict")
        require_problem(await client.put(**put(first, report_id=second.report_id)), "over-quota")
        require_problem(await client.put(**put(second, Binding("00" * 32, published.binding.scheme))), "wrong-list")
        other = Binding(published.binding.manifest, "00" * 8)
        refused = require_problem(await client.put(**put(second, other)), "wrong-scheme")
        assert f"is {published.binding.scheme}, these reports say {other.scheme}" in refused["detail"]
        impossible = {
            **put(second),
            "content": write_report(published.binding, second).replace(b'"data":"', b'"data":"ffff'),
        }
        refused = require_problem(await client.put(**impossible), "impossible")
        form = published.manifest.scheme(published.head_list).questions[QUESTIONS[second.question]]
        assert refused["detail"].startswith(f"A report about the {form.name} has {form.report_bytes} byte")
        assert refused["detail"].endswith(f"These are {len(second.data) + 2} bytes: ffff{second.data.hex()}.")
        too_few = require_problem(await client.post("/v1/campaigns/c1/release", headers=token), "too-few")
        assert too_few["missing"] == 2
        for path in ("c1/publish", "c2/release"):
            require_problem(await client.post(f"/v1/campaigns/{path}", headers=token), "wrong-state")
        require_problem(await client.get("/v1/campaigns/c1/export", headers=token), "wrong-state")
        require_problem(await client.post("/v1/campaigns", headers=token, json=terms_of("c1")), "conflict")
        require_problem(await client.get("/v1/campaigns/c2/list"), "not-found")

    with_client(collector, talk)


def test_a_body_that_never_ends_arriving(tmp_path: Path) -> None:
    collector = open_collector(tmp_path, patience=0.1)

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(30)

    async def talk(client: httpx.AsyncClient) -> None:
        headers = {"content-type": "application/json"}
        require_problem(
            await client.post("/v1/campaigns/c1/deletions", content=slow(), headers=headers), "request-timeout"
        )

    with_client(collector, talk)


def test_a_sender_who_hangs_up(collector: CollectorService, log_lines: io.StringIO) -> None:
    """Nobody hears the answer; nothing fails, either."""
    app = make_app(lambda: collector)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/campaigns/c1/deletions",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    sent: list[Any] = []

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        async with app.router.lifespan_context(app):
            await app(scope, receive, send)

    asyncio.run(run())
    assert sent[0]["status"] == 400
    assert log_lines.getvalue() == ""


def test_too_many_requests_of_one_peer(tmp_path: Path) -> None:
    collector = open_collector(tmp_path, rate=1.0)

    async def talk(client: httpx.AsyncClient) -> None:
        answers = [await client.get("/v1/keys") for _ in range(12)]
        assert [one.status_code for one in answers[:10]] == [200] * 10
        require_problem(answers[-1], "rate-limited")
        assert answers[-1].headers["access-control-allow-origin"] == "*"
        elsewhere = httpx.ASGITransport(client._transport.app, client=("198.51.100.7", 1))  # type: ignore[attr-defined]
        async with httpx.AsyncClient(transport=elsewhere, base_url="http://collector.test") as other:
            assert (await other.get("/v1/keys")).status_code == 200

    with_client(collector, talk)


def test_too_many_requests_at_a_time(tmp_path: Path) -> None:
    """Whether the process answers is told all the same."""
    collector = open_collector(tmp_path, max_requests=1)
    published_campaign(collector)

    async def talk(client: httpx.AsyncClient) -> None:
        with collector.store.writing():  # nobody else can write meanwhile
            asked = client.post("/v1/campaigns/c1/deletions", json={"deletion_key": "ab" * 32})
            first = asyncio.create_task(asked)
            await asyncio.sleep(0.05)
            require_problem(await client.get("/v1/keys"), "busy")
            assert (await client.get("/health/live")).status_code == 200
        assert (await first).json() == {"deleted": False}
        assert (await client.get("/v1/keys")).status_code == 200

    with_client(collector, talk)


def test_who_sends_slowly_takes_nobodys_turn(tmp_path: Path) -> None:
    collector = open_collector(tmp_path, max_requests=1)
    going_on = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        await going_on.wait()
        yield b"{}"

    async def talk(client: httpx.AsyncClient) -> None:
        headers = {"content-type": "application/json"}
        address = "/v1/campaigns/c1/deletions"
        slowly = [asyncio.create_task(client.post(address, content=slow(), headers=headers)) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert (await client.get("/v1/keys")).status_code == 200
        going_on.set()
        assert {(await one).status_code for one in slowly} == {400}

    with_client(collector, talk)


def test_large_bodies_on_their_way_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One peer may have an eighth of it; others go on."""
    monkeypatch.setattr(endpoints, "_BODIES_ON_THEIR_WAY", 8 << 20)
    collector = open_collector(tmp_path)
    going_on = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b" " * 700_000
        await going_on.wait()
        yield b"{}"

    async def talk(client: httpx.AsyncClient) -> None:
        def post(sender: httpx.AsyncClient) -> Awaitable[httpx.Response]:
            headers = {"content-type": "application/json"}
            return asyncio.ensure_future(sender.post("/v1/campaigns/c1/deletions", content=slow(), headers=headers))

        elsewhere = httpx.ASGITransport(client._transport.app, client=("198.51.100.7", 1))  # type: ignore[attr-defined]
        async with httpx.AsyncClient(transport=elsewhere, base_url="http://collector.test") as other:
            first = post(client)
            await asyncio.sleep(0.05)
            require_problem(await post(client), "busy")
            others = post(other)
            await asyncio.sleep(0.05)
            going_on.set()
            assert {(await first).status_code, (await others).status_code} == {400}
            assert (await post(client)).status_code == 400, "what was taken was given back"

    with_client(collector, talk)


def test_a_full_line_in_front_of_a_stalled_store(tmp_path: Path) -> None:
    """Who is in line waits and is kept; who finds it full is told to come back."""
    collector = open_collector(tmp_path, max_waiting=5)
    published = published_campaign(collector)
    reports = published.make(7)
    headers = {"content-type": BATCH_TYPE}

    async def talk(client: httpx.AsyncClient) -> None:
        def post(some: list[Any]) -> Awaitable[httpx.Response]:
            body = write_batch(published.binding, some)
            return client.post("/v1/campaigns/c1/reports", content=body, headers=headers)

        with collector.store.writing():  # nobody else can write meanwhile
            first = asyncio.ensure_future(post(reports[:5]))
            while collector.intake.waiting < 5:
                await asyncio.sleep(0.01)
            require_problem(await post(reports[5:]), "busy")
            assert not first.done()
            assert (await client.get("/health/live")).status_code == 200
            assert (await client.get("/v1/keys")).status_code == 200
        assert (await first).json() == {"outcomes": ["accepted"] * 5}
        assert (await post(reports)).json() == {"outcomes": ["duplicate"] * 5 + ["accepted"] * 2}

    with_client(collector, talk)


def test_a_store_that_fails(collector: CollectorService) -> None:
    token = collector.tokens.create("all")
    collector.readiness.every = 0.0

    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.get("/health/ready")).json() == {"ready": True}
        with collector.store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE campaign RENAME TO elsewhere")
        for path in ("/health/ready", "/v1/campaigns", "/v1/campaigns/c1/terms", "/v1/campaigns/c1/status"):
            require_problem(await client.get(path, headers=bearer(token)), "busy")
        assert (await client.get("/health/live")).json() == {"live": True}

    with_client(collector, talk)


def test_a_store_that_is_full(collector: CollectorService) -> None:
    token = collector.tokens.create("all")
    collector.lifecycle.create(terms_of())

    async def talk(client: httpx.AsyncClient) -> None:
        event.listen(
            collector.store.engine,
            "checkout",
            lambda connection, *_: connection.execute("PRAGMA max_page_count = 1").close(),
        )
        answer = await client.post("/v1/campaigns/c1/enrolments", headers=bearer(token), json={"count": 10_000})
        require_problem(answer, "storage-full")
        assert (await client.get("/v1/campaigns")).status_code == 200

    with_client(collector, talk)


MESSAGE = "what somebody sent: secret-5a11"


def _fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError(MESSAGE)


@pytest.mark.parametrize(
    ("owner", "name", "method", "path"),
    [
        (public, "overview", "GET", "/v1/campaigns"),
        (public, "read_report", "PUT", "/v1/campaigns/c1/reports/" + "ab" * 16),
        (ReportIntake, "submit", "PUT", "/v1/campaigns/c1/reports/" + "ab" * 16),
        (OperatorTokens, "scopes_of", "GET", "/metrics"),
        (CollectorService, "forget_report", "POST", "/v1/campaigns/c1/deletions"),
    ],
)
def test_failures_tell_nothing(
    collector: CollectorService,
    log_lines: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    method: str,
    path: str,
) -> None:
    published = published_campaign(collector)
    body, kind = write_report(published.binding, published.make(1)[0]), REPORT_TYPE
    if path.endswith("deletions"):
        body, kind = json.dumps({"deletion_key": "ab" * 32}).encode(), "application/json"
    monkeypatch.setattr(owner, name, _fails)

    async def talk(client: httpx.AsyncClient) -> None:
        headers = {**bearer("x"), "content-type": kind}
        answer = await client.request(method, path, content=body, headers=headers)
        require_problem(answer, "internal")
        assert "secret" not in answer.text
        assert "RuntimeError" not in answer.text

    with_client(collector, talk)
    lines = [json.loads(line) for line in log_lines.getvalue().splitlines()]
    (line,) = [line for line in lines if line["level"] == "error"]
    assert (line["event"], line["error"]) == ("request failed", "RuntimeError")
    assert line["at"].startswith("_fails:")
    assert "secret" not in log_lines.getvalue()
    assert "ab" * 16 not in log_lines.getvalue()


@pytest.mark.parametrize("endpoint", INTERFACE, ids=named)
def test_headers_of_every_answer(collector_with_list: tuple[CollectorService, str], endpoint: Endpoint) -> None:
    """Of pages of other origins, only what needs no operator may be called."""
    collector, token = collector_with_list
    open_to_pages = endpoint.access in ("public", "enrolment")

    async def talk(client: httpx.AsyncClient) -> None:
        headers = {"origin": "https://elsewhere.example"}
        asked = ["none"] if endpoint.method == "DELETE" else ["none", "c1"]
        answers = [await ask(client, endpoint, token, campaign=name, headers=headers, content=b"") for name in asked]
        answers.append(await client.request(endpoint.method, address(endpoint, "none"), headers=headers))
        for answer in answers:
            require_safe(answer)
            assert answer.headers.get("access-control-allow-origin") == ("*" if open_to_pages else None)
            assert "access-control-allow-credentials" not in answer.headers
            assert "strict-transport-security" not in answer.headers
        preflight = {**headers, "access-control-request-method": endpoint.method}
        answer = await client.options(address(endpoint), headers=preflight)
        assert answer.status_code == 204
        assert answer.content == b""
        require_safe(answer)
        methods = answer.headers.get("access-control-allow-methods", "").split(", ")
        assert (endpoint.method in methods) == open_to_pages
        assert endpoint.method in answer.headers["allow"].split(", ")
        if open_to_pages:
            assert answer.headers["access-control-allow-origin"] == "*"
            assert answer.headers["access-control-allow-headers"] == "authorization, content-type"

    with_client(collector, talk)


def test_head_is_get_without_a_body(collector_with_list: tuple[CollectorService, str]) -> None:
    collector, token = collector_with_list

    async def talk(client: httpx.AsyncClient) -> None:
        for endpoint in GETS:
            got = await ask(client, endpoint, token)
            head = await client.head(address(endpoint), headers=bearer(token))
            assert head.status_code == got.status_code
            if endpoint.path != "/metrics":
                assert head.headers == got.headers

    with_client(collector, talk)


def test_what_never_changes_may_be_kept(collector_with_list: tuple[CollectorService, str]) -> None:
    collector, _ = collector_with_list

    async def talk(client: httpx.AsyncClient) -> None:
        answer = await client.get("/v1/campaigns/c1/list")
        assert answer.headers["cache-control"] == "public, max-age=86400, immutable"
        manifest = (await client.get("/v1/campaigns/c1/manifest")).headers
        assert manifest["cache-control"] == "public, no-cache", "a key may still sign it"

    with_client(collector, talk)
