"""The line in front of the store: shared commits, bounded, and no answer before the disk has it."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.service import intake as intake_module
from blendp.service.intake import MAX_IN_GROUP, ReportIntake
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store import Store, open_store
from blendp.service.store.one_call import Row
from blendp.service.store.reports import count_reports
from blendp.service.store.schema import campaign, intake
from tests.service.helpers import on


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings(tmp_path / "data"))
    with opened.writing() as connection:
        for number, state in ((1, "reporting"), (2, "released"), (3, "opt-in")):
            connection.execute(campaign.insert().values(number=number, name=f"c{number}", state=state, revision=0))
    yield opened
    opened.close()


class _Gate:
    """A store whose transactions wait at a gate before they begin, and can be told to fail at their end."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.locked = store.locked
        self.gate = threading.Event()
        self.transactions = 0
        self.failing = False

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        assert self.gate.wait(10)
        with self.store.writing() as connection:
            yield connection
            self.transactions += 1
            if self.failing:
                raise OSError("the disk is gone")


def _rows(first: int, count: int) -> list[Row]:
    return [(i.to_bytes(16, "big"), i.to_bytes(16, "big"), 0, b"x") for i in range(first, first + count)]


def _intake(store: Store | _Gate, seen: Counter[str], max_waiting: int = 1000) -> ReportIntake:
    def observe(outcome: str, count: int) -> None:
        seen[outcome] += count

    intake = ReportIntake(
        cast(Store, store), on(), max_waiting=max_waiting, observe=observe, show=lambda _waiting: None
    )
    intake.start()
    return intake


def _counted(store: Store) -> dict[str, int]:
    with store.reading() as connection:
        rows = connection.execute(sa.select(intake.c.outcome, sa.func.sum(intake.c.count)).group_by(intake.c.outcome))
        return {outcome: int(count) for outcome, count in rows}


def test_who_waits_shares_a_transaction(store: Store) -> None:
    gate, seen = _Gate(store), Counter[str]()
    line = _intake(gate, seen)

    async def go() -> list[list[str]]:
        sent = [asyncio.create_task(line.submit(1, _rows(10 * i, 10))) for i in range(20)]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in sent), "nobody is told before the commit"
        gate.gate.set()
        return list(await asyncio.gather(*sent))

    outcomes = asyncio.run(go())
    line.stop()
    assert outcomes == [["accepted"] * 10] * 20
    assert gate.transactions <= 2
    assert seen == {"accepted": 200}
    assert _counted(store) == {"accepted": 200}


