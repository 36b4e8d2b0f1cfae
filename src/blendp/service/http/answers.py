"""What is sent back: JSON with safe headers, or a problem document (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Scope, Send

from blendp.service.refusal import Refused
from blendp.wire.media_types import JSON_TYPE, PROBLEM_TYPE
from blendp.wire.problems import ProblemDocument

SAFE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_RAW_SAFE = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in SAFE.items())
_RETRY_SECONDS = 30
REVALIDATED = "public, no-cache"
"""For what may be kept, and is asked for by its entity tag before it is used."""

IMMUTABLE = "public, max-age=86400, immutable"
"""For what never changes once it is there."""


CHUNK_BYTES = 1 << 15
"""A larger answer is sent in pieces of this, each when the peer has taken most of those before."""


async def send(response: Response, scope: Scope, send_message: Send) -> None:
    """Send an answer; what many read at a time is one object, of which each connection has a small piece."""
    head = {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
    await send_message(head)
    body = bytes(response.body) if scope["method"] != "HEAD" else b""
    if len(body) <= CHUNK_BYTES:
        await send_message({"type": "http.response.body", "body": body})
        return
    last = (len(body) - 1) // CHUNK_BYTES * CHUNK_BYTES
    for start in range(0, last, CHUNK_BYTES):
        piece = body[start : start + CHUNK_BYTES]
        await send_message({"type": "http.response.body", "body": piece, "more_body": True})
    await send_message({"type": "http.response.body", "body": body[last:]})


def answer(
    value: Any, status: int = 200, *, media_type: str = JSON_TYPE, headers: Mapping[str, str] | None = None
) -> Response:
    """A value as JSON, or bytes as they are."""
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return Response(body, status, {**SAFE, **headers}, media_type) if headers else _Safe(body, status, media_type)


def not_modified(headers: Mapping[str, str]) -> Response:
    """What was asked for is what the asker has."""
    response = Response(b"", 304, {**SAFE, **headers})
    response.raw_headers = [header for header in response.raw_headers if header[0] != b"content-length"]
    return response


class _Safe(Response):
    """An answer with the safe headers, which are not put together again for each, and few of its own."""

    def __init__(self, body: bytes, status: int, media_type: str, *more: tuple[bytes, bytes]) -> None:
        self.body, self.status_code, self.media_type, self.background = body, status, media_type, None
        own = ((b"content-length", b"%d" % len(body)), (b"content-type", media_type.encode("latin-1")))
        self.raw_headers = [*_RAW_SAFE, *own, *more]


def problem(refused: Refused) -> Response:
    """A refusal as a problem document."""
    kind = refused.problem
    document = ProblemDocument(kind.type, kind.title, kind.status, refused.detail, **refused.members)
    more = []
    if kind.retryable:
        more.append((b"retry-after", b"%d" % (refused.retry_after or _RETRY_SECONDS)))
    if kind.status == 401:
        more.append((b"www-authenticate", b'Bearer realm="blendp"'))
    return _Safe(msgspec.json.encode(document), kind.status, PROBLEM_TYPE, *more)
