"""nginx and Caddy, as deploy/ configures them, in front of a real collector."""

from __future__ import annotations

import itertools
import json
import re
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from blendp.service.collector import CollectorService
from blendp.service.http.app import ENDPOINTS
from blendp.service.http.endpoints import ENROLMENT, PAGE, PUBLIC, Endpoint
from blendp.service.settings import Settings
from blendp.wire import addresses
from blendp.wire.media_types import BATCH_TYPE
from blendp.wire.problems import RETRYABLE
from tests.browser.collectors import publish
from tests.deploy.devices import new_reports
from tests.deploy.proxies import DOMAIN, OPERATOR, Proxy, running
from tests.deploy.tools import KIT, require_success
from tests.service.real_server import RealServer, answer_on, everything, status_of

BATCH = {"content-type": BATCH_TYPE}
KINDS = ("nginx", "caddy")
_ADDRESSES = (f"127.7.{number // 250}.{number % 250 + 1}" for number in itertools.count())
OF_PROXY = {"date", "server", "connection", "keep-alive", "transfer-encoding", "strict-transport-security"}
"""Headers that are of a connection, or that the proxy adds."""

FOR_OPERATORS = {addresses.READY}
"""What needs no token, but is of no use to devices."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a collector with a campaign that takes reports."""
    folder = tmp_path_factory.mktemp("collector") / "data"
    service = CollectorService.open(Settings(folder))
    publish(service, "running")
    service.close()
    return folder


@pytest.fixture(scope="module")
def collector(data: Path) -> Iterator[RealServer]:
    """Twenty requests a second of a peer: few enough to be exceeded, enough for the rest of the tests."""
    with RealServer(data.parent, "--behind-proxy", "127.0.0.1", "--rate", "20") as server:
        yield server


