"""The web server's protocol, made to send an answer's head and body together.

It writes them one after the other, and uvloop passes every write on at once: two system calls and two packets for every
answer. Here writes of one turn of the event loop are sent as one.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

GATHERED_BYTES = 1 << 15
"""What is larger does not wait, so that senders of much are slowed down as ever."""


class OnePacket(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, over a transport that gathers."""

    gathering: Gathering

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        self.gathering = Gathering(transport, self.loop)
        super().connection_made(cast(asyncio.Transport, self.gathering))


class Gathering:
    """A transport whose writes wait for the end of the event loop's turn; all else is the transport's own."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Around a transport."""
        self._transport, self._loop = transport, loop
        self._gathered: list[bytes] = []
        self._size = 0
        self._passed_on = 0

    def write(self, data: bytes) -> None:
        """Send this, soon."""
        if not self._gathered:
            self._loop.call_soon(self._send)
        self._gathered.append(data)
        self._size += len(data)
        if self._size > GATHERED_BYTES:
            self._send()

    def close(self) -> None:
        """Close, after everything was sent."""
        self._send()
        self._transport.close()

    @property
    def taken(self) -> int:
        """Bytes that the peer, or the system on the way to it, has taken so far."""
        return self._passed_on - self._transport.get_write_buffer_size()

    def _send(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._size, size = 0, self._size
        if gathered and not self._transport.is_closing():
            self._passed_on += size
            self._transport.write(b"".join(gathered))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
