"""What an attacker can do to a collector: memory, the time that others wait, and a release under deletions.

    python -m benchmarks.attacks [--reports 400000] [--seconds 10] [--json] [--docs FILE]

A collector of its own process on the embedded database, on loopback. The attacker's address is 127.0.0.1, an honest
peer's 127.0.0.2. Every attack is bounded in count and time and stops by itself:

heads       128 MiB of small headers on one connection: how much of it the collector takes, and its memory
partial     1 007 requests that are begun and never ended: how long /health/live waits for the honest peer
readers     900 peers' requests for a list of 1.6 MB of which nobody reads the answer: memory
deletions   a release of many reports while their senders delete them as fast as they can: how long it takes, and
            whether exactly the acknowledged deletions are honoured; meanwhile how long a device waits that reports to
            another campaign

Times are those of a shared machine; what counts is that they end, and the memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import secrets
import socket
import sqlite3
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.collector_servers import (
    CAMPAIGN,
    PRODUCT,
    Location,
    Prepared,
    Server,
    possible_reports,
    prepare,
    publish_campaign,
    serving,
)
from blendp.service.collector import CollectorService
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.wire.install import DELETION_KEY_BYTES, pseudonym
from blendp.wire.media_types import BATCH_TYPE, REPORT_TYPE
from blendp.wire.reports import ID_BYTES, PSEUDONYM_BYTES, Binding, UploadedReport, write_batch, write_report

HEAD_BYTES, PARTIAL, READERS, LIST_BYTES = 128 << 20, 1007, 900, 1_600_000
ATTACKER, HONEST = "127.0.0.1", "127.0.0.2"
_BATCH = 10_000
_OTHER = "other"
_PATIENCE = 60.0
_MEASURED = re.compile(r"(<!-- attacks -->\n).*?(<!-- end of attacks -->)", re.DOTALL)


@dataclass(frozen=True)
class Finding:
    """What one attack did."""

    attack: str
    effect: str


def attack_heads(server: Server) -> Finding:
    """Small headers without end, on one connection."""
    before = server.megabytes("VmRSS")
    header = b"".join(b"x-%06d: y\r\n" % number for number in range(1000))
    sent, refusal = 0, b""
    with closing(_connected(server, ATTACKER)) as connection, suppress(OSError):
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n")
        while sent < HEAD_BYTES:
            connection.sendall(header)
            sent += len(header)
    with closing(_connected(server, ATTACKER)) as connection, suppress(OSError):
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n" + 10 * header + b"\r\n")
        refusal = connection.recv(64)
    growth = server.megabytes("VmHWM") - before
    answer = refusal.split(b"\r\n")[0].decode("ascii", "replace") or "the connection is closed"
    return Finding("heads", f"{sent / 1e6:.1f} MB were taken before the end, {growth:.0f} MB of memory; {answer}")


def attack_partial(server: Server) -> Finding:
    """Requests that are begun and never ended."""
    calm = _time_to_live(server)
    with ExitStack() as connections:
        opened = 0
        for _ in range(PARTIAL):
            with suppress(OSError):
                connection = connections.enter_context(closing(_connected(server, ATTACKER)))
                connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nx-slow: ")
                opened += 1
        waits = [_time_to_live(server) for _ in range(10)]
    return Finding(
        "partial",
        f"{opened} begun; the honest peer waits {1000 * max(waits):.0f} ms at most, {1000 * calm:.0f} ms before",
    )


def attack_readers(server: Server) -> Finding:
    """Requests for a long list of which nobody reads the answer."""
    before = server.megabytes("VmRSS")
    request = f"GET /v1/campaigns/{CAMPAIGN}/list HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with ExitStack() as connections:
        opened = 0
        for number in range(READERS):
            peer = f"127.0.{1 + number // 50}.1"
            with suppress(OSError):
                connection = connections.enter_context(closing(_connected(server, peer, buffer=1 << 12)))
                connection.sendall(request)
                opened += 1
        time.sleep(3)
        growth = server.megabytes("VmHWM") - before
        wait = _time_to_live(server)
    return Finding(
        "readers", f"{opened} readers: {growth:.0f} MB of memory; the honest peer waits {1000 * wait:.0f} ms"
    )


def attack_deletions(location: Location, prepared: Prepared, reports: int, seconds: float) -> Finding:
    """A release while reports are deleted as fast as two senders can."""
    keys = _fill(location, prepared, reports)
    token, binding, possible = _other_campaign(location)
    with serving(PRODUCT, prepared, location, 1) as server:
        stop, deleted, waits = threading.Event(), [0], [0.0]
        senders = [threading.Thread(target=_delete, args=(server, keys[part::2], stop, deleted)) for part in range(2)]
        senders.append(threading.Thread(target=_report, args=(server, binding, possible, stop, waits)))
        for sender in senders:
            sender.start()
        time.sleep(1.0)
        start = time.monotonic()
        status, answer = _release(server, token)
        taken = time.monotonic() - start
        stop.set()
        for sender in senders:
            sender.join(seconds + _PATIENCE)
    if status != 200:
        return Finding("deletions", f"refused with {status} after {taken:.1f} s: {answer}")
    honoured = reports - answer["clients"]
    return Finding(
        "deletions",
        f"{reports:,} reports released in {taken:.1f} s; {deleted[0]:,} deletions acknowledged before the result was "
        f"signed, {honoured:,} honoured; reports to another campaign wait {1000 * max(waits):.0f} ms at most",
    )


def _fill(location: Location, prepared: Prepared, reports: int) -> list[bytes]:
    """Reports of installs whose deletion keys are known."""
    keys = [secrets.token_bytes(DELETION_KEY_BYTES) for _ in range(reports)]
    with serving(PRODUCT, prepared, location, 1) as server:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=_PATIENCE)
        for start in range(0, reports, _BATCH):
            batch = [
                UploadedReport(
                    secrets.token_bytes(ID_BYTES),
                    pseudonym(key),
                    number % 2,
                    bytes.fromhex(prepared.possible[number % 2][number % len(prepared.possible[0])]),
                )
                for number, key in enumerate(keys[start : start + _BATCH])
            ]
            body = write_batch(prepared.binding, batch)
            connection.request("POST", f"/v1/campaigns/{CAMPAIGN}/reports", body, {"content-type": BATCH_TYPE})
            response = connection.getresponse()
            if response.status != 200:
                raise RuntimeError(f"reports are refused: {response.read()!r}")
            response.read()
    return keys


def _delete(server: Server, keys: Sequence[bytes], stop: threading.Event, deleted: list[int]) -> None:
    """Delete one report after the other; count those that were acknowledged while the result was not yet there."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=_PATIENCE)
    for key in keys:
        if stop.is_set():
            return
        body = json.dumps({"deletion_key": key.hex()})
        with suppress(OSError, http.client.HTTPException):
            connection.request(
                "POST", f"/v1/campaigns/{CAMPAIGN}/deletions", body, {"content-type": "application/json"}
            )
            response = connection.getresponse()
            if response.status == 200 and json.loads(response.read()).get("deleted"):
                deleted[0] += 1
            else:
                response.read()


