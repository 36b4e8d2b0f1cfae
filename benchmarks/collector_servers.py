"""Servers for the collector's benchmark: a campaign that takes reports, fresh for every run, and who serves it."""

from __future__ import annotations

import datetime
import http.client
import itertools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psycopg

from benchmarks.peers.environment import ROOT
from blendp.headlist import HeadList
from blendp.reports import Question
from blendp.service.campaigns import find, payload
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.wire.campaign import Manifest
from blendp.wire.enrolments import MAX_ENROLMENTS
from blendp.wire.reports import Binding

CAMPAIGN = "load"
OPT_IN_PEOPLE, OPT_IN_RECORDS, POOL = 200, 10, 500
PRODUCT, FLOOR, NAIVE = "product", "floor", "naive floor"

_SERVE = """
import sys
from pathlib import Path
from blendp.service.server import serve
from blendp.service.settings import Settings
data, database, workers = sys.argv[1:]
serve(Settings(Path(data), database=database or None, workers=int(workers), rate=0, port=0))
"""
_STARTING_SECONDS, _STOPPING_SECONDS = 30.0, 15.0
_TUNED = ("cache_size", "wal_autocheckpoint", "mmap_size", "temp_store")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Location:
    """A folder of keys and, unless there is a PostgreSQL database, of the embedded one."""

    data: Path
    database: str | None = None


@dataclass(frozen=True)
class Prepared:
    """A campaign whose list is public, to be copied for every run."""

    location: Location
    number: int
    binding: Binding
    possible: list[list[str]]
    impossible: list[str]
    tuning: str
    """How the collector tunes the embedded database, for the floor to do the same."""

    names: Iterator[int]

    @contextmanager
    def copy(self) -> Iterator[Location]:
        """The same again, and gone afterwards."""
        name = f"run{next(self.names)}"
        data = self.location.data.with_name(name)
        shutil.copytree(self.location.data, data)
        try:
            if self.location.database is None:
                yield Location(data)
                return
            with _database_of(self.location.database, name) as url:
                yield Location(data, url)
        finally:
            shutil.rmtree(data)


def prepare(location: Location) -> Prepared:
    """Make a campaign up to the point where it takes reports."""
    collector = CollectorService.open(Settings(location.data, database=location.database))
    try:
        manifest = publish_campaign(collector)
        number, binding, asked = _asked(collector, manifest)
        with collector.store.reading() as connection:
            tuned = _TUNED if collector.store.embedded else ()
            tuning = [f"{name}={connection.exec_driver_sql(f'PRAGMA {name}').scalar_one()}" for name in tuned]
    finally:
        collector.close()
    return Prepared(
        location=location,
        number=number,
        binding=binding,
        possible=_possible(asked),
        impossible=[_impossible(form) for form in asked],
        tuning=",".join(tuning),
        names=itertools.count(),
    )


def possible_reports(collector: CollectorService, manifest: Manifest) -> list[list[str]]:
    """Data of reports that a campaign takes, for each of its two questions."""
    return _possible(_asked(collector, manifest)[2])


def _asked(collector: CollectorService, manifest: Manifest) -> tuple[int, Binding, list[Question]]:
    """A campaign's number, what reports are bound to, and the forms of reports about the query and about the record."""
    with collector.store.reading() as connection:
        number = find(connection, manifest.terms.campaign).number
        head_list = HeadList.from_bytes(payload(connection, number, "list") or b"")
    return number, manifest.binding(head_list), list(manifest.scheme(head_list).questions.values())


def _possible(asked: list[Question]) -> list[list[str]]:
    return [[_data(form, secrets.randbelow(form.possible_reports)) for _ in range(POOL)] for form in asked]


