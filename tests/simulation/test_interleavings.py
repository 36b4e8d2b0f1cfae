"""What happens between the two transactions of a publication or release, step by step in one process."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blendp.service import lifecycle as lifecycle_module
from blendp.service.campaigns import keyed
from blendp.service.collector import CollectorService
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store.schema import document
from blendp.wire.install import pseudonym
from tests.service.helpers import keep_rows
from tests.service.postgres import Postgres
from tests.support import WHO

TODAY = datetime.date(2026, 11, 16)
TERMS: dict[str, Any] = {
    "campaign": "c",
    "title": "What people look for",
    **WHO,
    "opens": "2026-11-01",
    "opt_in_until": "2026-11-20",
    "reports_until": "2026-11-30",
    "min_opt_in": 3,
    "min_clients": 3,
    "epsilon": 8.0,
    "delta": 0.05,
    "expected_clients": 20,
}


@pytest.fixture
def tokens() -> list[str]:
    """Of the opt-in people."""
    return []


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def collectors(
    request: pytest.FixtureRequest, tokens: list[str], tmp_path: Path
) -> Iterator[tuple[CollectorService, CollectorService]]:
    """Two processes' views of one service, with a campaign that can be published."""
    database = None
    if request.param == "postgresql":
        postgres: Postgres = request.getfixturevalue("postgres")
        database = postgres.new_database()
    settings = Settings(tmp_path, database=database)
    one, two = (CollectorService.open(settings, lambda: TODAY) for _ in range(2))
    terms = one.lifecycle.create(TERMS)
    tokens += one.opt_in.enrol("c", 5)
    for person, token in enumerate(tokens):
        records = [{"query": f"common {person % 2}", "url": "http://example.org/"}]
        body = json.dumps({"terms": terms.sha256, "nonce": f"{person:032x}", "records": records}).encode()
        assert one.opt_in.receive("c", token, body) == "accepted"
    yield one, two
    one.close()
    two.close()


def meanwhile(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, happens: Callable[[], object]) -> None:
    """Have something happen just before this function is called for the first time."""
    original = getattr(owner, name)
    happened: list[bool] = []

    def called(*given: Any, **named: Any) -> Any:
        if not happened:
            happened.append(True)
            happens()
        return original(*given, **named)

    monkeypatch.setattr(owner, name, called)


def before_reading(monkeypatch: pytest.MonkeyPatch, collector: CollectorService, happens: Callable[[], object]) -> None:
    """Have something happen between the first transaction and the look at what it closed."""
    meanwhile(monkeypatch, type(collector.store), "reading", happens)


def asked_to_come_back(verb: Callable[[str], object]) -> None:
    with pytest.raises(Refused) as refused:
        verb("c")
    assert refused.value.problem.slug == "busy"


def report(collector: CollectorService, count: int = 4) -> None:
    reporting = collector.book.reporting("c")
    rows = [(bytes([number]) * 16, bytes([number]) * 16, 0, b"\0") for number in range(count)]
    with collector.store.writing() as connection:
        assert keep_rows(connection, reporting.number, rows) == ["accepted"] * count


def kinds(collector: CollectorService) -> set[str]:
    with collector.store.reading() as connection:
        return {row.kind for row in connection.execute(document.select())}


def test_published_meanwhile(
    collectors: tuple[CollectorService, CollectorService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = collectors
    before_reading(monkeypatch, one, lambda: two.lifecycle.publish("c"))
    with pytest.raises(Refused) as refused:
        one.lifecycle.publish("c")
    assert refused.value.problem.slug == "wrong-state"


def test_published_while_the_list_is_made(
    collectors: tuple[CollectorService, CollectorService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = collectors
    meanwhile(monkeypatch, lifecycle_module, "make_list", lambda: asked_to_come_back(two.lifecycle.publish))
    assert one.lifecycle.publish("c").opt_in_people == 5


def test_released_meanwhile(
    collectors: tuple[CollectorService, CollectorService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = collectors
    one.lifecycle.publish("c")
    report(one)
    before_reading(monkeypatch, one, lambda: two.lifecycle.release("c"))
    with pytest.raises(Refused) as refused:
        one.lifecycle.release("c")
    assert refused.value.problem.slug == "wrong-state"


def test_released_while_it_is_computed(
    collectors: tuple[CollectorService, CollectorService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = collectors
    one.lifecycle.publish("c")
    report(one)
    meanwhile(monkeypatch, lifecycle_module, "conclude", lambda: asked_to_come_back(two.lifecycle.release))
    assert one.lifecycle.release("c")[1].groups.client == 4


@pytest.mark.parametrize("verb", ["publish", "release"])
def test_deleted_meanwhile(
    collectors: tuple[CollectorService, CollectorService], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    one, two = collectors
    if verb == "release":
        one.lifecycle.publish("c")
        report(one)
    before_reading(monkeypatch, one, lambda: two.lifecycle.delete("c"))
    with pytest.raises(Refused) as refused:
        getattr(one.lifecycle, verb)("c")
    assert refused.value.problem.slug == "not-found"
    assert not kinds(one)


@pytest.mark.parametrize("leaving", [1, 2, 3, 5])
def test_people_withdraw_meanwhile(
    collectors: tuple[CollectorService, CollectorService],
    tokens: list[str],
    monkeypatch: pytest.MonkeyPatch,
    leaving: int,
) -> None:
    """Whoever left before the list was there is not in it; if too many left, there is none."""
    one, two = collectors
    before_reading(monkeypatch, one, lambda: [two.opt_in.withdraw("c", token) for token in tokens[:leaving]])
    if leaving <= 2:
        assert one.lifecycle.publish("c").opt_in_people == 5 - leaving
        return
    with pytest.raises(Refused) as refused:
        one.lifecycle.publish("c")
    assert refused.value.problem.slug == "too-few"
    assert kinds(one) == {"terms"}


def test_a_report_is_deleted_meanwhile(
    collectors: tuple[CollectorService, CollectorService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = collectors
    one.lifecycle.publish("c")
    key = bytes(32)
    report(one, 3)
    reporting = one.book.reporting("c")
    row = (b"x" * 16, keyed(pseudonym(key), reporting.pseudonym_key), 0, b"\0")
    with one.store.writing() as connection:
        keep_rows(connection, reporting.number, [row])
    before_reading(monkeypatch, one, lambda: two.forget_report("c", key))
    _, release = one.lifecycle.release("c")
    assert release.groups.client == 3
