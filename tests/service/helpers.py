"""A collector with a published campaign, cheaply, and the requests that tests send to it."""

from __future__ import annotations

import asyncio
import datetime
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec
from sqlalchemy.engine import Connection
from starlette.applications import Starlette

from blendp.client import make_report
from blendp.headlist import HeadList
from blendp.randomness import ReleaseRandom
from blendp.reports import QUESTION_NUMBER
from blendp.service.campaigns import list_of
from blendp.service.clock import Clock
from blendp.service.collector import CollectorService
from blendp.service.http import make_app
from blendp.service.settings import Settings
from blendp.service.store.one_call import Row
from blendp.service.store.partitions import make_partition
from blendp.service.store.reports import keep_reports
from blendp.service.store.schema import campaign
from blendp.wire import Manifest, Terms, UploadedReport
from blendp.wire.reports import Binding
from tests.support import WHO

DAY = datetime.date(2026, 11, 16)
PEOPLE = 60
T = TypeVar("T")


def on(day: datetime.date = DAY) -> Clock:
    """A clock that stands still."""
    return lambda: day


def open_collector(tmp_path: Path, clock: Clock | None = None, **settings: Any) -> CollectorService:
    """A collector on the embedded database in a new folder, without a limit of rate."""
    return CollectorService.open(Settings(tmp_path / "data", **{"rate": 0.0, **settings}), clock or on())


def terms_of(name: str = "c1", **fields: Any) -> dict[str, Any]:
    """Terms that few people can fulfil."""
    usual = {
        "campaign": name,
        "title": "What is asked",
        **WHO,
        "opens": "2026-11-01",
        "opt_in_until": "2026-11-20",
        "reports_until": "2026-11-30",
        "delta": 1e-4,
        "opt_in_records": 1,
        "min_opt_in": PEOPLE,
        "min_clients": 3,
    }
    return {**usual, **fields}


NONCE = "5a" * 16


def enrolment_body(terms: Terms, records: Sequence[Mapping[str, str | None]], nonce: str = NONCE) -> bytes:
    """The opt-in body of a person."""
    return msgspec.json.encode({"terms": terms.sha256, "nonce": nonce, "records": records})


def records_of(terms: Terms, person: int) -> bytes:
    """The opt-in body of one of many people, who have few different records."""
    url = f"http://u{person % 3}.example" if terms.levels == 2 else None
    return enrolment_body(terms, [{"query": f"q{person % 3}", "url": url}])


@dataclass(frozen=True)
class Published:
    """A campaign that takes reports."""

    manifest: Manifest
    head_list: HeadList
    make: Callable[[int], list[UploadedReport]]
    """So many new reports, each possible and of an install of its own."""

    @property
    def name(self) -> str:
        return self.manifest.terms.campaign

    @cached_property
    def binding(self) -> Binding:
        return self.manifest.binding(self.head_list)


def published_campaign(collector: CollectorService, name: str = "c1", **fields: Any) -> Published:
    """Create a campaign, opt people in, and publish its list."""
    terms = collector.lifecycle.create(terms_of(name, **fields))
    for person, token in enumerate(collector.opt_in.enrol(name, terms.min_opt_in)):
        collector.opt_in.receive(name, token, records_of(terms, person))
    manifest = collector.lifecycle.publish(name)
    with collector.store.reading() as connection:
        head_list = list_of(connection, collector.book.reporting(name).number)
    assert head_list is not None
    return Published(manifest, head_list, lambda count: reports(manifest, head_list, count))


def reports(manifest: Manifest, head_list: HeadList, count: int) -> list[UploadedReport]:
    """Reports as devices make them under the blendp method."""
    batch = []
    for person in range(count):
        record = (f"q{person % 3}", f"http://u{person % 3}.example" if manifest.terms.levels == 2 else None)
        report = make_report([record], head_list, manifest.terms.epsilon, manifest.query_share, ReleaseRandom())
        question = QUESTION_NUMBER[report.question]
        batch.append(UploadedReport(os.urandom(16), os.urandom(16), question, report.data))
    return batch


def add_campaign(connection: Connection, number: int, state: str = "reporting") -> None:
    """A campaign without terms or anything, which can keep reports."""
    connection.execute(campaign.insert().values(number=number, name=f"c{number}", state=state, revision=0))
    make_partition(connection, number)


def keep_rows(connection: Connection, number: int, rows: Sequence[Row], *, hope: bool = True) -> list[str]:
    """What becomes of a campaign's rows."""
    return keep_reports(connection, {number: rows}, DAY.isoformat(), Counter(), hope=hope)[number]


def bearer(token: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"authorization": f"Bearer {token}"}


def with_client(collector: CollectorService, talk: Callable[[httpx.AsyncClient], Awaitable[T]], **transport: Any) -> T:
    """What a conversation with the running application gives; the collector is closed afterwards."""

    async def run() -> T:
        app: Starlette = make_app(lambda: collector)
        async with app.router.lifespan_context(app):
            asgi = httpx.ASGITransport(app, **transport)
            async with httpx.AsyncClient(transport=asgi, base_url="http://collector.test") as client:
                return await talk(client)

    return asyncio.run(run())
