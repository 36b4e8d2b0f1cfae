"""A database that is away is told in the log: once when it goes, once when it is back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from blendp.service.collector import CollectorService
from blendp.service.refusal import Refused
from blendp.service.store import outage as outage_module
from blendp.service.store.schema import campaign
from tests.service.helpers import open_collector, terms_of


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorService]:
    opened = open_collector(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    lines: list[tuple[str, dict[str, Any]]] = []
    for name in ("tell", "warn"):
        monkeypatch.setattr(outage_module, name, lambda event, **members: lines.append((event, members)))
    return lines


def _write(collector: CollectorService) -> None:
    with collector.store.writing() as connection:
        connection.execute(campaign.update().values(revision=1))


def _read(collector: CollectorService) -> None:
    with collector.store.reading() as connection:
        connection.execute(sa.select(campaign)).all()


def _fail(code: int) -> Any:
    def fail(*_: Any) -> None:
        error = sqlite3.OperationalError("something is wrong")
        error.sqlite_errorcode = code
        raise error

    return fail


def test_an_outage_is_told_once_with_its_length(
    collector: CollectorService, journal: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [100.0]
    monkeypatch.setattr(collector.store._outage, "stopwatch", lambda: seconds[0])
    with monkeypatch.context() as patched:
        patched.setattr(collector.store.engine.dialect, "do_commit", _fail(sqlite3.SQLITE_FULL))
        for _ in range(50):
            with pytest.raises(Refused):
                _write(collector)
            _read(collector)
            seconds[0] += 1
    assert journal == [("the database cannot be used", {"reason": "storage-full", "error": "OperationalError"})]
    _read(collector)
    assert len(journal) == 1, "that it can be read says nothing about writing"
    _write(collector)
    assert journal[1:] == [("the database can be used again", {"seconds": 50, "failures": 50})]
    _write(collector)
    assert len(journal) == 2


def test_an_outage_of_reading_ends_with_reading(
    collector: CollectorService, journal: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(collector.store.engine.dialect, "do_execute", _fail(sqlite3.SQLITE_IOERR))
        with pytest.raises(Refused):
            _read(collector)
    _read(collector)
    assert [event for event, _ in journal] == ["the database cannot be used", "the database can be used again"]
    assert journal[0][1]["reason"] == "unreachable"


def test_a_refusal_is_no_outage(collector: CollectorService, journal: list[Any]) -> None:
    collector.lifecycle.create(terms_of())
    for verb in (lambda: collector.lifecycle.create(terms_of()), lambda: collector.lifecycle.publish("c1")):
        with pytest.raises(Refused):
            verb()
    with pytest.raises(Refused), collector.store.writing() as connection:
        connection.execute(campaign.insert().values(name="c1", state="opt-in", revision=0))
    assert journal == []