def publish_campaign(
    collector: CollectorService, name: str = CAMPAIGN, different_records: int = OPT_IN_RECORDS
) -> Manifest:
    """A campaign that takes reports; so many records are popular enough to be listed."""
    people = OPT_IN_PEOPLE // OPT_IN_RECORDS * different_records
    today = collector.clock()
    until = (today + datetime.timedelta(days=30)).isoformat()
    terms = collector.lifecycle.create(
        {
            "campaign": name,
            "title": "Load",
            "organisation": "Nobody",
            "purpose": "To measure a collector",
            "contact": "none",
            "opens": today.isoformat(),
            "opt_in_until": until,
            "reports_until": (today + datetime.timedelta(days=60)).isoformat(),
            "delta": 1e-4,
            "size": None,
            "min_opt_in": people,
        }
    )
    pieces = (collector.opt_in.enrol(name, min(MAX_ENROLMENTS, people - of)) for of in range(0, people, MAX_ENROLMENTS))
    for number, token in enumerate(itertools.chain.from_iterable(pieces)):
        item = number % different_records
        records = [{"query": f"query {item}", "url": f"https://{item}.example.org"}]
        body = msgspec.json.encode({"terms": terms.sha256, "nonce": f"{number:032x}", "records": records})
        collector.opt_in.receive(name, token, body)
    return collector.lifecycle.publish(name)


def _data(form: Question, value: int) -> str:
    return value.to_bytes(form.report_bytes, "big").hex()


def _impossible(form: Question) -> str:
    """The first number that is too large, or one more byte if all numbers are possible."""
    return (
        _data(form, form.possible_reports)
        if form.possible_reports < 256**form.report_bytes
        else "00" * (form.report_bytes + 1)
    )


@contextmanager
def _database_of(template: str, name: str) -> Iterator[str]:
    base, _, options = template.partition("?")
    root, _, original = base.rpartition("/")
    with psycopg.connect(f"{root}/postgres?{options}", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{original}"'.encode())
        connection.execute("CHECKPOINT")
    try:
        yield f"{root}/{name}?{options}"
    finally:
        with psycopg.connect(f"{root}/postgres?{options}", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@dataclass(frozen=True)
class Server:
    """A server process, with those it started."""

    process: subprocess.Popen[bytes]
    host: str
    port: int

    def pids(self) -> list[int]:
        """Its processes; all of them are its children, none theirs."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        children = [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
        return [self.process.pid, *children]

    def megabytes(self, name: str) -> float:
        """Memory of all its processes: VmRSS now, VmHWM at its peak."""
        return sum(_status(pid, name) for pid in self.pids()) / 1000

    def processor_seconds(self) -> float:
        """Processor time of all its processes so far."""
        used = 0
        for pid in self.pids():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
        return used / _TICKS


def _status(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return float(line.split()[1])
    return 0.0


@contextmanager
def serving(side: str, prepared: Prepared, location: Location, workers: int) -> Iterator[Server]:
    """The collector or a floor, on a free port, from when it answers."""
    database = location.database or ""
    if side == PRODUCT:
        command = ["-c", _SERVE, str(location.data), database, str(workers)]
    else:
        grouped = "0" if side == NAIVE else "1"
        settings = (str(location.data), database, str(workers), str(prepared.number), grouped, prepared.tuning)
        command = ["-m", "benchmarks.collector_floor", *settings]
    journal = location.data / "journal"
    with journal.open("wb") as lines:
        process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stderr=lines)
    try:
        server = Server(process, *_address(process, journal))
        _await_ready(server, workers)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOPPING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], journal: Path) -> tuple[str, int]:
    end = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < end and process.poll() is None:
        for line in journal.read_text().splitlines():
            if line.startswith("{") and (url := json.loads(line).get("url")):
                host, _, port = url.rpartition("://")[2].rpartition(":")
                return host, int(port)
        time.sleep(0.02)
    raise RuntimeError(f"the server did not start: {journal.read_text()[-1000:]}")


def _await_ready(server: Server, workers: int) -> None:
    """Until it answers, and as many processes hold the application as there are workers."""
    end = time.monotonic() + _STARTING_SECONDS
    while True:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=_STARTING_SECONDS)
        try:
            connection.request("GET", "/health/ready")
            if connection.getresponse().status == 200:
                break
        except OSError:
            pass
        finally:
            connection.close()
        if time.monotonic() > end:
            raise RuntimeError("the server is not ready")
        time.sleep(0.05)
    if workers > 1:
        time.sleep(1.0)
