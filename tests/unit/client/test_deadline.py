"""A request is over in time, whatever the other side does: a server that drips, stalls, or does not read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpcore
import pytest

from blendp.client import Http, NetworkError
from blendp.client import http as http_module
from blendp.client.deadline import MAX_ADDRESSES, BoundedBackend, Deadline

LIMIT, PAUSE, MOST = 0.4, 0.02, 1500
"""Seconds for a request, seconds between bytes, and after how many of them a server of these tests gives up."""

Talk = Callable[[socket.socket, threading.Event], None]


@contextmanager
def serving(talk: Talk) -> Iterator[str]:
    """The address of a server that talks like this to everybody, until the test is over."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    try:
                        talk(connection, over)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            over.set()
            thread.join()


def drip(connection: socket.socket, over: threading.Event, text: bytes) -> None:
    for number in range(MOST):
        if over.wait(PAUSE):
            return
        connection.sendall(text[number % len(text) :][:1])


def dripping_status(connection: socket.socket, over: threading.Event) -> None:
    drip(connection, over, b"HTTP/1.1 200 " + b"O" * 5000)


def dripping_headers(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    drip(connection, over, b"a: b\r\n")


def dripping_hints(connection: socket.socket, over: threading.Event) -> None:
    """Answers before the answer, without end."""
    for _ in range(MOST):
        if over.wait(PAUSE):
            return
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")


def dripping_body(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n")
    drip(connection, over, b"x")


def silent(_: socket.socket, over: threading.Event) -> None:
    over.wait(MOST * PAUSE)


@pytest.mark.parametrize("talk", [dripping_status, dripping_headers, dripping_hints, dripping_body, silent])
def test_the_deadline_covers_all_of_an_answer(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "_MAX_SECONDS", LIMIT)
    http = Http()
    with serving(talk) as url, pytest.raises(NetworkError, match=r"longer than 0\.4 seconds"):
        http.request("GET", url)
    http.close()


def test_the_deadline_covers_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that reads a little now and then."""

    def sipping(connection: socket.socket, over: threading.Event) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(MOST):
            if over.wait(PAUSE) or not connection.recv(1):
                return

    monkeypatch.setattr(http_module, "_MAX_SECONDS", LIMIT)
    http = Http()
    with serving(sipping) as url, pytest.raises(NetworkError, match="longer than"):
        http.request("PUT", url, body=bytes(16 << 20))
    http.close()


def test_every_request_has_its_own_time() -> None:
    """Also on a connection that an earlier request opened."""
    now = [0.0]

    def answering(connection: socket.socket, _: threading.Event) -> None:
        while connection.recv(65536):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")

    http = Http(monotonic=lambda: now[0])
    with serving(answering) as url:
        for moment in (0.0, 299.0, 601.0):
            now[0] = moment
            assert http.request("GET", url).body == b"hi"
        http.close()


def test_a_name_with_many_addresses_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def refuse(_: object, address: str, *_rest: object) -> httpcore.NetworkStream:
        tried.append(address)
        raise httpcore.ConnectTimeout

    many = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.1.{i}", 80)) for i in range(200)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: many)
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", refuse)
    with pytest.raises(httpcore.ConnectTimeout):
        BoundedBackend(Deadline()).connect_tcp("many.example", 80, 1.0)
    assert len(tried) == MAX_ADDRESSES
    ended = Deadline(lambda: 5.0)
    ended.end_at(5.0)
    with pytest.raises(httpcore.ConnectTimeout, match="too long"):
        BoundedBackend(ended).connect_tcp("many.example", 80, 1.0)
    assert len(tried) == MAX_ADDRESSES
