"""A device that dies at any moment draws once, spends once and sends the same bytes."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from blendp.client import Consent, Device, Http
from tests.support import KnownKey
from tests.unit.client.fake_collector import CAMPAIGN, RECORDS, TOKEN, Clock, FakeCollector


class DeadError(BaseException):
    """The process is gone."""


class Mortal:
    """A connection that dies after so many statements, and then does nothing more, not even roll back."""

    def __init__(self, connection: sqlite3.Connection, lives: int) -> None:
        self.connection, self.lives, self.dead = connection, lives, False

    def execute(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        if self.dead:
            raise DeadError
        done = self.connection.execute(sql, tuple(values))
        self.lives -= 1
        if not self.lives:
            self.dead = True
            raise DeadError
        return done

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    def close(self) -> None:
        self.connection.close()


def mortal(device: Device, lives: int) -> Mortal:
    """Let this device die after so many statements."""
    connection = Mortal(device._store._connection, lives)
    device._store._connection = connection  # type: ignore[assignment]
    return connection


class DyingTransport(httpx.BaseTransport):
    """Dies before or after a request arrives."""

    def __init__(self, fake: FakeCollector, *, arrives: bool) -> None:
        self.fake, self.arrives = fake, arrives

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method != "GET":
            if self.arrives:
                self.fake._answer(request)
            raise DeadError
        return self.fake._answer(request)


def sent(fake: FakeCollector) -> set[tuple[str, bytes]]:
    return {(str(request.url), request.content) for request in fake.writes if request.method == "PUT"}


@pytest.mark.parametrize("act", ["take_part", "enrol", "send", "forget", "off"])
def test_death_after_any_statement_leaves_one_draw(tmp_path: Path, act: str) -> None:
    """Die after the first, the second, ... statement of an act; reopen, do it again, and look."""
    deaths = 0
    for lives in range(1, 200):
        folder, fake, clock = tmp_path / str(lives), FakeCollector(), Clock()
        opt_in = act == "enrol"
        consent = Consent.OPT_IN if opt_in else Consent.LOCAL

        def perform(device: Device) -> None:
            if act == "enrol":
                device.enrol(CAMPAIGN, TOKEN, RECORDS)
            else:
                device.take_part(CAMPAIGN, RECORDS)
            if act == "send":
                device.send()
            if act in ("forget", "off"):
                device.send()
                device.forget(CAMPAIGN) if act == "forget" else device.set_consent(Consent.OFF)

        first = fake.device(folder, clock, consent=consent, random=KnownKey(1))
        connection = mortal(first, lives)
        try:
            perform(first)
        except DeadError:
            deaths += 1
        dead = connection.dead
        first.close()
        with fake.device(folder, clock, consent=None, random=KnownKey(2)) as second:
            before = second.participation(CAMPAIGN)
            items = second.items
            assert (before is None) == (not items) == (not second.ledger.entries)
            if second.consent is Consent.OFF:
                assert act == "off"
            else:
                perform(second)
            clock.now += 10_000
            second.send(wait=True)
            if before is not None:
                assert second.participation(CAMPAIGN) == dataclass_without_token(second, before)
            assert len(second.ledger.entries) == 1
            assert len([item for item in second.items if item.kind in ("report", "opt-in")]) == 1
            assert len(sent(fake)) <= 1
            if act in ("forget", "off"):
                assert not fake.reports
            else:
                assert len(fake.opt_in if opt_in else fake.reports) == 1
        if not dead:
            break
    assert deaths == lives - 1
    assert deaths > 10


def dataclass_without_token(device: Device, before: Any) -> Any:
    """What was written before; a token may have been wiped since."""
    now = device.participation(CAMPAIGN)
    assert now is not None
    assert now.token in (None, before.token)
    return before if now.token == before.token else now


@pytest.mark.parametrize("arrives", [False, True], ids=["before sending", "before the answer"])
def test_death_while_sending_repeats_the_same_bytes(tmp_path: Path, arrives: bool) -> None:
    fake, clock = FakeCollector(), Clock()
    http = Http(DyingTransport(fake, arrives=arrives))
    first = fake.device(tmp_path, clock, collector=fake.collector(http=http))
    done = first.take_part(CAMPAIGN, RECORDS)
    with pytest.raises(DeadError):
        first.send()
    first.close()
    with fake.device(tmp_path, clock, random=KnownKey(99)) as second:
        assert second.take_part(CAMPAIGN, [("another", "http://record.org")]) == done
        assert second.items[0].attempts == 1
        second.send(wait=True)
        assert (second.items[0].state, second.items[0].reason) == ("sent", "duplicate" if arrives else "accepted")
    assert len(sent(fake)) == len(fake.reports) == 1


class Mishaps(RuleBasedStateMachine):
    """Any order of acts, of which any may die at any statement or on the network."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.fake, self.clock, self.seed = FakeCollector(), Clock(), 0
        self.drawn: set[bytes] = set()
        self.device = self.fake.device(self.folder, self.clock)

    def teardown(self) -> None:
        self.device.close()
        shutil.rmtree(self.folder)

    def act(self, name: str, lives: int) -> None:
        connection = self.device._store._connection
        mortal(self.device, lives)
        try:
            if name == "take_part":
                self.device.take_part(CAMPAIGN, RECORDS)
            elif name == "send":
                self.device.send()
            elif name in ("off", "local"):
                self.device.set_consent(Consent(name))
            elif self.device.participation(CAMPAIGN) is not None:
                self.device.forget(CAMPAIGN)
        except (DeadError, ValueError):
            pass
        self.device._store._connection = connection
        self.device.close()
        self.seed += 1
        self.device = self.fake.device(self.folder, self.clock, consent=None, random=KnownKey(self.seed))

    @rule(name=st.sampled_from(["take_part", "take_part", "send", "send", "forget", "off", "local"]),
          lives=st.integers(min_value=1, max_value=60))  # fmt: skip
    def mishap(self, name: str, lives: int) -> None:
        self.act(name, lives)

    @rule(failure=st.sampled_from([httpx.ConnectError("away"), httpx.ReadTimeout("slow"), 503, 429]))
    def trouble(self, failure: Exception | int) -> None:
        self.fake.failures.append(httpx.Response(failure) if isinstance(failure, int) else failure)

    @rule(seconds=st.integers(min_value=1, max_value=10_000))
    def time_passes(self, seconds: int) -> None:
        self.clock.now += seconds

    @invariant()
    def one_draw(self) -> None:
        done, entries = self.device.participation(CAMPAIGN), self.device.ledger.entries
        assert (done is None) == (not entries)
        assert len(entries) <= 1
        assert len(sent(self.fake)) <= 1
        if done is not None:
            assert done.data is not None
            self.drawn.add(done.data + (done.report_id or b""))
        assert len(self.drawn) <= 1
        assert len(self.fake.reports) <= 1
        if sent(self.fake):
            assert done is not None


Mishaps.TestCase.settings = settings(max_examples=80, stateful_step_count=25, deadline=None, derandomize=True)
TestMishaps = Mishaps.TestCase
