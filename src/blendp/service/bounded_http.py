"""HTTP with a bound on everything that a peer sends before a handler sees it: bytes, headers, requests, time.

What is used of uvicorn beyond its settings, all of ``HttpToolsProtocol``: the callbacks of its parser (``on_...``),
``transport``, ``flow``, ``pipeline``, ``app``, ``headers``, ``send_400_response``, and of ``cycle`` whether an answer
has begun or is complete, ``keep_alive``, ``disconnected`` and ``message_event``. So ``pyproject.toml`` names the
version that this was tested with.
"""

from __future__ import annotations

import asyncio
import http
import socket
import struct
from contextlib import suppress
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from blendp.service.door import DOOR, Door
from blendp.service.http.answers import problem, send
from blendp.service.one_packet import OnePacket
from blendp.service.refusal import Refused

_BUFFERED_BYTES = 1 << 14
"""Bytes that a peer has not taken from which on nothing more is written: whoever answers waits."""

MAX_HEAD_BYTES = 1 << 14
"""Bytes of a request's head, its first line included; also of what a chunked body has around its chunks."""

_MAX_HEADERS = 100
_MAX_PIPELINED = 16
"""Requests that may wait on one connection for the answers to those before."""

_AT_ONCE = struct.pack("ii", 1, 0)
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 20
"""How long a connection that was refused is listened to, so that the refusal arrives before the end."""


_BETWEEN, _HEAD, _BODY = range(3)
"""Where in a request a connection is."""


class _Stop(Exception):  # noqa: N818 - no failure: the parser shall go no further
    """Raised within the parser."""


class Entrance(asyncio.Protocol):
    """A connection that was accepted: it is let in or not, before anything is read; then TLS begins, or HTTP."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """As the web server makes one for every connection."""
        self._config, self._server_state, self._app_state = config, server_state, app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._door: Door = app_state[DOOR]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, or not."""
        address = str((transport.get_extra_info("peername") or ("",))[0])
        peer = self._door.admit(address)
        if peer is None:
            transport.abort()
        elif self._door.tls is None:
            speaker = self._speaker(address, peer)
            transport.set_protocol(speaker)
            speaker.connection_made(transport)
        else:
            self._hand_over(transport, address, peer)

    def _speaker(self, address: str, peer: str) -> BoundedHttp:
        return BoundedHttp(self._config, self._server_state, self._app_state, self._loop, address=address, peer=peer)

    def _hand_over(self, transport: asyncio.Transport, address: str, peer: str) -> None:
        """Begin TLS on a second descriptor of the socket, and drop the first, of which nothing was read yet."""
        try:
            second = socket.socket(fileno=socket.dup(transport.get_extra_info("socket").fileno()))
        except OSError:
            self._door.leave(peer)
            return
        finally:
            transport.abort()
        second.setblocking(False)
        _Handshake(self._door, self._speaker(address, peer), second).start(self._server_state.tasks)


class _Handshake:
    """TLS is being agreed upon."""

    idle, half_told = False, True

    def __init__(self, door: Door, speaker: BoundedHttp, connection: socket.socket) -> None:
        self._door, self._speaker, self._connection = door, speaker, connection
        self._task: asyncio.Task[None] | None = None

    def start(self, tasks: set[asyncio.Task[None]]) -> None:
        """Begin; the web server waits for its tasks when it stops, or cancels them."""
        self._door.enter(self._speaker.peer, self)
        self._task = self._speaker.loop.create_task(self._shake_hands())
        self._task.add_done_callback(tasks.discard)
        tasks.add(self._task)

    def review(self, now: float) -> None:
        """The event loop has a clock of its own for this."""

    def dismiss(self) -> None:
        """Make room."""
        self.half_told = False
        if self._task is not None:
            self._task.cancel()

    async def _shake_hands(self) -> None:
        """Speak HTTP once the handshake is done; until then it is counted here."""
        seconds = self._door.patience.head
        try:
            await self._speaker.loop.connect_accepted_socket(
                lambda: self._speaker,
                self._connection,
                ssl=self._door.tls,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=seconds,
            )
        except OSError:  # those of TLS, of time and of peers who hang up are among them
            self._door.refused("handshake", self._speaker.address)
        finally:
            self._door.forget(self._speaker.peer, self)
            if not self._speaker.entered:
                self._door.leave(self._speaker.peer)


