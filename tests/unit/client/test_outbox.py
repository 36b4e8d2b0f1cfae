"""What waits, and when it is tried again."""

from __future__ import annotations

import dataclasses
from email.utils import formatdate
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.client import Consent, Device, Http, outbox
from blendp.client.backoff import FIRST, MAX_DELAY, MAX_DELAY_IF_LATE, MAX_WAIT, delay, retry_after
from blendp.client.store import Participation
from blendp.wire.media_types import JSON_TYPE
from blendp.wire.problems import PROBLEMS, RETRYABLE
from tests.unit.client.fake_collector import CAMPAIGN, NOW, RECORDS, TERMS, TOKEN, Clock, FakeCollector, problem

_MIDNIGHT = 1_793_923_200.0
"""The beginning of the sixth of November."""

LAST_MOMENT = {"opt-in": _MIDNIGHT + 5 * 86_400 - 1, "report": _MIDNIGHT + 25 * 86_400 - 1}
AFTER = LAST_MOMENT["report"] + 86_400
"""A day later than the campaign's last moment."""


@given(
    st.integers(min_value=1, max_value=10_000),
    st.floats(min_value=0, max_value=1, exclude_max=True),
    st.floats(min_value=0, max_value=1e6),
)
def test_delays_keep_their_bounds(attempts: int, u: float, asked: float) -> None:
    wait = delay(attempts, u, asked)
    assert asked <= wait <= asked + min(MAX_DELAY, FIRST * 2 ** min(attempts - 1, 99))


def test_delays_double_up_to_an_hour_with_full_jitter() -> None:
    assert [delay(n, 1.0) for n in (1, 2, 3, 10, 11, 99)] == [5, 10, 20, 2560, 3600, 3600]
    assert delay(5, 0.0) == 0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("0", 0), (" 120 ", 120), ("9" * 400, MAX_WAIT), ("-5", 0), ("1.5", 0), ("soon", 0), ("²", 0), ("", 0),
     (formatdate(NOW + 90, usegmt=True), 90), (formatdate(NOW - 90, usegmt=True), 0),
     (formatdate(NOW + 1e9, usegmt=True), MAX_WAIT), ("Fri, 06 Nov 2026 99:00:00 GMT", 0)],
)  # fmt: skip
def test_retry_after_in_seconds_and_as_a_date(header: str | None, seconds: float) -> None:
    assert retry_after(header, NOW) == seconds


@given(st.text(max_size=40))
def test_no_retry_after_stops_a_device(header: str) -> None:
    assert 0 <= retry_after(header, NOW) <= MAX_WAIT


