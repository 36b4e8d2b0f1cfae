"""A system's clock that runs fast, jumps or goes back: what is then not refused, not deleted and not destroyed."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from blendp.service.audit import LOCAL
from blendp.service.calendar import QUARANTINE_DAYS, TOLERANCE_DAYS
from blendp.service.clock import reading
from blendp.service.collector import CollectorService
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.wire.media_types import BATCH_TYPE
from blendp.wire.reports import write_batch
from tests.service.helpers import DAY, bearer, published_campaign, records_of, terms_of, with_client

HOUR, DAY_SECONDS = 3600.0, 86_400.0


def days(count: int) -> datetime.timedelta:
    return datetime.timedelta(days=count)


@dataclass
class Machine:
    """A machine whose clock can be set; its stopwatch cannot."""

    day: datetime.date = DAY
    seconds: float = 1000.0

    def system(self) -> datetime.date:
        return self.day

    def stopwatch(self) -> float:
        return self.seconds

    def passes(self, count: float) -> None:
        """Days pass, and both clocks say so."""
        self.day += days(int(count))
        self.seconds += count * DAY_SECONDS

    def open(self, tmp_path: Path) -> CollectorService:
        return CollectorService.open(Settings(tmp_path / "data", rate=0.0), self.system, self.stopwatch)


def _refusal(slug: str) -> Any:
    return pytest.raises(Refused, check=lambda refused: refused.problem.slug == slug)


def test_reports_are_not_refused_for_good_by_a_clock_that_runs_fast(tmp_path: Path) -> None:
    machine = Machine()
    collector = machine.open(tmp_path)
    published = published_campaign(collector)
    body = write_batch(published.binding, published.make(2))
    headers = {"content-type": BATCH_TYPE}

    async def talk(client: httpx.AsyncClient) -> None:
        machine.day += days(60)
        answer = await client.post("/v1/campaigns/c1/reports", content=body, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:blendp:problem:busy")
        assert int(answer.headers["retry-after"]) > 0
        machine.day -= days(60)
        answer = await client.post("/v1/campaigns/c1/reports", content=body, headers=headers)
        assert answer.json() == {"outcomes": ["accepted", "accepted"]}
        machine.passes(15)
        answer = await client.post("/v1/campaigns/c1/reports", content=body, headers=headers)
        assert answer.status_code == 410, "fifteen days have passed by every clock: it is late"

    with_client(collector, talk)


def test_opt_in_people_are_not_refused_for_good_by_a_clock_that_runs_fast(tmp_path: Path) -> None:
    machine = Machine()
    collector = machine.open(tmp_path)
    terms = collector.lifecycle.create(terms_of())
    (token,) = collector.opt_in.enrol("c1", 1)
    machine.day += days(30)
    with _refusal("busy"):
        collector.opt_in.receive("c1", token, records_of(terms, 0))
    machine.day -= days(30)
    assert collector.opt_in.receive("c1", token, records_of(terms, 0)) == "accepted"
    collector.close()


def test_a_fast_clock_destroys_no_key_in_its_overlap(tmp_path: Path) -> None:
    machine = Machine()
    collector = machine.open(tmp_path)
    collector.lifecycle.rotate_keys(10)
    keys = collector.files.names()
    machine.day += days(60)
    collector.keep_house()
    assert collector.files.names() == keys
    with _refusal("busy"):
        collector.lifecycle.rotate_keys(10)
    collector.close()
    again = machine.open(tmp_path)
    again.tidy()
    assert again.files.names() == keys, "nor does a restart"
    again.close()


def test_a_small_error_of_the_clock_destroys_no_key_either(tmp_path: Path) -> None:
    """A clock that is believed may still be a little ahead: keys outlive their overlap by more than that."""
    machine = Machine()
    collector = machine.open(tmp_path)
    collector.lifecycle.rotate_keys(0)
    keys = collector.files.names()
    machine.day += days(TOLERANCE_DAYS)
    collector.keep_house()
    assert reading(collector.clock).sure
    assert collector.files.names() == keys
    machine.passes(8)
    collector.keep_house()
    assert len(collector.files.names()) == len(keys) - 1
    assert collector.trail.entries()[0].act == "destroy-key"
    collector.close()


def test_a_jump_while_running_is_never_believed(tmp_path: Path) -> None:
    machine = Machine()
    collector = machine.open(tmp_path)
    machine.day += days(40)
    for _ in range(10):
        machine.passes(1)
        collector.keep_house()
    now = reading(collector.clock)
    assert (now.day, now.system, now.sure) == (DAY + days(10), DAY + days(50), False)
    assert "blendp clock accept" in (now.doubt or "")
    machine.day -= days(40)
    collector.keep_house()
    assert reading(collector.clock).sure
    collector.close()


def test_a_collector_that_was_off_believes_the_clock_after_a_day(tmp_path: Path) -> None:
    machine = Machine()
    machine.open(tmp_path).close()
    machine.passes(40)
    collector = machine.open(tmp_path)
    now = reading(collector.clock)
    assert (now.day, now.system, now.sure) == (DAY, DAY + days(40), False)
    machine.seconds += 12 * HOUR
    collector.keep_house()
    assert not reading(collector.clock).sure
    assert "12 hours" in (reading(collector.clock).doubt or "")
    machine.passes(QUARANTINE_DAYS)
    collector.keep_house()
    assert reading(collector.clock).sure
    assert collector.clock() == machine.day
    collector.close()


def test_a_second_jump_begins_the_wait_anew(tmp_path: Path) -> None:
    machine = Machine()
    machine.open(tmp_path).close()
    machine.passes(40)
    collector = machine.open(tmp_path)
    machine.seconds += 20 * HOUR
    machine.day += days(30)
    collector.keep_house()
    machine.seconds += 20 * HOUR
    collector.keep_house()
    assert not reading(collector.clock).sure
    collector.close()


def test_a_short_stop_is_no_reason_to_doubt(tmp_path: Path) -> None:
    machine = Machine()
    machine.open(tmp_path).close()
    machine.passes(TOLERANCE_DAYS)
    collector = machine.open(tmp_path)
    assert reading(collector.clock).sure
    collector.close()


@pytest.mark.parametrize("ahead", [1, 30])
def test_the_day_never_goes_back(tmp_path: Path, ahead: int) -> None:
    machine = Machine(DAY + days(ahead))
    machine.open(tmp_path).close()
    machine.day = DAY
    collector = machine.open(tmp_path)
    assert collector.clock() == DAY + days(ahead)
    assert reading(collector.clock).sure == (ahead <= TOLERANCE_DAYS)
    machine.passes(5)
    collector.keep_house()
    assert collector.clock() >= DAY + days(ahead)
    collector.close()


def test_an_operator_confirms_the_day_for_all_processes(tmp_path: Path) -> None:
    machine = Machine()
    one, other = machine.open(tmp_path), machine.open(tmp_path)
    token = one.tokens.create("alice")
    machine.day += days(40)

    async def talk(client: httpx.AsyncClient) -> None:
        headers = bearer(token)
        clock = (await client.get("/v1/clock", headers=headers)).json()
        assert (clock["day"], clock["system"]) == (DAY.isoformat(), machine.day.isoformat())
        wrong = await client.post("/v1/clock", headers=headers, json={"day": DAY.isoformat()})
        assert wrong.json()["type"] == "urn:blendp:problem:conflict"
        right = await client.post("/v1/clock", headers=headers, json={"day": machine.day.isoformat()})
        assert right.json() == {"day": machine.day.isoformat(), "system": machine.day.isoformat(), "doubt": None}

    with_client(one, talk)
    assert not reading(other.clock).sure
    other.keep_house()
    assert reading(other.clock).sure
    entry = other.trail.entries()[0]
    assert (entry.act, entry.name, entry.outcome, entry.detail) == (
        "accept-clock",
        "alice",
        "done",
        machine.day.isoformat(),
    )
    other.close()


def test_an_operator_can_take_a_day_back(tmp_path: Path) -> None:
    """The first start of a collector on a clock that runs fast: nothing contradicts it, until it is set right."""
    machine = Machine(DAY + days(400))
    collector = machine.open(tmp_path)
    machine.day = DAY
    collector.keep_house()
    assert not reading(collector.clock).sure
    collector.accept_clock(DAY, LOCAL)
    now = reading(collector.clock)
    assert (now.day, now.sure) == (DAY, True)
    collector.close()