class BoundedHttp(OnePacket):
    """One connection, once it is let in."""

    def __init__(self, *arguments: Any, address: str, peer: str) -> None:
        """Of this peer."""
        super().__init__(*arguments)
        self.address, self.peer = address, peer
        self._door: Door = self.app_state[DOOR]
        self._patience = self._door.patience
        self.entered = False
        self._stage = _BETWEEN
        self._head_bytes = 0
        self._bare, self._bare_bytes = False, 0
        self._heads = 0
        self._trailers = 0
        self._refusal: Refused | None = None
        self._reason = ""
        self._deaf = False
        self._ignored_bytes = 0
        self._deadline: float | None = None
        self._awaited: tuple[int, int] | None = None
        self._taken, self._taken_since = -1, 0.0

    # What the event loop tells

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first head is due."""
        transport.set_write_buffer_limits(high=_BUFFERED_BYTES)
        super().connection_made(transport)
        self.entered = True
        self._door.enter(self.peer, self)
        self._deadline = self.loop.time() + self._patience.head
        if self._door.misdirected(self.address):
            self._door.refused("not the proxy", self.address)
            self.app = _send_elsewhere

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone."""
        self._door.forget(self.peer, self)
        self._door.leave(self.peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on in small pieces, as far as the bounds allow."""
        heads = self._heads
        if len(data) <= MAX_HEAD_BYTES - self._head_bytes:
            self._read(data)
        else:
            rest = memoryview(data)
            while rest:
                size = MAX_HEAD_BYTES - self._head_bytes
                self._read(rest[:size])
                rest = rest[size:]
        if not self._deaf:
            self._wait_for_the_rest(self._heads > heads)

    def _read(self, piece: bytes | memoryview) -> None:
        if self._deaf:
            self._ignore(len(piece))
            return
        heads, self._bare = self._heads, True
        super().data_received(piece)  # type: ignore[arg-type]
        if self._deaf:
            return
        if self._stage == _BODY or self._heads > heads:
            self._head_bytes = 0
            self._bare_bytes = self._bare_bytes + len(piece) if self._bare and self._heads == heads else 0
            if self._bare_bytes > MAX_HEAD_BYTES:
                self._refuse("body", Refused("malformed", "The body has too much around its chunks."))
        else:
            self._head_bytes += len(piece)
            if self._head_bytes >= MAX_HEAD_BYTES:
                self._head_bytes = 0
                self._refuse("head size", _head_too_large())

    def _wait_for_the_rest(self, progress: bool) -> None:
        """Set the clock for what is half told; it runs on if it was set for the same before."""
        if self._stage == _BETWEEN and progress:
            self._deadline = self._awaited = None
            return
        awaited = (_BODY if self._stage == _BODY else _HEAD, self._heads)
        if awaited != self._awaited:
            self._awaited = awaited
            limit = self._patience.arrival if awaited[0] == _BODY else self._patience.head
            self._deadline = self.loop.time() + limit

    # What the parser tells

    def on_message_begin(self) -> None:
        """A head begins."""
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._end_after_answers()
            raise _Stop
        self._stage = _HEAD
        self._trailers = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One more; those behind a body are nobody's business."""
        if self._stage == _BODY:
            self._trailers += 1
        else:
            super().on_header(name, value)
        if self._trailers > _MAX_HEADERS or len(self.headers) > _MAX_HEADERS:
            self._reason, self._refusal = "head size", _head_too_large()
            raise _Stop

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._stage = _BODY
        self._heads += 1
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._bare = False
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._stage = _BETWEEN
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the web server's words are not used
        """What cannot be parsed, or is too much, is refused as everything else is."""
        if not self._deaf:
            refusal = self._refusal or Refused("malformed", "This is not HTTP/1.1.")
            self._refuse(self._reason or "malformed", refusal)

    # What the watch asks

    @property
    def idle(self) -> bool:
        """Whether nothing is under way; a connection that has not said anything yet is not idle but half told."""
        quiet = self._deadline is None and self._stage == _BETWEEN and not self._deaf
        return quiet and not self._answering and not self.transport.is_closing()

    @property
    def half_told(self) -> bool:
        """Whether a request is due, and no other is being answered."""
        answering = self._answering and self._stage != _BODY
        return not (self._deadline is None or self._deaf or answering or self.transport.is_closing())

    def dismiss(self) -> None:
        """Make room."""
        if self.idle:
            self.transport.abort()  # over TLS a polite end waits for the peer, who would be counted for as long
        else:
            self._drop()

    def review(self, now: float) -> None:
        """Close what takes too long."""
        if self._stalled(now):
            self._door.refused("answer not taken")
            self._drop()
        elif self._deadline is not None and now >= self._deadline and not self.transport.is_closing():
            self._give_up(now)

    def _stalled(self, now: float) -> bool:
        """Whether there is something to take, or the connection is closing, and nothing happened for long."""
        taken = self.gathering.taken
        waits = self.transport.get_write_buffer_size() > 0 or self.transport.is_closing()
        if not waits or taken != self._taken:
            self._taken, self._taken_since = taken, now
        return bool(now - self._taken_since > self._patience.answer)

    def _give_up(self, now: float) -> None:
        if self._deaf:
            self.transport.close()
        elif self._stage == _BODY:
            self._give_up_body(now)
        elif self._answering:
            self._door.refused("head time", self.address)
            self._end_after_answers()
        elif self._stage == _BETWEEN and self._head_bytes == 0:
            self._door.refused("head time", self.address)
            self.transport.close()
        else:
            self._refuse("head time", Refused("request-timeout", "The head took too long to arrive.", retry_after=5))
            self.transport.close()

    def _give_up_body(self, now: float) -> None:
        """Unless it is this side that does not read on."""
        if self.flow.read_paused:
            self._deadline = now + self._patience.body
            return
        self._door.refused("body time", self.address)
        self._drop()

    # Refusing

    @property
    def _answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return bool(self.pipeline) or (cycle is not None and not cycle.response_complete)

    def _end_after_answers(self) -> None:
        """Hear no more, answer what was asked, and close."""
        self._deaf, self._deadline = True, None
        last = self.pipeline[0][0] if self.pipeline else self.cycle
        last.keep_alive = False

    def _refuse(self, reason: str, refusal: Refused) -> None:
        """Say why, if nothing else is being said, and close soon."""
        self._door.refused(reason, self.address)
        if self._answering and self._stage != _BODY:
            self._end_after_answers()
            return
        if self.pipeline or (self._answering and self.cycle.response_started):
            self._drop()
            return
        if self._answering:
            self._send_handler_home()
        self._deaf, self._deadline = True, self.loop.time() + _LINGER_SECONDS
        self.transport.write(self._written(refusal))

    def _drop(self) -> None:
        """Close at once; the system shall forget what it holds of an answer, too."""
        self._deaf = True
        with suppress(OSError):
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _send_handler_home(self) -> None:
        """The body that a handler waits for will never be whole, and somebody else answers."""
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def _written(self, refusal: Refused) -> bytes:
        response = problem(refusal)
        status = http.HTTPStatus(response.status_code)
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(b"%s: %s\r\n" % header for header in headers)
        return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (status, status.phrase.encode(), lines, bytes(response.body))

    def _ignore(self, size: int) -> None:
        """Listen without hearing, but not for long."""
        self._ignored_bytes += size
        if self._ignored_bytes > _LINGER_BYTES and self._deadline is not None:
            self.transport.close()


def _head_too_large() -> Refused:
    return Refused("head-too-large", f"A head may have {MAX_HEAD_BYTES} bytes and {_MAX_HEADERS} headers: send less.")


async def _send_elsewhere(scope: Any, _receive: Any, send_message: Any) -> None:
    """The answer to everybody who comes past the proxy."""
    response = problem(Refused("misdirected", "This collector is reached through its proxy alone.", retry_after=60))
    response.raw_headers.append((b"connection", b"close"))
    await send(response, scope, send_message)
