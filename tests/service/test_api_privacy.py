"""What is stored and logged: nothing of who sent something, from where or when, and no secret that was not meant to be.

The searches go through every byte of the data folder and of the log of a real server process.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import re
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.service.campaigns import keyed, pseudonym_key
from blendp.service.clock import utc_today
from blendp.service.http.endpoints import Call
from blendp.service.journal import _Lines
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store.schema import metadata
from blendp.wire import Envelope, Manifest, SigningKey, Terms, UploadedReport
from blendp.wire.install import deletion_key, pseudonym
from blendp.wire.media_types import BATCH_TYPE, OPT_IN_TYPE, REPORT_TYPE
from blendp.wire.reports import write_batch, write_report
from tests.certificates import certified
from tests.service.helpers import (
    PEOPLE,
    bearer,
    enrolment_body,
    open_collector,
    published_campaign,
    records_of,
    reports,
    terms_of,
    with_client,
)

TRACES = {
    "user-agent": "Distinctive-Agent/47.11",
    "cookie": "session=distinctive-cookie-0815",
    "x-forwarded-for": "203.0.113.77",
    "forwarded": "for=198.51.100.99",
    "referer": "https://distinctive-referer.example/page",
    "origin": "https://distinctive-origin.example",
    "x-request-id": "distinctive-request-id",
}
IDENTIFYING = [b"istinctive", b"203.0.113.77", b"198.51.100.99", b"127.0.0.1", b"localhost"]
SECRET_QUERY, SECRET_URL = "a query of one person alone 7f3a", "https://only-me.example/7f3a"
UPLOADS = 100


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[tuple[str, Path]]:
    """A collector in a process of its own: its address, and the file of its log."""
    log = folder / "log"
    values = {"data": str(folder / "data"), "port": 0, "rate": 0.0, **settings}
    code = (
        "import json, sys; from pathlib import Path; from blendp.service.settings import Settings; "
        "from blendp.service.server import serve; told = json.loads(sys.argv[1]); "
        "paths = ('data', 'tls_certificate', 'tls_key'); "
        "serve(Settings(**{name: Path(value) if name in paths else value for name, value in told.items()}))"
    )
    with log.open("wb") as stream:
        process = subprocess.Popen([sys.executable, "-c", code, json.dumps(values)], stdout=stream, stderr=stream)
    try:
        yield _address(process, log), log
    finally:
        process.terminate()
        process.wait(30)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Told once the server takes requests."""
    for _ in range(600):
        lines = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        if any("startup complete" in line["event"] for line in lines):
            return str(next(line["url"] for line in lines if line["event"] == "serving"))
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def lines_of(log: Path) -> list[dict[str, Any]]:
    """All lines, each a JSON object."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert all({"time", "level", "event"} <= set(line) for line in lines)
    return lines


def both(*secrets: bytes) -> list[bytes]:
    """Bytes as they are, and as hexadecimal digits."""
    return [form for secret in secrets for form in (secret, secret.hex().encode(), secret.hex().upper().encode())]


def require_absent(folder: Path, needles: list[bytes]) -> None:
    """Search every byte of every file."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == DATABASE_FILE for path in files)
    for path in files:
        content = path.read_bytes()
        for needle in needles:
            assert needle not in content, f"{needle!r} is in {path.name}"


def require_private(folder: Path) -> None:
    """Nobody but the owner may look."""
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path.name}: {mode:o}"


