"""Whether a collector can keep what it is sent: told truly, and at the cost of few writes."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import event

from blendp.service.collector import CollectorService
from blendp.service.readiness import Readiness
from blendp.service.settings import Settings
from tests.service.faults import Control, install_in
from tests.service.helpers import on, open_collector, with_client
from tests.service.postgres import Postgres


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def collector(request: pytest.FixtureRequest, tmp_path: Path) -> CollectorService:
    """One that tries anew whenever it is asked."""
    database = None if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()
    opened = CollectorService.open(Settings(tmp_path / "data", database, rate=0.0), on())
    opened.readiness.every = 0.0
    return opened


async def reason(client: httpx.AsyncClient) -> str | None:
    """Why the collector says that it is not ready; None if it is."""
    answer = await client.get("/health/ready")
    if answer.status_code == 200:
        return None
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["type"] == "urn:blendp:problem:busy"
    return str(answer.json()["reason"])


def test_a_full_disk_of_the_database(collector: CollectorService, tmp_path: Path) -> None:
    control = Control(tmp_path / "control")
    install_in(collector.store.engine, control)

    async def talk(client: httpx.AsyncClient) -> None:
        control.full = True
        assert await reason(client) == "storage-full"
        assert (await client.get("/health/live")).status_code == 200
        control.full = False
        assert await reason(client) is None

    with_client(collector, talk)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, "storage-full"),
        (errno.EDQUOT, "storage-full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "read-only"),
        (errno.EIO, "unreachable"),
    ],
)
def test_a_disk_under_the_keys_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: str
) -> None:
    collector = open_collector(tmp_path)
    collector.readiness.every = 0.0

    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    async def talk(client: httpx.AsyncClient) -> None:
        assert await reason(client) is None
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            assert await reason(client) == expected
        assert await reason(client) is None
        assert not list((tmp_path / "data").glob(".writable*"))

    with_client(collector, talk)


def test_an_embedded_database_that_can_only_be_read(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    collector.readiness.every = 0.0
    only = ["ON"]

    def set_up(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA query_only={only[0]}").close()

    event.listen(collector.store.engine, "checkout", set_up)

    async def talk(client: httpx.AsyncClient) -> None:
        assert await reason(client) == "read-only"
        only[0] = "OFF"
        assert await reason(client) is None

    with_client(collector, talk)


@pytest.mark.xdist_group("postgres")
def test_a_postgresql_that_can_only_be_read(postgres: Postgres, tmp_path: Path) -> None:
    address = postgres.new_database()
    collector = CollectorService.open(Settings(tmp_path / "data", address, rate=0.0), on())
    collector.readiness.every = 0.0

    def set_read_only(value: str) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {value}')
        collector.store.engine.dispose()

    async def talk(client: httpx.AsyncClient) -> None:
        set_read_only("on")
        assert await reason(client) == "read-only"
        set_read_only("off")
        assert await reason(client) is None

    with_client(collector, talk)


def test_many_who_ask_share_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while it takes long, and one of them goes away; no thread waits for it but one."""
    collector, tries, go_on = open_collector(tmp_path), [], Event()
    collector.readiness.every = 3600.0

    def write(_self: Readiness) -> None:
        tries.append(1)
        assert go_on.wait(30)

    monkeypatch.setattr(Readiness, "_write", write)

    async def talk(client: httpx.AsyncClient) -> None:
        asking = [asyncio.create_task(client.get("/health/ready")) for _ in range(200)]
        while not tries:
            await asyncio.sleep(0.001)
        assert (await client.get("/v1/keys")).status_code == 200
        asking[0].cancel()
        go_on.set()
        answers = await asyncio.gather(*asking[1:])
        assert {one.status_code for one in answers} == {200}
        assert (await client.get("/health/ready")).status_code == 200
        assert len(tries) == 1

    with_client(collector, talk)
