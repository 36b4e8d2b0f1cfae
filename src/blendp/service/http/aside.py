"""Slow work for whoever asks."""

from __future__ import annotations

from blendp.service.http.endpoints import Call
from blendp.service.tokens import operator_id


async def done_aside(call: Call, kind: str, request: bytes) -> bytes:
    """What this kind of work makes of a request, in the part of the line that the holder of the token has."""
    whose = operator_id(call.request.headers["authorization"].partition(" ")[2])
    return await call.collector.side_work.result(kind, request, whose)
