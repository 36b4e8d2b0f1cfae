"""A real collector with campaigns in every state, and a wire to it that notes, changes or cuts what passes."""

from __future__ import annotations

import datetime
import hashlib
import http.client
import http.server
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam

from blendp.randomness import ReleaseRandom
from blendp.reports import QUESTION_NUMBER
from blendp.service.campaigns import find
from blendp.service.campaigns import terms_of as terms_of_campaign
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.service.store.one_call import Row
from blendp.service.store.schema import enrolment, opt_in_intake
from blendp.service.tokens import enrolment_hash
from tests.service.helpers import NONCE, keep_rows, terms_of
from tests.service.real_server import RealServer

Record = tuple[str, str | None]

PEOPLE_OF: dict[Record, int] = {
    ("weather", "https://weather.example/today"): 80,
    ("weather", "https://sky.example/forecast"): 18,
    ("news", "https://news.example"): 30,
    ("train timetable", "https://rail.example/timetable"): 26,
    ("bicycle repair", "https://bikes.example/repair"): 22,
    ("how to tie a tie", "https://knots.example/tie"): 20,
    ("pancake recipe", "https://kitchen.example/pancakes"): 18,
    ("football results", "https://scores.example/football"): 17,
    ("שלום עולם", "https://shalom.example"): 16,
    ("moon phase", "https://sky.example/moon"): 16,
    ("<b>bold</b>", "javascript:alert(1)"): 16,
}
"""How many opt-in people have each record; enough for every one to be listed. The last is hostile."""

RARE: dict[Record, int] = {("opening hours", f"https://branch-{i}.example/hours"): 1 for i in range(24)}
"""A query that many have, each with another URL: it is listed without any."""

LIBRARY_PEOPLE = PEOPLE_OF | RARE
OPT_IN = sum(PEOPLE_OF.values())
TITLE = "Popular searches of the city library"


def day(offset: int) -> str:
    """A day so many days from now."""
    return (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=offset)).isoformat()


def library_terms(name: str, **more: Any) -> dict[str, Any]:
    """Terms around today, of an organisation that one could believe in."""
    library = {
        "title": TITLE,
        "organisation": "City Library",
        "purpose": "A search box on our terminals that works offline",
        "contact": "privacy@library.example",
        "opens": day(-10),
        "opt_in_until": day(5),
        "reports_until": day(20),
        "opt_in_records": 1,
        "min_opt_in": OPT_IN,
        "min_clients": 100,
    }
    return terms_of(name, **{**library, **more})


def take_part(
    collector: CollectorService, name: str, people: Mapping[Record, int], days: range = range(1), tokens: int = 0
) -> None:
    """People opt in with a record each, about as many on each of these days; so many more have a token.

    They are kept at once: to receive one after the other would take seconds.
    """
    enrolled = collector.opt_in.enrol(name, sum(people.values()) + tokens)
    hashes = (enrolment_hash(token) or b"" for token in enrolled)
    with collector.store.writing() as connection:
        number = find(connection, name).number
        levels = terms_of_campaign(connection, number).levels
        used = [
            {"of": one, "sealed": collector.opt_in._sealed(name, one, [(query, url if levels == 2 else None)])}
            for (query, url), count in people.items()
            for one in islice(hashes, count)
        ]
        mine = (enrolment.c.campaign == number, enrolment.c.token == bindparam("of"))
        nonce = hashlib.sha256(bytes.fromhex(NONCE)).digest()
        keep = enrolment.update().where(*mine).values(state="used", sealed=bindparam("sealed"), nonce=nonce)
        connection.execute(keep, used)
        shares = [len(used) * i // len(days) for i in range(len(days) + 1)]
        counts = [
            {"campaign": number, "day": day(offset), "count": after - before}
            for offset, (before, after) in zip(days, pairwise(shares), strict=True)
        ]
        connection.execute(opt_in_intake.insert(), counts)


def publish(collector: CollectorService, name: str, **more: Any) -> None:
    """A campaign whose list is public."""
    collector.lifecycle.create(library_terms(name, **more))
    take_part(collector, name, LIBRARY_PEOPLE)
    collector.lifecycle.publish(name)


def report(collector: CollectorService, name: str, people: Mapping[Record, int], times: int = 4) -> int:
    """Clients report, so many for each opt-in person; how many there are."""
    reporting, random = collector.book.reporting(name), ReleaseRandom()
    rows: list[Row] = []
    for (query, url), count in people.items():
        record = (query, url if reporting.terms.levels == 2 else None)
        for _ in range(times * count):
            drawn = reporting.scheme.randomise([record], random)
            identity = len(rows).to_bytes(16, "big")
            rows.append((identity, identity, QUESTION_NUMBER[drawn.question], drawn.data))
    with collector.store.writing() as connection:
        keep_rows(connection, reporting.number, rows)
    return len(rows)


def release(collector: CollectorService, name: str, times: int = 4) -> None:
    """Clients report, so many for each opt-in person, and the result is made of that."""
    report(collector, name, LIBRARY_PEOPLE, times)
    collector.lifecycle.release(name)


@dataclass
class Wire:
    """A proxy in front of a collector, at a path of its own, as an organisation may have one."""

    port_behind: int = 0
    prefix: str = "/collector"
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, target and headers of all that passed."""

    changes: dict[str, Callable[[bytes], bytes]] = field(default_factory=dict)
    """What becomes of the bodies of answers, by the end of the path."""

    connections: list[socket.socket] = field(default_factory=list)
    _port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}{self.prefix}"

    def targets(self) -> list[str]:
        return [target for _, target, _ in self.requests]

    def connect(self) -> None:
        """Listen, at the same address as before."""
        wire = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                wire.connections.append(self.connection)

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                sent = self.rfile.read(int(self.headers.get("content-length", 0)))
                wire.requests.append((self.command, self.path, dict(self.headers)))
                change = next((change for end, change in wire.changes.items() if self.path.endswith(end)), None)
                if change is not None:
                    del self.headers["accept-encoding"], self.headers["if-none-match"]
                connection = http.client.HTTPConnection("127.0.0.1", wire.port_behind, timeout=60)
                connection.request(self.command, self.path.removeprefix(wire.prefix), sent or None, dict(self.headers))
                answer = connection.getresponse()
                body = answer.read() if change is None else change(answer.read())
                connection.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name not in ("content-length", "date", "server", "connection"):
                        self.send_header(name, value)
                if answer.status != 304:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        class Server(http.server.ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def cut(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        for connection in self.connections:
            with suppress(OSError):  # closed by the other side
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()


class Library:
    """``blendp serve`` on a folder, and the wire to it; both can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        """Running."""
        self.folder = folder
        self.wire = Wire()
        self.start()

    def start(self) -> None:
        self._server = RealServer(self.folder, "--rate", "0")
        self.wire.port_behind = self._server.port
        self.wire.connect()

    def stop(self) -> None:
        self.wire.cut()
        self._server.stop()

    @contextmanager
    def tampered(self, changes: Mapping[str, Callable[[bytes], bytes]]) -> Iterator[None]:
        """The bodies of answers are changed on the wire, by the last part of their address."""
        self.wire.changes = {f"/{name}": change for name, change in changes.items()}
        yield
        self.wire.changes = {}

    @contextmanager
    def opened(self) -> Iterator[CollectorService]:
        """The collector's store, from beside the running process."""
        collector = CollectorService.open(Settings(self.folder / "data"), lambda: datetime.date.fromisoformat(day(0)))
        yield collector
        collector.close()

    def page(self, path: str = "/") -> str:
        """The address of a page."""
        return self.wire.url + path