def test_those_who_were_told_together_wait_for_each_other(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there were before share a transaction though they come one by one, and wait for no more."""
    monkeypatch.setattr(intake_module, "_GATHER_SECONDS", 60.0)
    monkeypatch.setattr(intake_module, "_CROWD", 1)
    gate = _Gate(store)
    line = _intake(gate, Counter())

    async def go() -> None:
        first = asyncio.create_task(line.submit(1, _rows(0, 1)))
        await asyncio.sleep(0.05)
        together = [asyncio.create_task(line.submit(1, _rows(10 + i, 1))) for i in range(3)]
        await asyncio.sleep(0.05)
        gate.gate.set()
        await asyncio.gather(first, *together)
        assert gate.transactions == 2
        again: list[asyncio.Task[list[str]]] = []
        for i in range(3):
            assert not any(task.done() for task in again)
            again.append(asyncio.create_task(line.submit(1, _rows(20 + i, 1))))
            await asyncio.sleep(0.05)
        await asyncio.gather(*again)
        assert gate.transactions == 3

    asyncio.run(asyncio.wait_for(go(), 30))
    line.stop()


def test_who_comes_alone_after_many_waits_a_moment_only(store: Store) -> None:
    line = _intake(store, Counter())

    async def go() -> None:
        await asyncio.gather(*(line.submit(1, _rows(i, 1)) for i in range(50)))
        assert await line.submit(1, _rows(100, 1)) == ["accepted"]

    asyncio.run(asyncio.wait_for(go(), 30))
    line.stop()


def test_a_full_line_asks_to_come_back(store: Store) -> None:
    gate = _Gate(store)
    line = _intake(gate, Counter(), max_waiting=25)

    async def go() -> list[Any]:
        sent = [asyncio.create_task(line.submit(1, _rows(10 * i, 10))) for i in range(5)]
        await asyncio.sleep(0.05)
        gate.gate.set()
        return await asyncio.gather(*sent, return_exceptions=True)

    outcomes = asyncio.run(go())
    line.stop()
    refused = [one for one in outcomes if isinstance(one, Refused)]
    assert [one.problem.slug for one in refused] == ["busy"] * 3
    assert all(one.retry_after for one in refused)
    with store.reading() as connection:
        assert count_reports(connection, 1) == 20


def test_a_batch_larger_than_the_line_is_taken_when_it_is_empty(store: Store) -> None:
    line = _intake(store, Counter(), max_waiting=5)
    assert asyncio.run(line.submit(1, _rows(0, 10))) == ["accepted"] * 10
    line.stop()


def test_a_failed_transaction_is_told_to_everybody_and_survived(store: Store) -> None:
    gate, seen = _Gate(store), Counter[str]()
    gate.gate.set()
    gate.failing = True
    line = _intake(gate, seen)

    async def go() -> None:
        with pytest.raises(Refused, check=lambda refused: refused.problem.retryable):
            await line.submit(1, _rows(0, 3))
        gate.failing = False
        assert await line.submit(1, _rows(0, 3)) == ["accepted"] * 3

    asyncio.run(go())
    line.stop()
    assert seen == {"accepted": 3}


@pytest.mark.parametrize(("number", "outcome"), [(2, "late"), (3, "wrong-state")])
def test_a_campaign_that_takes_no_reports(number: int, outcome: str, store: Store) -> None:
    line = _intake(store, Counter())
    assert asyncio.run(line.submit(number, _rows(0, 2))) == [outcome] * 2
    line.stop()
    with store.reading() as connection:
        assert count_reports(connection, number) == 0


def test_refusals_are_counted_without_a_request_waiting(store: Store) -> None:
    seen: Counter[str] = Counter()
    line = _intake(store, seen)
    line.note(1, "malformed", 3)
    line.note(1, "wrong-list")
    line.stop()
    assert _counted(store) == {"malformed": 3, "wrong-list": 1}
    assert seen == {"malformed": 3, "wrong-list": 1}


def test_stopping_keeps_what_is_in_line(store: Store) -> None:
    gate = _Gate(store)
    line = _intake(gate, Counter())

    async def go() -> list[str]:
        sent = asyncio.create_task(line.submit(1, _rows(0, 5)))
        await asyncio.sleep(0.05)
        stopping = asyncio.create_task(asyncio.to_thread(line.stop))
        await asyncio.sleep(0.05)
        with pytest.raises(Refused):
            await line.submit(1, _rows(5, 1))
        gate.gate.set()
        await stopping
        return await sent

    assert asyncio.run(go()) == ["accepted"] * 5


def test_somebody_who_left_does_not_disturb_the_others(store: Store) -> None:
    gate = _Gate(store)
    line = _intake(gate, Counter())

    async def go() -> list[str]:
        left = asyncio.create_task(line.submit(1, _rows(0, 1)))
        stays = asyncio.create_task(line.submit(1, _rows(1, 1)))
        await asyncio.sleep(0.05)
        left.cancel()
        await asyncio.sleep(0)
        gate.gate.set()
        return await stays

    assert asyncio.run(go()) == ["accepted"]
    line.stop()


def test_groups_are_bounded(store: Store) -> None:
    gate = _Gate(store)
    line = _intake(gate, Counter(), max_waiting=10 * MAX_IN_GROUP)

    async def go() -> list[list[str]]:
        size = MAX_IN_GROUP // 2 + 1
        sent = [asyncio.create_task(line.submit(1, _rows(i * size, size))) for i in range(3)]
        await asyncio.sleep(0.05)
        gate.gate.set()
        return list(await asyncio.gather(*sent))

    assert all(set(outcomes) == {"accepted"} for outcomes in asyncio.run(go()))
    line.stop()
    assert gate.transactions == 3


def test_whoever_listens_to_numbers_cannot_stop_the_intake(store: Store) -> None:
    def fail(*_: object) -> None:
        raise OSError("no room for numbers")

    line = ReportIntake(store, on(), max_waiting=100, observe=fail, show=fail)
    line.start()
    assert asyncio.run(line.submit(1, _rows(0, 2))) == ["accepted"] * 2
    assert asyncio.run(line.submit(1, _rows(2, 2))) == ["accepted"] * 2
    assert line.alive
    line.stop()
    assert not line.alive