@pytest.fixture(scope="module", params=KINDS)
def proxy(
    request: pytest.FixtureRequest, collector: RealServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    with running(request.param, tmp_path_factory.mktemp(request.param), collector.port) as proxy:
        yield proxy


@pytest.fixture
def peer() -> str:
    """Somebody new."""
    return next(_ADDRESSES)


def path_of(endpoint: Endpoint) -> str:
    asset = next((KIT.parent / "src/blendp/web/assets").iterdir()).name
    parts = {"campaign": "running", "report": "0" * 32, "asset": asset}
    return re.sub(r"{(\w+)}", lambda part: parts.get(part[1], "report.html"), endpoint.path)


def is_for_everybody(endpoint: Endpoint) -> bool:
    """Whether devices or their people need it; the console is a page of operators."""
    open_to_all = endpoint.access in (PUBLIC, PAGE, ENROLMENT) and endpoint.path not in FOR_OPERATORS
    return open_to_all and not endpoint.path.startswith("/console")


def abort(connection: socket.socket) -> None:
    """Go away without a goodbye."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"host: {DOMAIN}", *headers, "", ""]).encode()


@pytest.mark.parametrize("path", ["/", "/campaigns/running", "/campaigns/running/search", "/v1/campaigns/running/list"])
def test_what_the_collector_answers_passes_unchanged(proxy: Proxy, peer: str, collector: RealServer, path: str) -> None:
    """Above all the headers that keep pages safe."""
    with proxy.client(peer) as client:
        through = client.get(path, headers={"accept-encoding": "gzip"})
        again = client.get(path, headers={"accept-encoding": "gzip", "if-none-match": through.headers["etag"]})
    direct = httpx.get(collector.url + path, headers={"accept-encoding": "gzip"})
    assert (through.status_code, again.status_code) == (200, 304)
    assert through.content == direct.content
    assert {name: value for name, value in through.headers.items() if name not in OF_PROXY} == {
        name: value for name, value in direct.headers.items() if name not in OF_PROXY
    }
    assert "max-age=" in through.headers["strict-transport-security"]
    assert "/" not in through.headers.get("server", ""), "no version is told"


def test_http_2_is_spoken(proxy: Proxy) -> None:
    arguments = (str(proxy.at.tls), proxy.folder / "certificate.pem", DOMAIN, "/")
    answer = json.loads(require_success("node", KIT.parent / "tests/deploy/http2.mjs", *arguments))
    assert answer[":status"] == 200
    assert "require-trusted-types-for 'script'" in answer["content-security-policy"]


def test_who_comes_without_tls_is_sent_to_it(proxy: Proxy, peer: str) -> None:
    with proxy.connect(peer, proxy.at.plain) as connection:
        connection.sendall(head("GET", "/campaigns/running", "connection: close"))
        answer = everything(connection)
    assert status_of(answer) == 308
    assert f"location: https://{DOMAIN}/campaigns/running\r\n" in answer.decode().lower()


def test_reports_arrive(proxy: Proxy, peer: str, data: Path) -> None:
    with proxy.client(peer) as client:
        answer = client.post(
            "/v1/campaigns/running/reports", content=new_reports(Settings(data), "running", 3), headers=BATCH
        )
    assert answer.json() == {"outcomes": ["accepted"] * 3}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")
def test_the_operators_part_is_for_their_network_alone(proxy: Proxy, peer: str, endpoint: Endpoint) -> None:
    """A new address fails here until both configurations say whose it is."""
    with proxy.client(peer) as stranger, proxy.client(OPERATOR) as operator:
        answers = [one.request(endpoint.method, path_of(endpoint)) for one in (stranger, operator)]
    statuses = [answer.status_code for answer in answers]
    assert answers[1].status_code not in (403, 405), "no token was shown: 401 at most"
    assert (statuses[0] == 403) == (not is_for_everybody(endpoint)), statuses
    assert is_for_everybody(endpoint) is False or statuses[0] == statuses[1]


@pytest.mark.parametrize(
    "path",
    [
        "/metrics/",
        "//metrics",
        "/./metrics",
        "/x/../metrics",
        "/%6detrics",
        "/metrics?x=/v1/keys",
        "/metrics%3f",
        "/v1/keys/../audit",
        "/v1/campaigns/running/terms/../status",
        "/v1/campaigns/running%2fstatus",
        "/v1/campaigns/running/status#/terms",
        "/v1/audit%00",
        "/V1/audit",
        "/campaigns/../metrics",
        "/campaigns/running/..%2f..%2fmetrics",
        "/assets/..%2fmetrics",
    ],
)
def test_no_other_spelling_reaches_the_operators_part(proxy: Proxy, peer: str, path: str) -> None:
    """Whether it is refused by the proxy or unknown to the collector: nothing asks for a token."""
    with proxy.secure(peer) as connection:
        connection.sendall(head("GET", path, "connection: close"))
        answer = everything(connection)
    assert status_of(answer) in (0, 400, 403, 404), answer
    assert b"www-authenticate" not in answer.lower()


def test_what_peers_say_of_their_address_is_not_believed(proxy: Proxy, peer: str) -> None:
    """Who has sent a large batch of nothing must wait for a while, whoever they say to be."""

    def lies(number: int) -> dict[str, str]:
        names = ("x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip")
        return BATCH | dict.fromkeys(names, f"198.51.100.{number}")

    with proxy.client(peer) as greedy, proxy.client(next(_ADDRESSES)) as neighbour:
        first = greedy.post("/v1/campaigns/running/reports", content=b"x" * (1 << 20), headers=lies(1))
        assert first.json()["type"] == "urn:blendp:problem:malformed"
        again = greedy.get("/health/live", headers=lies(2))
        assert again.json()["type"] == "urn:blendp:problem:rate-limited"
        assert neighbour.get("/health/live", headers=lies(1)).status_code == 200


def test_large_bodies_are_refused(proxy: Proxy, peer: str) -> None:
    """For good, whether or not they say how large they are: a device must not try again."""

    def sent(address: str, body: bytes | Iterator[bytes]) -> httpx.Response:
        with proxy.client(address) as client:
            return client.post("/v1/campaigns/running/reports", content=body, headers=BATCH)

    largest = b"x" * (1 << 20)
    assert sent(peer, largest).json()["type"] == "urn:blendp:problem:malformed"
    for too_large in (largest + b"x", iter([largest, b"x"]), iter([largest] * 3)):
        answer = sent(next(_ADDRESSES), too_large)
        assert (answer.status_code, answer.headers.get("retry-after")) == (413, None)


def test_large_heads_are_refused(proxy: Proxy, peer: str) -> None:
    with proxy.secure(peer) as connection:
        with suppress(OSError):
            connection.sendall(head("GET", "/", *(f"x-{number}: {'y' * 3000}" for number in range(20))))
        assert status_of(everything(connection)) in (0, 400, 431)


def misbehave(proxy: Proxy, address: str) -> None:
    """All that makes servers write of a peer: good requests, bad ones, none at all, and sudden ends."""
    with proxy.client(address) as client:
        for method, path in (("GET", "/"), ("GET", "/nowhere"), ("GET", "/metrics"), ("BREW", "/")):
            client.request(method, path)
        client.post("/v1/campaigns/running/reports", content=b"x" * (1 << 21))
        client.get(f"/{'x' * 3000}")
    for port in (proxy.at.tls, proxy.at.plain):
        for first in (b"", b"\x16\x03", head("GET", "/"), b"\xff\n\n"):
            connection = proxy.connect(address, port)
            connection.sendall(first)
            abort(connection)
            with proxy.connect(address, port) as connection:
                connection.sendall(first)
                connection.shutdown(socket.SHUT_WR)
                everything(connection)
    upload = head("POST", "/v1/campaigns/running/reports", f"content-type: {BATCH_TYPE}", "content-length: 100000")
    for first in (
        upload + b"x" * 50_000,
        head("GET", "/v1/openapi.json"),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\r\n\r\n",
    ):
        connection = proxy.secure(address)
        connection.sendall(first)
        abort(connection)
    with proxy.connect(address, proxy.at.plain) as connection:
        connection.sendall(head("GET", "/.well-known/acme-challenge/unknown", "connection: close"))
        everything(connection)


TALKATIVE = {
    "nginx": {"error_log /var/log/nginx/blendp.log emerg": "error_log /var/log/nginx/blendp.log info"},
    "caddy": {"level WARN\n\t\texclude http": "level DEBUG"},
}
"""Changes after which logs have addresses: the test would notice."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("talkative", [False, True], ids=["as shipped", "talkative"])
def test_no_address_is_written_anywhere(
    kind: str, talkative: bool, collector: RealServer, tmp_path: Path, peer: str
) -> None:
    with running(kind, tmp_path, collector.port, TALKATIVE[kind] if talkative else {}) as proxy:
        misbehave(proxy, peer)
        proxy.stop()
        assert (peer in proxy.said()) == talkative
    assert peer not in collector.log.read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_devices_come_back_when_the_collector_is_away(kind: str, tmp_path: Path, peer: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with running(kind, tmp_path, nobody.getsockname()[1]) as proxy:
            with proxy.client(peer) as client:
                answer = client.get("/v1/keys")
            proxy.stop()
            assert peer not in proxy.said()
    assert answer.status_code in RETRYABLE
    assert answer.headers["retry-after"] == "30"
    assert answer.headers["access-control-allow-origin"] == "*", "or pages of other origins could not read it"


@pytest.mark.parametrize("kind", KINDS)
def test_the_collector_is_told_the_peer_and_no_more(kind: str, tmp_path: Path, peer: str) -> None:
    """One address, that of the connection, instead of all that the peer says; nothing of the browser."""
    lies = {"x-forwarded-for": "198.51.100.1, 198.51.100.2", "forwarded": "for=198.51.100.1"}
    traces = {"user-agent": "a browser", "referer": "https://elsewhere.example", "cookie": "a=b"}
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(60)
        heard = pool.submit(hear_one, listening)
        with running(kind, tmp_path, listening.getsockname()[1]) as proxy, proxy.client(peer) as client:
            assert client.get("/v1/keys", headers=lies | traces).status_code == 200
    headers = [line.lower().split(": ", 1) for line in heard.result().split("\r\n")[1:]]
    assert [value for name, value in headers if name == "x-forwarded-for"] == [peer]
    assert [value for name, value in headers if name == "x-forwarded-proto"] == ["https"]
    assert {value for _, value in headers} & {*lies.values(), *traces.values()} == set()


def hear_one(listening: socket.socket) -> str:
    """The head of the one request that comes."""
    connection, _ = listening.accept()
    with connection:
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    return heard.partition(b"\r\n\r\n")[0].decode()


@pytest.fixture(scope="module")
def strict_nginx(collector: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """With small limits, and told who its peers are, so that they can have any address."""
    changes = {
        "rate=400r/s": "rate=1r/m",
        "burst=4000 ": "burst=4 ",
        "limit_conn blendp_connections 256": "limit_conn blendp_connections 3",
        "upstream blendp": "set_real_ip_from 127.0.0.0/8;\nreal_ip_header X-Test-Peer;\nupstream blendp",
    }
    with running("nginx", tmp_path_factory.mktemp("strict"), collector.port, changes) as proxy:
        yield proxy


@pytest.mark.parametrize(
    ("addresses_of_peer", "others"),
    [
        (["192.0.2.1"] * 5, ["192.0.2.2", "::ffff:192.0.2.3"]),
        ([f"2001:db8:1:2:{number}::1" for number in range(1, 6)], ["2001:db8:1:3::1", "2001:db8:2::1"]),
        ([f"2001:db8::{number}" for number in range(1, 6)], ["2001:db8:0:1::1", "2001:db9::1"]),
    ],
)
def test_nginx_limits_the_requests_of_a_peer(
    strict_nginx: Proxy, addresses_of_peer: list[str], others: list[str]
) -> None:
    with strict_nginx.client(OPERATOR) as client:

        def ask(address: str) -> httpx.Response:
            return client.get("/assets/none", headers={"x-test-peer": address})

        assert [ask(address).status_code for address in addresses_of_peer] == [404] * 5
        refused = ask(addresses_of_peer[0])
        assert [ask(address).status_code for address in others] == [404] * len(others)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    assert refused.headers["access-control-allow-origin"] == "*"


def test_nginx_limits_the_connections_of_a_peer(strict_nginx: Proxy, peer: str) -> None:
    """Those on which a request is under way; the others are closed by time."""
    upload = head("POST", "/v1/campaigns/running/reports", f"content-type: {BATCH_TYPE}", "content-length: 100")
    with ExitStack() as stack:
        for _ in range(3):
            slow = stack.enter_context(strict_nginx.secure(peer))
            slow.sendall(upload.replace(b"content-length", b"expect: 100-continue\r\ncontent-length"))
            assert slow.recv(100).startswith(b"HTTP/1.1 100 "), "it is being served"
        one_more = stack.enter_context(strict_nginx.secure(peer))
        one_more.sendall(upload)
        assert status_of(answer_on(one_more)) == 429
        other = stack.enter_context(strict_nginx.secure(next(_ADDRESSES)))
        other.sendall(head("GET", "/health/live"))
        assert status_of(answer_on(other)) == 200


def test_nginx_and_caddy_agree_on_what_everybody_may_ask_for() -> None:
    """The same patterns, method by method."""
    nginx = re.findall(r'^    "~\^\(([A-Z|]+)\) (\S+)\$" +1;$', (KIT / "nginx/blendp.conf").read_text(), re.MULTILINE)
    pattern = r"method ([A-Z ]+)\n\t\t\tpath_regexp \^(\S+)\$\n"
    caddy = re.findall(pattern, (KIT / "caddy/Caddyfile").read_text())
    assert [(methods.replace("|", " "), paths) for methods, paths in nginx] == caddy
    assert len(caddy) == 6


def test_caddys_file_is_in_caddys_own_style() -> None:
    file = KIT / "caddy/Caddyfile"
    assert require_success("caddy", "fmt", file) == file.read_text()