def require_no_times(database: Path) -> None:
    """No value of any table is finer than a day, whatever its column is called, but when an operator acted."""
    now = time.time()
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            for row in cursor:
                for name, value in zip(names, row, strict=True):
                    if (table, name) == ("audit", "time"):
                        continue
                    if isinstance(value, str):
                        assert not re.search(r"\d\d:\d\d", value), f"{table}: {value}"
                    elif isinstance(value, (int, float)):
                        assert not any(abs(value / unit - now) < 1e6 for unit in (1, 1e3, 1e6, 1e9)), (
                            f"{table}: {value}"
                        )
        (statement,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'report'").fetchone()
    connection.close()
    assert "WITHOUT ROWID" in statement, "row ids would tell the order in which reports came"


def stored(database: Path) -> set[bytes]:
    """What the store knows of pseudonyms."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        pseudonyms = {pseudonym for (pseudonym,) in connection.execute("SELECT pseudonym FROM report")}
    connection.close()
    return pseudonyms


def test_a_campaign_leaves_no_traces_of_people(tmp_path: Path) -> None:
    operator = _operator(tmp_path)
    data = tmp_path / "data"
    with serving(tmp_path) as (url, log), httpx.Client(base_url=url, headers=TRACES) as client:
        port = url.rpartition(":")[2]
        today = utc_today()
        fields = {"opens": today, "opt_in_until": today, "reports_until": today + datetime.timedelta(days=9)}
        days = {name: day.isoformat() for name, day in fields.items()}
        created = client.post("/v1/campaigns", headers=bearer(operator), json=terms_of(**days))
        assert created.status_code == 201, created.text
        peer = created.extensions["network_stream"].get_extra_info("client_addr")[1]
        address = [f"127.0.0.1:{peer}".encode(), f":{peer}".encode()]
        enrolled = client.post("/v1/campaigns/c1/enrolments", headers=bearer(operator), json={"count": PEOPLE + 1})
        tokens = enrolled.json()["tokens"]
        secrets = [
            *(token.encode() for token in (operator, *tokens)),
            *(token[-64:].encode() for token in (operator, *tokens)),
        ]
        secrets += [bytes.fromhex(token[-64:]) for token in (operator, *tokens)]

        terms = Terms.from_bytes(Envelope.from_bytes(client.get("/v1/campaigns/c1/terms").content).payload)
        bodies = [records_of(terms, person) for person in range(PEOPLE)]
        records = [{"query": SECRET_QUERY, "url": SECRET_URL}]
        bodies.append(enrolment_body(terms, records))
        before = len(lines_of(log))
        for token, body in zip(tokens, bodies, strict=True):
            sent = client.put(
                "/v1/campaigns/c1/opt-in", content=body, headers={**bearer(token), "content-type": OPT_IN_TYPE}
            )
            assert sent.status_code == 201, sent.text
        assert len(lines_of(log)) == before
        alone = [SECRET_QUERY.encode(), SECRET_URL.encode(), b"only-me"]
        require_absent(data, [*IDENTIFYING, *address, *secrets, *alone, b"http://u0.example", b'"q0"'])
        require_private(data)

        assert client.post("/v1/campaigns/c1/publish", headers=bearer(operator)).status_code == 200
        manifest = Manifest.from_bytes(Envelope.from_bytes(client.get("/v1/campaigns/c1/manifest").content).payload)
        head_list = HeadList.from_bytes(client.get("/v1/campaigns/c1/list").content)
        require_absent(data, [*IDENTIFYING, *address, *secrets, *alone])
        assert not list((data / "keys").glob("*.opt-in.key"))

        keys = [deletion_key(os.urandom(32), "c1") for _ in range(UPLOADS)]
        uploads = [
            UploadedReport(report.report_id, pseudonym(key), report.question, report.data)
            for key, report in zip(keys, reports(manifest, head_list, UPLOADS), strict=True)
        ]
        before = len(lines_of(log))
        half = UPLOADS // 2
        for report in uploads[:half]:
            sent = client.put(
                f"/v1/campaigns/c1/reports/{report.report_id.hex()}",
                content=write_report(manifest.binding(head_list), report),
                headers={"content-type": REPORT_TYPE},
            )
            assert sent.status_code == 201, sent.text
        sent = client.post(
            "/v1/campaigns/c1/reports",
            content=write_batch(manifest.binding(head_list), uploads[half:]),
            headers={"content-type": BATCH_TYPE},
        )
        assert sent.json() == {"outcomes": ["accepted"] * (UPLOADS - half)}
        deleted = client.post("/v1/campaigns/c1/deletions", json={"deletion_key": keys[0].hex()})
        assert deleted.json() == {"deleted": True}
        for wrong in (b"{", b'{"deletion_key":"distinctive"}'):
            client.post("/v1/campaigns/c1/deletions", content=wrong, headers={"content-type": "application/json"})
        client.get("/distinctive/path?distinctive=query")
        assert client.head("/v1/campaigns/c1/list").content == b""
        _raw(int(port), b"GET /distinctive HTTP/9 distinctive\r\n\r\n")
        for upgrade in (b"websocket", b"h2c"):
            head = b"GET /v1/keys HTTP/1.1\r\nHost: distinctive\r\nConnection: Upgrade\r\n"
            _raw(int(port), head + b"Upgrade: " + upgrade + b"\r\n\r\n")
        assert len(lines_of(log)) == before, "a line was written for a report"

        key = bytes.fromhex((data / "keys" / pseudonym_key("c1")).read_text())
        assert stored(data / DATABASE_FILE) == {keyed(report.pseudonym, key) for report in uploads}
        pseudonyms = both(*(report.pseudonym for report in uploads))
        deletion_keys = both(*keys)
        require_absent(data, [*IDENTIFYING, *address, *secrets, *alone, *pseudonyms, *deletion_keys])
        require_private(data)
        require_no_times(data / DATABASE_FILE)

        assert client.post("/v1/campaigns/c1/release", headers=bearer(operator)).status_code == 200
        gone = both(*(report.report_id for report in uploads))
        keyed_and_sent = [*pseudonyms, *deletion_keys, *gone]
        require_absent(data, [*IDENTIFYING, *address, *secrets, *alone, *keyed_and_sent])
        assert not list((data / "keys").glob("campaign-*"))
        require_private(data)
        require_no_times(data / DATABASE_FILE)

    require_absent(data, [*IDENTIFYING, *address, *secrets, *alone, *keyed_and_sent])
    lines = [line for line in lines_of(log) if line["event"] != "serving"]
    assert {"campaign created", "enrolment tokens made", "list published", "released"} <= {
        line["event"] for line in lines
    }
    text = "\n".join(json.dumps(line) for line in lines).encode()
    for needle in [*IDENTIFYING, *address, *secrets, *alone, *keyed_and_sent, b"q0", b"Traceback"]:
        assert needle not in text, needle


def _operator(folder: Path) -> str:
    collector = open_collector(folder, utc_today)
    token = collector.tokens.create("operator")
    collector.close()
    return token


def _raw(port: int, sent: bytes) -> bytes:
    """Send bytes that may be no request at all."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(sent)
        return connection.recv(65536)


def test_no_column_tells_more_than_a_day() -> None:
    """Whoever adds a column decides here that it tells nobody's time."""
    columns = {f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns}
    days = {"intake.day", "operator_token.created", "operator_token.revoked", "signing_key.since", "signing_key.until"}
    days |= {"known_day.day", "opt_in_intake.day"}
    operators = {
        f"audit.{name}" for name in ("number", "time", "actor", "token", "name", "act", "campaign", "outcome", "detail")
    }
    timeless = {
        *(f"campaign.{name}" for name in ("number", "name", "state", "revision")),
        *(f"document.{name}" for name in ("campaign", "kind", "payload")),
        *(f"signature.{name}" for name in ("campaign", "kind", "key", "value")),
        *(f"enrolment.{name}" for name in ("campaign", "token", "state", "sealed", "nonce")),
        *(f"report.{name}" for name in ("campaign", "report_id", "pseudonym", "question", "data")),
        *(f"pending_deletion.{name}" for name in ("campaign", "pseudonym")),
        *(f"intake.{name}" for name in ("campaign", "outcome", "slot", "count")),
        *(f"opt_in_intake.{name}" for name in ("campaign", "count")),
        *(f"operator_token.{name}" for name in ("id", "name", "scopes", "hash")),
        *(f"heartbeat.{name}" for name in ("number", "value")),
        *(f"signing_key.{name}" for name in ("id", "number", "public", "statement")),
        "known_day.number",
    }
    assert columns == days | timeless | operators
    for table in metadata.sorted_tables:
        for column in table.columns:
            assert not isinstance(column.type, (sa.DateTime, sa.Time, sa.Interval))
            if f"{table.name}.{column.name}" in days:
                assert isinstance(column.type, sa.String)
                assert column.type.length == 10


def test_all_files_and_folders_are_private(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)
    for path in (tmp_path / "data", *(tmp_path / "data").rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path.name
    collector.close()


def test_what_is_printed_shows_no_secret(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    token = collector.tokens.create("operator")
    published_campaign(collector)
    assert collector.tokens.scopes_of(token)
    collector.lifecycle.create(terms_of("c2"))
    (enrolment,) = collector.opt_in.enrol("c2", 1)
    files = {name: collector.files.get(name) for name in collector.files.names()}
    assert len(files) == 4
    signing = SigningKey.of_raw(next(key for name, key in files.items() if name.startswith("signing") and key))
    reporting = collector.book.reporting("c1")
    call = Call(collector, None, body=b"a body", token=enrolment)  # type: ignore[arg-type]
    shown = "".join(
        form(value)
        for value in (collector, *vars(collector).values(), signing, reporting, collector.tokens.all(), call)
        for form in (repr, str)
    )
    assert "c1" in shown
    for secret in (token, token[-64:], enrolment, "a body", *(key.hex() for key in files.values() if key)):
        assert secret not in shown
    for key in files.values():
        assert repr(key)[2:-1] not in shown
    collector.close()


@pytest.mark.parametrize("end", ["release", "delete", "elsewhere"])
def test_keys_of_campaigns_that_are_over_are_in_no_memory(tmp_path: Path, end: str) -> None:
    """At once in the process that ends the campaign, and soon in the others."""
    collector = open_collector(tmp_path)
    operator = bearer(collector.tokens.create("operator"))
    published = published_campaign(collector, min_clients=1)
    first, second = published.make(2)

    async def talk(client: httpx.AsyncClient) -> None:
        async def put(report: UploadedReport) -> int:
            body, headers = write_report(published.binding, report), {"content-type": REPORT_TYPE}
            address = f"/v1/campaigns/c1/reports/{report.report_id.hex()}"
            return (await client.put(address, content=body, headers=headers)).status_code

        assert await put(first) == 201
        assert collector.book.known("c1")
        if end == "release":
            assert (await client.post("/v1/campaigns/c1/release", headers=operator)).status_code == 200
        elif end == "delete":
            assert (await client.delete("/v1/campaigns/c1", headers=operator)).status_code == 200
        else:
            collector.lifecycle.release("c1")
            assert await put(second) == 410
            collector.keep_house()
        assert collector.book.known("c1") is None
        assert await put(second) == (404 if end == "delete" else 410)

    with_client(collector, talk)


def test_of_libraries_it_is_told_that_they_complain() -> None:
    """Their messages might hold anything."""
    record = logging.LogRecord("sqlalchemy.pool", logging.ERROR, "x.py", 1, "bound to %s", ("somebody",), None)
    line = json.loads(_Lines().format(record))
    assert line["event"] == "a library complains"
    assert line["library"] == "sqlalchemy.pool"
    assert "somebody" not in json.dumps(line)


def test_a_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    settings = Settings(tmp_path, database="postgresql://collector:hunter2@localhost/blendp")
    assert "hunter2" not in f"{settings!r}{settings}{settings.database_url!r}{settings.database_url}"
    with pytest.raises(ParameterError) as refused:
        Settings(tmp_path, database="mysql://collector:hunter2@localhost/blendp")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "example.org", "", "127.0.0.1.example.org"]
)
def test_others_are_served_over_tls_alone(tmp_path: Path, host: str) -> None:
    with pytest.raises(ParameterError, match="loopback"):
        Settings(tmp_path, host=host)
    assert Settings(tmp_path, host=host, tls_certificate=tmp_path / "c", tls_key=tmp_path / "k").tls
    assert not Settings(tmp_path, host=host, behind_proxy="192.0.2.2").tls


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_this_machine_is_served_without_tls(tmp_path: Path, host: str) -> None:
    assert Settings(tmp_path, host=host).loopback
    with pytest.raises(ParameterError):
        Settings(tmp_path, host=host, tls_certificate=tmp_path / "c")
    with pytest.raises(ParameterError):
        Settings(tmp_path, host=host, tls_key=tmp_path / "k")


def test_tls(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path)
    trust = ssl.create_default_context(cafile=str(certificate))
    with serving(tmp_path, tls_certificate=str(certificate), tls_key=str(key)) as (url, log):
        assert url.startswith("https://127.0.0.1:")
        with httpx.Client(base_url=url, verify=trust) as client:
            answers = [
                client.get("/v1/keys"),
                client.get("/health/ready"),
                client.get("/metrics"),
                client.get("/nothing"),
                client.patch("/v1/keys"),
                client.options("/v1/keys"),
            ]
        assert [answer.status_code for answer in answers] == [200, 200, 401, 404, 405, 204]
        for answer in answers:
            assert answer.headers["strict-transport-security"] == "max-age=63072000"
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/v1/keys")
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https", "http") + "/v1/keys")
    text = log.read_text()
    assert "PRIVATE KEY" not in text
    assert all(line["level"] == "info" for line in lines_of(log))
