"""Lists and signed documents: sent in pieces, shared, and not sent to who has them."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import httpx
import pytest

from blendp.service.http.answers import CHUNK_BYTES, answer, send
from blendp.service.http.documents import Shelf
from tests.service.helpers import open_collector, published_campaign, with_client

DOCUMENTS = ("terms", "manifest", "list")


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_long_answer_is_sent_in_pieces(size: int, method: str) -> None:
    messages: list[Any] = []

    async def keep(message: Any) -> None:
        messages.append(message)

    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    asyncio.run(send(answer(body), {"method": method}, keep))
    assert dict(messages[0]["headers"])[b"content-length"] == str(size).encode()
    assert b"".join(message["body"] for message in messages[1:]) == (body if method == "GET" else b"")
    assert max(len(message["body"]) for message in messages[1:]) <= CHUNK_BYTES
    assert [message.get("more_body", False) for message in messages[1:]] == [True] * (len(messages) - 2) + [False]


def test_who_has_a_document_is_told_so(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)

    async def talk(client: httpx.AsyncClient) -> None:
        for name in DOCUMENTS:
            address = f"/v1/campaigns/c1/{name}"
            whole = await client.get(address)
            tag = whole.headers["etag"]
            for asked in (tag, f"W/{tag}", f'"other", {tag}', "*"):
                for method in ("GET", "HEAD"):
                    short = await client.request(method, address, headers={"if-none-match": asked})
                    assert (short.status_code, short.content, short.headers["etag"]) == (304, b"", tag)
                    assert "content-length" not in short.headers
                    assert short.headers["cache-control"] == whole.headers["cache-control"]
                    assert short.headers["x-content-type-options"] == "nosniff"
            for asked in ('"other"', tag[1:-1], ""):
                again = await client.get(address, headers={"if-none-match": asked})
                assert (again.status_code, again.content) == (200, whole.content)

    with_client(collector, talk)


def test_a_document_that_is_signed_anew_is_another(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)

    async def talk(client: httpx.AsyncClient) -> None:
        before = await client.get("/v1/campaigns/c1/manifest")
        collector.lifecycle.rotate_keys(30)
        after = await client.get("/v1/campaigns/c1/manifest", headers={"if-none-match": before.headers["etag"]})
        assert after.status_code == 200
        assert after.headers["etag"] != before.headers["etag"]

    with_client(collector, talk)


def test_a_list_that_was_deleted_is_sent_to_nobody(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)

    async def talk(client: httpx.AsyncClient) -> None:
        tag = (await client.get("/v1/campaigns/c1/list")).headers["etag"]
        collector.lifecycle.delete("c1")
        for headers in ({}, {"if-none-match": tag}):
            assert (await client.get("/v1/campaigns/c1/list", headers=headers)).status_code == 404

    with_client(collector, talk)


def test_readers_share_a_document_and_nobody_else_keeps_it() -> None:
    shelf = Shelf()
    first = shelf.get(1, lambda: b"a" * 1000)
    assert shelf.get(1, lambda: b"never read") is first
    assert shelf.same(b"b" * 1000) is not first
    other = shelf.same(b"b" * 1000)
    assert shelf.same(b"b" * 1000) is other
    del first
    gc.collect()
    assert shelf.get(1, lambda: b"read again").body == b"read again"
