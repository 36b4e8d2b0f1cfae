"""Connections that end in time: whatever is waited for, one moment ends all waiting of a request.

A timeout bounds each wait, and thus nothing: a server that sends a byte of its head now and then holds a device for
ever. Here every wait, from connecting over the handshake to the last byte of the answer, is cut to what remains.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore
import httpx

MAX_ADDRESSES = 8
"""How many of a name's addresses are tried."""


class Deadline:
    """The moment at which a request has to be over."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """No moment yet."""
        self._monotonic, self._end = monotonic, math.inf

    def end_at(self, moment: float) -> None:
        """Have the next request end at this moment."""
        self._end = moment

    @property
    def remaining(self) -> float:
        """Seconds until then; negative afterwards."""
        return self._end - self._monotonic()

    def within(self, timeout: float | None, late: type[httpcore.TimeoutException]) -> float:
        """The part of a timeout that is left; raises if none is."""
        remaining = self.remaining
        if remaining <= 0:
            raise late("The whole request took too long.")
        return min(remaining, math.inf if timeout is None else timeout)


class BoundedTransport(httpx.HTTPTransport):
    """httpx's transport over connections that keep to a deadline."""

    def __init__(self, deadline: Deadline, context: ssl.SSLContext) -> None:
        """Certificates are believed as the context says."""
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=BoundedBackend(deadline))


class BoundedBackend(httpcore.NetworkBackend):
    """Opens connections."""

    def __init__(self, deadline: Deadline) -> None:
        """Connections that keep to this deadline."""
        self._deadline, self._backend = deadline, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first address of a host that answers."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address.")
        for address in _addresses(host, port):
            within = self._deadline.within(timeout, httpcore.ConnectTimeout)
            try:
                stream = self._backend.connect_tcp(address, port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _BoundedStream(stream, self._deadline)
        raise failure


class _BoundedStream(httpcore.NetworkStream):
    """A connection every wait of which ends by the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.within(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all; the stream's own loop would begin the wait anew after every part that is taken."""
        connection, rest = self._stream.get_extra_info("socket"), memoryview(buffer)
        while rest:
            connection.settimeout(self._deadline.within(timeout, httpcore.WriteTimeout))
            try:
                rest = rest[connection.send(rest) :]
            except TimeoutError as error:
                raise httpcore.WriteTimeout(str(error)) from error
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        within = self._deadline.within(timeout, httpcore.ConnectTimeout)
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, within), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _addresses(host: str, port: int) -> list[str]:
    """The first few addresses of a host; a name with thousands of them must not hold a device for as many timeouts."""
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(one[4][0]) for one in known))[:MAX_ADDRESSES]
