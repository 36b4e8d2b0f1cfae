"""Pages for people's browsers: which headers they come with, what is read of the disk, and how large they are."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from blendp.service.http import pages
from blendp.service.http.pages import web_files
from tests.service.helpers import open_collector, terms_of, with_client

Talk = Callable[[httpx.AsyncClient], Awaitable[None]]
PAGES = {
    "/": "index.html",
    "/console": "console.html",
    "/campaigns/c1": "campaign.html",
    "/campaigns/c1/search": "search.html",
}
BESIDE = {
    "/campaigns/c1/search-worker.js": "text/javascript; charset=utf-8",
    "/campaigns/c1/search.webmanifest": "application/manifest+json",
}
MAX_SCRIPT, MAX_STYLE = 60_000, 8_000
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "worker-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
}
TYPES = {
    "index.html": "'none'",
    "console.html": "'none'",
    "campaign.html": "'none'",
    "search.html": "blendp-search-worker",
}
NO_APP = ("manifest-src", "worker-src")
"""What the console may not do: it is no app, and no worker sees a token."""


def talk_to(tmp_path: Path, talk: Talk, **settings: Any) -> None:
    """A conversation with a collector that has one campaign, and had another."""
    collector = open_collector(tmp_path, **settings)
    collector.lifecycle.create(terms_of("c1"))
    collector.lifecycle.create(terms_of("gone"))
    collector.lifecycle.delete("gone")
    with_client(collector, talk)


def policy_of(answer: httpx.Response) -> dict[str, str]:
    directives = answer.headers["content-security-policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


def assets_of(html: str) -> list[str]:
    """The addresses that a page loads, as it spells them."""
    return re.findall(r'(?:src|href)="([^"#]*assets/[^"]+)"', html)


def test_every_page_is_served_under_its_policy(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for address, name in PAGES.items():
            answer = await client.get(address)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            policy = {**POLICY, "trusted-types": TYPES[name]}
            if name == "console.html":
                policy = {directive: value for directive, value in policy.items() if directive not in NO_APP}
            assert policy_of(answer) == policy
            for header, value in {
                "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
                "cross-origin-opener-policy": "same-origin",
                "cross-origin-resource-policy": "same-origin",
                "x-dns-prefetch-control": "off",
                "x-frame-options": "DENY",
                "cache-control": "public, no-cache",
                "vary": "accept-encoding",
            }.items():
                assert answer.headers[header] == value
            assert "access-control-allow-origin" not in answer.headers
            assert "set-cookie" not in answer.headers

    talk_to(tmp_path, talk)


def test_pages_load_their_own_files_by_relative_addresses_and_nothing_else(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for address in PAGES:
            page = await client.get(address)
            loaded = assets_of(page.text)
            assert sorted(one.rpartition(".")[2] for one in loaded) == ["css", "js", "svg"]
            for one in loaded:
                assert not one.startswith(("/", "http"))
                answer = await client.get(str(page.url.join(one)))
                assert answer.status_code == 200
                assert answer.headers["cache-control"] == "public, max-age=86400, immutable"
                assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            assert not re.search(r"https?://|<style|<script>| on\w+=| style=", page.text)

    talk_to(tmp_path, talk)


def test_the_worker_may_fetch_and_nothing_else(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for address, media_type in BESIDE.items():
            answer = await client.get(address)
            assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
            assert answer.headers["cache-control"] == "public, no-cache"
        worker = await client.get("/campaigns/c1/search-worker.js")
        assert policy_of(worker) == {"default-src": "'none'", "connect-src": "'self'"}
        app = json.loads((await client.get("/campaigns/c1/search.webmanifest")).content)
        assert app["start_url"] == app["scope"] == app["id"] == "search"
        for icon in app["icons"]:
            answer = await client.get(f"/campaigns/c1/{icon['src']}")
            assert answer.headers["content-type"] == icon["type"]

    talk_to(tmp_path, talk)


def test_a_campaign_that_is_not_there_has_a_page_with_the_status_404(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for campaign in ("gone", "unknown", "NOT-A-NAME", "%2e%2e", "a%00b"):
            for end, name in (("", "campaign.html"), ("/search", "search.html")):
                answer = await client.get(f"/campaigns/{campaign}{end}")
                assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
                assert answer.headers["content-type"] == "text/html; charset=utf-8"
                assert answer.content == web_files()[name].plain.body
            for address in BESIDE:
                answer = await client.get(address.replace("c1", campaign))
                assert (answer.status_code, answer.json()["type"]) == (404, "urn:blendp:problem:not-found")

    talk_to(tmp_path, talk)


def test_browsers_get_what_they_take_and_are_told_what_they_have(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        for accepted, is_zipped in [
            ("gzip", True),
            ("br;q=1.0, GZIP;q=0.5, *;q=0.1", True),
            ("gzip;q=0", False),
            ("gzip; q=0.000, br", False),
            ("br, x-gzip", False),
            ("identity", False),
            ("", False),
        ]:
            headers = {"accept-encoding": accepted}
            async with client.stream("GET", "/", headers=headers) as answer:
                raw = b"".join([part async for part in answer.aiter_raw()])
            file = web_files()["index.html"]
            assert ("content-encoding" in answer.headers) == is_zipped
            assert raw == (file.gzipped if is_zipped else file.plain).body
            assert (gzip.decompress(raw) if is_zipped else raw) == file.plain.body
            again = await client.get("/", headers={**headers, "if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["content-security-policy"] == answer.headers["content-security-policy"]
            head = await client.head("/", headers=headers)
            assert (head.content, head.headers["content-length"]) == (b"", str(len(raw)))

    talk_to(tmp_path, talk)


def test_nothing_of_an_address_is_looked_up_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        monkeypatch.setattr(pages, "files", lambda _: pytest.fail("read again"))
        for asset in ("index.html", "..%2findex.html", "%2e%2e", "nothing.js", "..%5cindex.html", "a%00.js", ""):
            assert (await client.get(f"/assets/{asset}")).status_code == 404
        assert (await client.get("/")).status_code == 200

    talk_to(tmp_path, talk)


def test_pages_pass_the_same_guard_as_everything_else(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        statuses = [(await client.get("/")).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        assert (await client.post("/")).status_code == 429

    talk_to(tmp_path, talk, rate=0.2)


def test_other_methods_are_not_known(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        answer = await client.post("/campaigns/c1")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
        preflight = await client.options("/", headers={"origin": "https://elsewhere.example"})
        assert "access-control-allow-methods" not in preflight.headers

    talk_to(tmp_path, talk)


@pytest.mark.parametrize("page", TYPES)
def test_a_page_is_small(page: str) -> None:
    by_kind = {"js": 0, "css": 0}
    for address in assets_of(web_files()[page].plain.body.decode()):
        kind = address.rpartition(".")[2]
        if kind in by_kind:
            by_kind[kind] += len(web_files()[f"assets/{address.rpartition('/')[2]}"].gzipped.body)
    assert 0 < by_kind["js"] <= MAX_SCRIPT
    assert 0 < by_kind["css"] <= MAX_STYLE


def test_the_worker_keeps_exactly_what_the_search_page_loads() -> None:
    loaded = {address.rpartition("/")[2] for address in assets_of(web_files()["search.html"].plain.body.decode())}
    kept = set(re.findall(r'"(\w+-[0-9a-f]{12}\.\w+)"', web_files()["search-worker.js"].plain.body.decode()))
    assert kept == loaded
