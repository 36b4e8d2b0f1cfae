"""Nobody keeps others waiting: heads, handshakes, bodies, answers and connections are bounded, on a real server.

Peers are addresses of loopback. Whatever is waited for comes by itself; no test asserts how long something took.
"""

from __future__ import annotations

import json
import resource
import select
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from blendp.service.bounded_http import MAX_HEAD_BYTES
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.service.store.schema import campaign, document
from tests.certificates import certified
from tests.service.helpers import bearer, open_collector, terms_of
from tests.service.real_server import LIVE, RealServer, answer_on, everything, status_of

pytestmark = [
    pytest.mark.xdist_group("bounds"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory and loopback peers as Linux has them"),
]

HASTY = ("--patience", "1", "--rate", "0")
MEGABYTE = 1 << 20
HALF = b"GET /health/live HTTP/1.1\r\nhost: here\r\nx-half: "


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A collector that waits for nobody."""
    with RealServer(tmp_path_factory.mktemp("hasty"), *HASTY) as server:
        yield server


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A collector that waits as usual, with as many descriptors as systems usually give."""
    with RealServer(tmp_path_factory.mktemp("patient"), "--rate", "0", descriptors=(1024, 1024)) as server:
        yield server


@pytest.fixture
def enough_descriptors() -> None:
    """For this process, which makes more connections than the server shall take."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))


def alive(server: RealServer, source: str) -> int:
    with server.connect(source) as connection:
        connection.sendall(LIVE)
        return status_of(answer_on(connection))


def poured(connection: socket.socket, piece: bytes, max_bytes: int = 128 * MEGABYTE) -> int:
    """How many bytes of an endless head could be sent, up to so many."""
    amount = 0
    with suppress(ConnectionError):
        while amount < max_bytes:
            connection.sendall(piece)
            amount += len(piece)
    return amount


@pytest.mark.parametrize(
    ("opening", "piece"),
    [
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
        (b"GET / HTTP/1.1\r\na: ", b"b"),
        (b"GET /", b"a"),
        (b"", b"\r\n"),
        (b"POST /none HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
        (b"POST /none HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: ", b"b"),
        (b"POST /none HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;", b"a=b;"),
    ],
    ids=["small headers", "one header", "address", "empty lines", "trailers", "one trailer", "extensions"],
)
def test_heads_without_end_are_refused_early(patient: RealServer, opening: bytes, piece: bytes) -> None:
    before = patient.megabytes("VmRSS")
    with patient.connect() as connection:
        connection.sendall(opening)
        amount = poured(connection, piece * (65_536 // len(piece)))
    assert amount < 16 * MEGABYTE, "what the system buffers on its way, and no more"
    assert patient.megabytes("VmHWM") - before < 8
    assert alive(patient, "127.0.0.1") == 200


@pytest.mark.parametrize("headers", [b"a: b\r\n" * 101, b"a: " + b"b" * MAX_HEAD_BYTES + b"\r\n"], ids=["many", "long"])
def test_a_large_head_is_told_so(patient: RealServer, headers: bytes) -> None:
    with patient.connect() as connection:
        connection.sendall(b"GET /v1/keys HTTP/1.1\r\nhost: here\r\n" + headers + b"\r\n")
        head, _, body = answer_on(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b"content-type: application/problem+json\r\n" in head
    assert b"\r\nconnection: close" in head
    assert json.loads(body)["type"] == "urn:blendp:problem:head-too-large"


def test_a_head_of_nearly_that_size_is_read(patient: RealServer) -> None:
    with patient.connect() as connection:
        padding = b"x: " + b"b" * (MAX_HEAD_BYTES - len(LIVE) - 5) + b"\r\n"
        connection.sendall(LIVE[:-2] + padding + b"\r\n")
        assert status_of(answer_on(connection)) == 200


@pytest.mark.usefixtures("enough_descriptors")
def test_half_told_requests_of_one_peer_block_nobody(patient: RealServer) -> None:
    with ExitStack() as stack:
        for _ in range(1007):
            connection = stack.enter_context(patient.connect())
            with suppress(ConnectionError):
                connection.sendall(HALF)
        assert alive(patient, "127.0.0.2") == 200
        assert alive(patient, "127.0.0.1") == 200, "who tells a request takes the room of who does not"


@pytest.mark.usefixtures("enough_descriptors")
def test_half_told_requests_of_many_peers_block_nobody(tmp_path: Path) -> None:
    options = ("--rate", "0", "--max-connections", "64", "--patience", "5")
    with RealServer(tmp_path, *options) as server, ExitStack() as stack:
        for number in range(100):
            connection = stack.enter_context(server.connect(f"127.0.1.{number // 4}"))
            with suppress(ConnectionError):
                connection.sendall(HALF)
        select.select([], [], [], 1.2)  # until the watch has looked at them
        assert [alive(server, f"127.0.2.{number}") for number in range(5)] == [200] * 5


@pytest.mark.parametrize(
    ("part", "status"),
    [
        (b"", 0),
        (HALF, 408),
        (b"\r\n\r\n", 408),
        (b"POST /none HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\n1", 404),
        (
            b"POST /v1/campaigns/c/deletions HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"
            b"content-length: 9\r\n\r\n1",
            408,
        ),
        (LIVE + HALF, 200),
    ],
    ids=["nothing", "head", "empty lines", "body that nobody reads", "body", "second head"],
)
def test_what_is_half_told_ends(hasty: RealServer, part: bytes, status: int) -> None:
    """The connection is closed from the other side, with a word if any was begun."""
    with hasty.connect() as connection:
        connection.sendall(part)
        assert status_of(everything(connection)) == status


def test_a_head_that_trickles_ends(hasty: RealServer) -> None:
    with hasty.connect() as connection:
        connection.setblocking(False)
        for _ in range(600):
            select.select([connection], [], [], 0.1)
            with suppress(BlockingIOError, ConnectionError):
                if (answer := connection.recv(4096)) is not None:
                    break
            with suppress(ConnectionError):
                connection.send(b"\r\n")
        else:
            pytest.fail("a byte now and then kept the connection open for a minute")
    assert status_of(answer) in (0, 408)


def test_what_is_no_http_is_refused_as_everything_else(hasty: RealServer) -> None:
    with hasty.connect() as connection:
        connection.sendall(b"What is popular?\r\n\r\n")
        head, _, body = answer_on(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["type"] == "urn:blendp:problem:malformed"


def test_requests_in_line_on_one_connection_are_bounded(hasty: RealServer) -> None:
    """Those that are not answered were not read, and the last answer says that it is the last."""
    with hasty.connect() as connection:
        connection.sendall(LIVE * 400)
        answers = everything(connection)
    assert 1 <= answers.count(b"HTTP/1.1 200 OK") <= 20
    assert answers.count(b"connection: close") == 1


@pytest.mark.usefixtures("enough_descriptors")
def test_tls_that_is_half_agreed_upon_ends_and_blocks_nobody(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    options = ("--tls-certificate", str(certificate), "--tls-key", str(key), "--patience", "4", "--rate", "0")
    with RealServer(tmp_path, *options, descriptors=(300, 300)) as server, ExitStack() as stack:
        half = [stack.enter_context(server.connect()) for _ in range(320)]
        for connection in half:
            with suppress(ConnectionError):
                connection.sendall(b"\x16\x03\x01")
        for source in ("127.0.0.2", "127.0.0.1"):
            with context.wrap_socket(server.connect(source), server_hostname="127.0.0.1") as speaking:
                speaking.sendall(LIVE)
                assert status_of(answer_on(speaking)) == 200
        assert {everything(connection) for connection in half} == {b""}


def test_a_peer_that_never_ends_its_tls_takes_no_more_than_its_share(tmp_path: Path) -> None:
    """It answers no goodbye: who is asked to make room does so at once."""
    certificate, key = certified(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    limits = ("--max-of-peer", "8", "--max-connections", "64", "--rate", "0")
    with (
        RealServer(tmp_path, "--tls-certificate", str(certificate), "--tls-key", str(key), *limits) as server,
        ExitStack() as stack,
    ):
        for _ in range(90):
            idle = context.wrap_socket(server.connect(), server_hostname="127.0.0.1")
            stack.callback(idle.close)
            idle.sendall(LIVE)
            assert status_of(answer_on(idle)) == 200
        with context.wrap_socket(server.connect("127.0.0.2"), server_hostname="127.0.0.1") as speaking:
            speaking.sendall(LIVE)
            assert status_of(answer_on(speaking)) == 200
        sockets = [one for one in Path(f"/proc/{server.process.pid}/fd").iterdir() if "socket:" in _target(one)]
    assert len(sockets) < 40


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""


def test_the_descriptor_limit_is_raised(tmp_path: Path) -> None:
    with RealServer(tmp_path, descriptors=(256, 512)) as server:
        (limit,) = (
            line.split()
            for line in Path(f"/proc/{server.process.pid}/limits").read_text().splitlines()
            if line.startswith("Max open files")
        )
    assert limit[3:5] == ["512", "512"]


def test_refusals_are_counted_and_told_without_addresses(tmp_path: Path) -> None:
    with RealServer(tmp_path, *HASTY) as server:
        with server.connect() as connection:
            connection.sendall(b"What?\r\n\r\n")
            answer_on(connection)
        with server.connect() as connection:
            connection.sendall(HALF)
            everything(connection)
        operator = CollectorService.open(Settings(tmp_path / "data"))
        token = operator.tokens.create("reader", ("read",))
        operator.close()
        numbers = httpx.get(f"{server.url}/metrics", headers=bearer(token)).text
    assert 'blendp_connections_refused_total{reason="malformed"} 1.0' in numbers
    assert 'blendp_connections_refused_total{reason="head time"} 1.0' in numbers
    (line,) = [line for line in server.lines() if line["event"] == "connections refused"]
    assert line["by reason"] == {"head time": 1, "malformed": 1}
    assert set(line) == {"time", "level", "event", "by reason"}


def test_behind_a_proxy_nobody_else_is_served(tmp_path: Path) -> None:
    with RealServer(tmp_path, "--behind-proxy", "127.0.0.2") as server:
        assert alive(server, "127.0.0.2") == 200
        with server.connect("127.0.0.3") as connection:
            connection.sendall(LIVE[:-2] + b"x-forwarded-for: 127.0.0.2\r\n\r\n")
            head, _, body = everything(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 421 ")
    assert json.loads(body)["type"] == "urn:blendp:problem:misdirected"


LIST = b"GET /v1/campaigns/c1/list HTTP/1.1\r\nhost: here\r\n\r\n"
LIST_BYTES = 1_600_000


def with_long_list(folder: Path) -> None:
    """A campaign with a list that is as long as lists get."""
    collector = open_collector(folder)
    collector.lifecycle.create(terms_of())
    with collector.store.writing() as connection:
        number = connection.execute(campaign.select()).one().number
        row = {"campaign": number, "kind": "list", "payload": bytes(LIST_BYTES)}
        connection.execute(document.insert().values(**row))
    collector.close()


def reader(server: RealServer) -> socket.socket:
    """A connection that asks for the list and has room for little of it."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(LIST)
    return connection


@pytest.mark.usefixtures("enough_descriptors")
def test_slow_readers_share_what_they_read(tmp_path: Path) -> None:
    with_long_list(tmp_path)
    with RealServer(tmp_path, "--rate", "0", "--max-of-peer", "1000") as server, ExitStack() as stack:
        with stack.enter_context(reader(server)) as first:
            answer_on(first)
        before = server.megabytes("VmRSS")
        readers = [stack.enter_context(reader(server)) for _ in range(300)]
        for connection in readers:
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        assert server.megabytes("VmHWM") - before < 60, "480 MB, if each had a list of its own"
        assert alive(server, "127.0.0.2") == 200
        assert len(answer_on(readers[0]).partition(b"\r\n\r\n")[2]) == LIST_BYTES


def test_who_reads_nothing_is_dropped(tmp_path: Path) -> None:
    with_long_list(tmp_path)
    with RealServer(tmp_path, *HASTY) as server, reader(server) as stalled:
        watched = select.poll()
        watched.register(stalled, 0)  # told of errors and the end alone
        assert watched.poll(60_000), "a connection of which nothing is read stays for ever"
        assert len(everything(stalled)) < LIST_BYTES
        with server.connect() as connection:
            connection.sendall(LIST)
            assert len(answer_on(connection)) > LIST_BYTES, "who reads gets it all"
