"""An answer's head and body leave together, in their order, and before the connection closes."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from blendp.service.one_packet import OnePacket

_REQUEST = b"GET / HTTP/1.1\r\nhost: here\r\n%s\r\n"


class _Transport(asyncio.Transport):
    """Notes what is written, and whether it was closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 80)})
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def _app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


async def _asked(*requests: bytes, left: bool = False) -> _Transport:
    config = Config(_app, http=OnePacket, log_config=None, server_header=False, date_header=False)
    config.load()
    transport = _Transport()
    protocol = OnePacket(config=config, server_state=ServerState(), app_state={})
    protocol.connection_made(transport)
    for request in requests:
        protocol.data_received(request)
        transport.closed = left
        for _ in range(5):
            await asyncio.sleep(0)
    return transport


def test_one_answer_is_one_write() -> None:
    transport = asyncio.run(_asked(_REQUEST % b""))
    assert transport.written == [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"]
    assert not transport.closed


def test_answers_to_requests_after_each_other_stay_apart() -> None:
    transport = asyncio.run(_asked(_REQUEST % b"", _REQUEST % b""))
    assert len(transport.written) == 2


def test_all_is_sent_before_the_connection_closes() -> None:
    transport = asyncio.run(_asked(_REQUEST % b"connection: close\r\n"))
    assert transport.closed
    assert b"".join(transport.written).endswith(b"\r\n\r\nhello")


def test_nothing_is_sent_to_who_left() -> None:
    transport = asyncio.run(_asked(_REQUEST % b"", left=True))
    assert transport.written == []