def test_retries_are_the_same_bytes(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    fake.failures = [
        httpx.ConnectError("away"), httpx.ReadTimeout("slow"), *(httpx.Response(status) for status in RETRYABLE),
        httpx.Response(503, content=b" " * (2 << 20)), httpx.RemoteProtocolError("cut"),
    ]  # fmt: skip
    tries = len(fake.failures) + 1
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        summary = device.send(wait=True, patience=1e5)
        (item,) = device.items
    assert (summary.sent, summary.waiting, item.attempts, item.reason) == (1, 0, tries, "accepted")
    assert len({(request.method, str(request.url), request.content) for request in fake.writes}) == 1
    assert len(fake.writes) == tries
    assert clock.slept == [0.5 * min(MAX_DELAY, FIRST * 2**n) for n in range(tries - 1)]


def test_retry_after_is_a_lower_bound(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    fake.failures = [
        problem("rate-limited", retry_after="100"),
        problem("busy", retry_after=formatdate(NOW + 1000, usegmt=True)),
    ]
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        first = device.send()
        assert first.next_due is not None
        assert first.next_due >= NOW + 100
        assert device.items[0].reason == "rate-limited"
        assert device.send() == dataclasses.replace(first)
        assert len(fake.writes) == 1
        clock.now = first.next_due
        second = device.send()
        assert second.next_due is not None
        assert second.next_due >= NOW + 1000
        clock.now = second.next_due
        assert device.send().sent == 1


@pytest.mark.parametrize("slug", [slug for slug, kind in PROBLEMS.items() if not kind.retryable])
def test_other_answers_are_final(tmp_path: Path, slug: str) -> None:
    fake, clock = FakeCollector(), Clock()
    fake.failures = [problem(slug)]
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        clock.now = AFTER
        summary = device.send(wait=True)
        assert (summary.refused, summary.waiting) == (1, 0)
        assert (device.items[0].state, device.items[0].reason) == ("refused", slug)
    assert len(fake.writes) == 1
    assert not clock.slept


@pytest.mark.parametrize("body", [b"", b"[]", b'{"type": "urn:blendp:problem:<b>"}', b'{"type": 7}', b"[" * 100_000])
def test_answers_without_a_known_problem_are_told_by_status(tmp_path: Path, body: bytes) -> None:
    fake = FakeCollector()
    fake.failures = [httpx.Response(418, content=body)]
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
        device.send()
        assert device.items[0].reason == "http-418"


@pytest.mark.parametrize("status", [200, 201, 204, 301, 302, 403, 404, 418])
@pytest.mark.parametrize("body", [b"", b"{}", b"<html>back soon</html>", b'{"outcome":"\x1b[2J"}', b'{"deleted":true}'])
def test_a_page_of_somebody_in_between_settles_nothing(tmp_path: Path, status: int, body: bytes) -> None:
    """Neither that a report was taken, nor that it never will be."""
    fake, clock = FakeCollector(), Clock()
    fake.failures = [httpx.Response(status, content=body)]
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        assert device.send().waiting == 1
        assert device.send(wait=True).sent == 1
        fake.failures = [httpx.Response(status, content=b'{"outcome":"accepted"}')]
        assert device.forget(CAMPAIGN).waiting == 1
        device.send(wait=True)
        assert [(item.kind, item.reason) for item in device.items] == [("report", "accepted"), ("deletion", "deleted")]


def test_a_duplicate_is_as_good_as_accepted(tmp_path: Path) -> None:
    fake = FakeCollector()
    fake.failures = [httpx.Response(200, content=b'{"outcome":"duplicate"}')]
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
        assert device.send().sent == 1
        assert device.items[0].reason == "duplicate"


@pytest.mark.parametrize("slug", ["late", "wrong-state"])
@pytest.mark.parametrize("kind", ["report", "opt-in"])
def test_too_late_is_final_only_by_both_clocks(tmp_path: Path, kind: str, slug: str) -> None:
    """The collector's clock runs fast, or slow; the report's cost is spent, so it is not given up for that."""
    fake, clock = FakeCollector(), Clock()
    consent = Consent.OPT_IN if kind == "opt-in" else Consent.LOCAL
    with fake.device(tmp_path, clock, consent=consent) as device:
        device.enrol(CAMPAIGN, TOKEN, RECORDS) if kind == "opt-in" else device.take_part(CAMPAIGN, RECORDS)
        fake.failures = [problem(slug)] * 30
        assert device.send(wait=True, patience=2 * 86_400).refused == 0
        (item,) = device.items
        assert (item.state, item.reason, item.kind) == ("waiting", slug, kind)
        assert max(clock.slept) == 0.5 * MAX_DELAY_IF_LATE
        last = LAST_MOMENT[kind]
        clock.now = last
        assert (device.send().refused, device.items[0].state) == (0, "waiting")
        fake.failures = [problem(slug)]
        clock.now = last + 0.25 * 86_400
        assert device.send().refused == 1
        assert (device.items[0].state, device.items[0].reason) == ("refused", slug)
    assert len({request.content for request in fake.writes}) == 1


def test_a_collector_whose_clock_is_set_right_gets_the_report(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    fake.failures = [problem("late")] * 4
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        assert device.send(wait=True).sent == 1
    assert len(fake.reports) == 1


@pytest.mark.parametrize("jump", [400 * 86_400, 20 * 365 * 86_400])
def test_a_device_whose_clock_jumps_for_a_while_drops_nothing(tmp_path: Path, jump: float) -> None:
    fake, clock = FakeCollector(), Clock()
    fake.failures = [httpx.ConnectError("away")] * 50
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        clock.now = NOW + jump
        for _ in range(5):
            clock.now += 3600
            assert device.send().dropped == 0
        clock.now = NOW + 60
        fake.failures = []
        summary = device.send()
        assert (summary.sent, summary.waiting) == (1, 0), "the wait that the wrong clock ordered does not count"


def test_a_report_made_by_a_fast_clock_is_sent_once_the_clock_is_right(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    clock.now = NOW + 20 * 86_400
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        clock.now = NOW
        assert device.send().sent == 1


def test_what_is_too_old_is_dropped_but_deletions_are_not(tmp_path: Path) -> None:
    """Fourteen days are waited for, and the campaign's days; then it is looked at once more, a day later."""
    fake, clock = FakeCollector(), Clock()
    fake.failures = [httpx.ConnectError("away")] * 10
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        for moment in (NOW + MAX_WAIT + 1, AFTER, AFTER + 86_400, AFTER + 2 * 86_400 - 1):
            clock.now = moment
            assert device.send().dropped == 0
        clock.now = AFTER + 2 * 86_400 + 1
        fake.failures = []
        assert device.send().dropped == 1
        assert (device.items[0].state, device.items[0].reason) == ("dropped", "too old")
        done = device.participation(CAMPAIGN)
        assert done is not None
        device._outbox.add(
            done, "deletion", "POST", f"/v1/campaigns/{CAMPAIGN}/deletions", JSON_TYPE, b'{"deletion_key":"00"}'
        )
        clock.now += MAX_WAIT + 1
        assert device.send().sent == 1


def test_beyond_the_quota_the_oldest_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_ITEMS", 3)
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        for number in range(5):
            done = Participation(f"c{number}", "client", "2026-11-06", "https://collector.example")
            path = f"/v1/campaigns/c{number}"
            device._outbox.add(done, "report", "PUT", f"{path}/reports/00", JSON_TYPE, b"{}")
            device._outbox.add(done, "deletion", "POST", f"{path}/deletions", JSON_TYPE, b"{}")
        reports = [item for item in device.items if item.kind == "report"]
        assert [item.state for item in reports] == ["dropped"] * 2 + ["waiting"] * 3
        assert {item.reason for item in reports[:2]} == {"quota"}
        assert all(item.state == "waiting" for item in device.items if item.kind == "deletion")


def test_waiting_ends_when_patience_does(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    fake.failures = [httpx.ConnectError("away")] * 1000
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        summary = device.send(wait=True, patience=600)
        assert summary.waiting == 1
        assert summary.next_due is not None
        assert clock.now <= NOW + 600 < summary.next_due
        clock.now = AFTER - 9000
        assert device.send(wait=True, patience=1e9).dropped == 1
        assert clock.now < AFTER + 2 * 86_400 + 2 * MAX_DELAY


def test_waiting_counts_all_rounds(tmp_path: Path) -> None:
    clock, fakes = Clock(), [FakeCollector(dataclasses.replace(TERMS, campaign=name)) for name in ("a", "b")]
    for fake in fakes:
        with fake.device(tmp_path, clock) as device:
            device.take_part(fake.terms.campaign, RECORDS)
    taken = {"outcome": "accepted"}
    answers = iter([httpx.Response(201, json=taken), problem("busy"), httpx.Response(201, json=taken)])
    with Device(
        tmp_path, http=Http(httpx.MockTransport(lambda _: next(answers))), clock=clock, sleep=clock.sleep
    ) as both:
        summary = both.send(wait=True)
    assert (summary.sent, summary.waiting) == (2, 0)


def test_an_item_is_claimed_by_one_process(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    with fake.device(tmp_path, clock) as one, fake.device(tmp_path, clock) as two:
        one.take_part(CAMPAIGN, RECORDS)
        (item,) = two.items
        fake.failures = [httpx.ConnectError("away")]
        one.send()
        two._outbox._try(item)
    assert len(fake.writes) == 1


def test_a_campaign_bound_to_another_manifest_is_told(tmp_path: Path) -> None:
    fake = FakeCollector(dataclasses.replace(TERMS, campaign="a"))
    with fake.device(tmp_path, Clock()) as device:
        device.take_part("a", RECORDS)
        fake.change_manifest(query_share=0.1)
        device.send()
        assert device.items[0].reason == "wrong-list"


def test_what_was_sent_stays_sent_though_consent_is_withdrawn(tmp_path: Path) -> None:
    """Another process may have sent an item since this one looked at the queue."""
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
        (waiting,) = device.items
        device.send()
        device._store.set_consent(Consent.OFF)
        device._outbox._try(waiting)
        (item,) = device.items
        assert (item.state, item.reason) == ("sent", "accepted")