def _release(server: Server, token: str) -> tuple[int, dict[str, int]]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=600)
    path, headers = f"/v1/campaigns/{CAMPAIGN}/release", {"authorization": f"Bearer {token}"}
    connection.request("POST", path, headers=headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def _report(
    server: Server, binding: Binding, possible: list[list[str]], stop: threading.Event, waits: list[float]
) -> None:
    """Report to the other campaign, one device after the other, and note how long each waited."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=_PATIENCE)
    while not stop.is_set():
        report = UploadedReport(
            secrets.token_bytes(ID_BYTES), secrets.token_bytes(PSEUDONYM_BYTES), 0, bytes.fromhex(possible[0][0])
        )
        path = f"/v1/campaigns/{_OTHER}/reports/{report.report_id.hex()}"
        start = time.monotonic()
        connection.request("PUT", path, write_report(binding, report), {"content-type": REPORT_TYPE})
        response = connection.getresponse()
        if response.status != 201:
            raise RuntimeError(f"a report to another campaign is refused: {response.read()!r}")
        response.read()
        waits.append(time.monotonic() - start)


def _other_campaign(location: Location) -> tuple[str, Binding, list[list[str]]]:
    """An operator's token; what reports of another campaign are bound to, and data of reports that it takes."""
    collector = CollectorService.open(Settings(location.data, database=location.database))
    try:
        manifest = publish_campaign(collector, _OTHER)
        binding = collector.book.reporting(_OTHER).binding
        return collector.tokens.create("attacks"), binding, possible_reports(collector, manifest)
    finally:
        collector.close()


def _connected(server: Server, source: str, buffer: int | None = None) -> socket.socket:
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.settimeout(_PATIENCE)
    if buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.bind((source, 0))
    connection.connect((server.host, server.port))
    return connection


def _time_to_live(server: Server) -> float:
    """How long an honest peer waits to hear that the collector is alive."""
    start = time.monotonic()
    with closing(_connected(server, HONEST)) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        if b" 200 " not in connection.recv(1 << 12):
            raise RuntimeError("the honest peer is refused")
    return time.monotonic() - start


@contextmanager
def _with_long_list(prepared: Prepared) -> Iterator[Location]:
    """A campaign whose list has 1.6 MB."""
    with prepared.copy() as location:
        with closing(sqlite3.connect(location.data / DATABASE_FILE)) as database, database:
            database.execute("UPDATE document SET payload = ? WHERE kind = 'list'", (b"x" * LIST_BYTES,))
        yield location


def run(reports: int, seconds: float) -> list[Finding]:
    """All attacks, one after the other, each on a collector of its own."""
    findings = []
    with TemporaryDirectory() as folder:
        prepared = prepare(Location(Path(folder) / "prepared"))
        for attack in (attack_heads, attack_partial):
            with prepared.copy() as location, serving(PRODUCT, prepared, location, 1) as server:
                findings.append(attack(server))
        with _with_long_list(prepared) as location, serving(PRODUCT, prepared, location, 1) as server:
            findings.append(attack_readers(server))
        with prepared.copy() as location:
            findings.append(attack_deletions(location, prepared, reports, seconds))
    return findings


def main() -> None:
    """Attack, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=400_000, help="reports of the campaign that is released")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long senders of deletions are waited for")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--docs", type=Path, help="put the list into this page, between its marks")
    given = parser.parse_args()
    findings = run(given.reports, given.seconds)
    if given.json:
        print(json.dumps([vars(finding) for finding in findings], indent=2))
        return
    lines = [textwrap.fill(f"- **{one.attack}**: {one.effect}", 100, subsequent_indent="  ") for one in findings]
    effects = "\n".join(lines)
    print(effects)
    if given.docs is not None:
        page = given.docs.read_text(encoding="utf-8")
        given.docs.write_text(_MEASURED.sub(rf"\g<1>{effects}\n\g<2>", page), encoding="utf-8")


if __name__ == "__main__":
    main()
