"""What a device does, once, and with whose leave."""

from __future__ import annotations

import dataclasses
import json
import stat
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

from blendp.client import Consent, Device, OverspentError
from blendp.client.personal import campaign_records
from blendp.client.refusals import RefusedError
from blendp.client.store import FILE, DeviceStore
from blendp.errors import ParameterError, RandomnessError
from blendp.headlist import HeadList
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom
from blendp.reports import QUESTIONS
from blendp.wire.install import deletion_key, pseudonym
from blendp.wire.reports import read_report
from tests.support import KnownKey
from tests.unit.client.fake_collector import (
    CAMPAIGN,
    LIST,
    NOW,
    RECORDS,
    TERMS,
    TOKEN,
    URL,
    Clock,
    FakeCollector,
    problem,
)

OPT_IN = dataclasses.replace(TERMS, opt_in_records=3)
MANY: list[tuple[str, str | None]] = [(f"Query {i}", f"http://site.org/{i}") for i in range(10)]


def test_nothing_happens_before_consent(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock(), consent=None) as device:
        assert device.consent is Consent.OFF
        with pytest.raises(ParameterError, match="consent = 'off'"):
            device.take_part(CAMPAIGN, RECORDS)
        with pytest.raises(ParameterError, match="consent = 'off'"):
            device.enrol(CAMPAIGN, TOKEN, RECORDS)
        assert device.send().waiting == 0
        assert not fake.requests
        device.set_consent(Consent.LOCAL)
        with pytest.raises(ParameterError, match="consent = 'local' is not allowed: it must be opt-in"):
            device.enrol(CAMPAIGN, TOKEN, RECORDS)
        assert not fake.requests
        assert device.items == ()


def test_a_report_is_drawn_once_kept_and_sent(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    with fake.device(tmp_path, clock) as device:
        done = device.take_part(CAMPAIGN, RECORDS)
        assert not fake.writes
        (entry,) = device.ledger.entries
        assert (entry.campaign, entry.group, entry.budget) == (CAMPAIGN, "client", Budget(4.0))
        asked = len(fake.requests)
        assert device.take_part(CAMPAIGN, [("something", "else")]) == done
        assert len(fake.requests) == asked
        summary = device.send()
        assert (summary.sent, summary.waiting, summary.next_due) == (1, 0, None)
        assert device.send().sent == 0
        (item,) = device.items
    (request,) = fake.writes
    assert request.headers["content-type"] == "application/vnd.blendp.report.v1+json"
    assert "authorization" not in request.headers
    assert request.content == item.body
    assert (item.state, item.reason, item.attempts) == ("sent", "accepted", 1)
    assert done.report_id is not None
    (row,) = read_report(done.report_id.hex(), request.content).rows
    assert row is not None
    assert TERMS.scheme(LIST, 0.3).possible(QUESTIONS[row[2]], row[3])
    with Device(tmp_path) as again:
        key = deletion_key(again._store.secret, CAMPAIGN)
        assert again.participation(CAMPAIGN) == done
    assert row[1] == pseudonym(key)


def test_published_reports_are_cells(tmp_path: Path) -> None:
    terms = dataclasses.replace(TERMS, method="published", delta=1e-6)
    fake = FakeCollector(terms, query_share=0.85)
    with fake.device(tmp_path, Clock()) as device:
        done = device.take_part(CAMPAIGN, RECORDS)
        assert device.ledger.entries[0].budget == Budget(4.0, 1e-6)
        assert device.send().sent == 1
    assert done.question == 2
    assert done.data is not None
    assert terms.scheme(LIST, 0.85).possible(QUESTIONS[2], done.data)


def test_one_level_campaigns_take_queries(tmp_path: Path) -> None:
    terms = dataclasses.replace(TERMS, levels=1, epsilon=30.0)
    head_list = HeadList.of_records([(f"query {i}", None) for i in range(12)], levels=1)
    fake = FakeCollector(terms, head_list)
    with fake.device(tmp_path, Clock(), cap=Budget(40), yearly=Budget(40)) as device:
        device.take_part(CAMPAIGN, [("QUERY  3", None)])
        assert ("query 3", None) in device.explain(CAMPAIGN).named


def test_texts_are_brought_to_the_campaigns_form() -> None:
    two, one = TERMS, dataclasses.replace(TERMS, levels=1)
    records: list[tuple[str, str | None]] = [
        (" A  b", "HTTP://X.org/"), ("c", None), ("", "http://x"), ("d", " # "), ("e\0", "http://x"),
        ("f", "\ud800"), ("g" * 9000, "http://x"),
    ]  # fmt: skip
    assert campaign_records(records, two) == [("a b", "http://x.org")]
    assert [query for query, _ in campaign_records(records, one)] == ["a b", "c", "d", "f"]
    assert campaign_records([("E\u0301 ", "U")], dataclasses.replace(two, normalise="none")) == [("\u00c9 ", "U")]
    assert campaign_records(["ab"], two) == []  # type: ignore[list-item]


def test_the_records_are_nowhere_on_the_device(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, [("my very own secret", "http://secret.example")])
        device.send()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"very own" not in stored
    assert b"secret.example" not in stored


def test_silence_is_drawn_once_and_costs_nothing(tmp_path: Path) -> None:
    fake = FakeCollector(dataclasses.replace(TERMS, participation=0.25))
    silent = 0
    for number in range(60):
        with fake.device(tmp_path / str(number), Clock(), random=KnownKey(number)) as device:
            done = device.take_part(CAMPAIGN, RECORDS)
            silent += done.silent
            assert len(device.items) == len(device.ledger.entries) == (not done.silent)
            if number < 10:
                assert [device.take_part(CAMPAIGN, RECORDS) for _ in range(5)] == [done] * 5
            if done.silent:
                with pytest.raises(ParameterError, match="silence tells nothing"):
                    device.explain(CAMPAIGN)
                assert device.forget(CAMPAIGN).waiting == 0
                assert device.items == ()
    assert 35 < silent < 55


def test_late_campaigns_are_refused(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    with fake.device(tmp_path, clock) as device:
        clock.now = NOW + 24 * 86_400
        device.look(CAMPAIGN)
        clock.now += 86_400
        with pytest.raises(ParameterError, match="until 2026-11-30"):
            device.take_part(CAMPAIGN, RECORDS)
        assert not device.ledger.entries


def test_the_cap_is_hard_and_for_life(tmp_path: Path) -> None:
    clock, fakes = Clock(), [FakeCollector(dataclasses.replace(TERMS, campaign=f"c{i}")) for i in range(3)]
    with fakes[0].device(tmp_path, clock) as device:
        assert device.ledger.cap == Budget(48.0, 4e-5)
        device.lower_cap(Budget(9.0))
        with pytest.raises(ParameterError, match="never raised"):
            device.lower_cap(Budget(10.0))
        device.take_part("c0", RECORDS)
        device.forget("c0")
    with fakes[1].device(tmp_path, clock, cap=Budget(50)) as device:
        assert device.ledger.cap == Budget(9.0)
        device.take_part("c1", RECORDS)
    with fakes[2].device(tmp_path, clock) as device:
        with pytest.raises(OverspentError, match="Difference"):
            device.take_part("c2", RECORDS)
        assert device.participation("c2") is None
        assert [entry.campaign for entry in device.ledger.entries] == ["c0", "c1"]


def campaigns(count: int) -> list[FakeCollector]:
    """Campaigns of epsilon 4 that take reports for ever."""
    terms = dataclasses.replace(TERMS, reports_until="2099-12-31")
    return [FakeCollector(dataclasses.replace(terms, campaign=f"c{i}")) for i in range(count)]


def take_part(fake: FakeCollector, folder: Path, clock: Clock) -> bool:
    """Whether the ledger has room for the campaign."""
    with fake.device(folder, clock) as device:
        try:
            device.take_part(fake.terms.campaign, RECORDS)
        except OverspentError as error:
            return not error.yearly
    return True


def test_three_usual_campaigns_fit_a_year_and_twelve_a_life(tmp_path: Path) -> None:
    clock, fakes = Clock(), campaigns(14)
    assert [take_part(fake, tmp_path, clock) for fake in fakes[:4]] == [True, True, True, False]
    for year in range(1, 4):
        for _ in range(5):
            clock.now += 73 * 86_400
            with Device(tmp_path, clock=clock) as device:
                assert device.ledger.counted
        taken = [take_part(fake, tmp_path, clock) for fake in fakes[3 * year : 3 * year + 3]]
        assert taken == [True] * 3
    with fakes[12].device(tmp_path, clock) as device:
        for _ in range(5):
            clock.now += 73 * 86_400
            assert device.ledger.remaining == (Fraction(0), Fraction(4e-5))
        with pytest.raises(OverspentError, match="cap for life"):
            device.take_part("c12", RECORDS)


@pytest.mark.parametrize("days", [400, 4000])
def test_a_clock_that_is_set_forward_frees_nothing(tmp_path: Path, days: int) -> None:
    clock, fakes = Clock(), campaigns(5)
    for fake in fakes[:3]:
        assert take_part(fake, tmp_path, clock)
    for _ in range(3):
        clock.now = NOW + days * 86_400
        assert not take_part(fakes[3], tmp_path, clock)
        clock.now = NOW + 86_400
        assert not take_part(fakes[3], tmp_path, clock)


def test_what_was_spent_under_a_clock_set_forward_counts_when_it_is_set_back(tmp_path: Path) -> None:
    clock, fakes = Clock(), campaigns(4)
    clock.now = NOW + 3000 * 86_400
    for fake in fakes[:3]:
        assert take_part(fake, tmp_path, clock)
    clock.now = NOW
    assert not take_part(fakes[3], tmp_path, clock)


def enrolled(fake: FakeCollector, folder: Path, clock: Clock, **options: Any) -> Device:
    device = fake.device(folder, clock, consent=Consent.OPT_IN, **options)
    device.enrol(CAMPAIGN, TOKEN, MANY)
    return device


def test_opt_in_records_are_few_drawn_fairly_and_wiped_once_they_arrived(tmp_path: Path) -> None:
    drawn: Counter[str] = Counter()
    for number in range(40):
        fake, clock = FakeCollector(OPT_IN), Clock()
        device = enrolled(fake, tmp_path / str(number), clock, random=KnownKey(number))
        (item,) = device.items
        assert item.body is not None
        sent = json.loads(item.body)
        assert sent["terms"] == OPT_IN.sha256
        assert len({record["query"] for record in sent["records"]}) == 3
        drawn.update(record["url"] for record in sent["records"])
        assert device.enrol(CAMPAIGN, TOKEN, []) == device.participation(CAMPAIGN)
        assert device.send().sent == 1
        assert fake.opt_in == {TOKEN: item.body}
        assert fake.writes[0].headers["content-type"] == "application/vnd.blendp.opt-in.v1+json"
        assert device.items[0].body is None
        assert device.ledger.entries[0].budget == OPT_IN.budget
        device.close()
        assert b"site.org/" not in (tmp_path / str(number) / FILE).read_bytes()
    assert len(drawn) == 10
    assert all(3 <= count <= 24 for count in drawn.values())


def test_enrolment_has_its_days_its_size_and_its_token(tmp_path: Path) -> None:
    fake, clock = FakeCollector(OPT_IN), Clock()
    with fake.device(tmp_path, clock, consent=Consent.OPT_IN) as device:
        for token in ("", "two words", "ünicode", TOKEN + "\n", TOKEN[:-1], "mistyped"):
            with pytest.raises(ParameterError, match="hidden"):
                device.enrol(CAMPAIGN, token, MANY)
        for days in (-6, 6):
            clock.now = NOW + days * 86_400
            with pytest.raises(ParameterError, match="open to opt-in people"):
                device.enrol(CAMPAIGN, TOKEN, MANY)
        assert not device.ledger.entries


def test_nobody_is_in_both_groups(tmp_path: Path) -> None:
    fake, clock = FakeCollector(OPT_IN), Clock()
    with enrolled(fake, tmp_path / "a", clock) as device, pytest.raises(ParameterError, match="both groups"):
        device.take_part(CAMPAIGN, RECORDS)
    with fake.device(tmp_path / "b", clock, consent=Consent.OPT_IN) as device:
        device.take_part(CAMPAIGN, RECORDS)
        with pytest.raises(ParameterError, match="both groups"):
            device.enrol(CAMPAIGN, TOKEN, MANY)


def test_forgetting_deletes_what_was_sent_and_keeps_the_cost(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    with fake.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        device.send()
        assert fake.reports
        assert device.forget(CAMPAIGN).waiting == 0
        assert not fake.reports
        assert [(item.kind, item.reason) for item in device.items] == [("report", "accepted"), ("deletion", "deleted")]
        assert len(device.ledger.entries) == 1
        device.forget(CAMPAIGN)
        assert len(device.items) == 2
        done = device.take_part(CAMPAIGN, RECORDS)
        assert done == device.participation(CAMPAIGN)
        assert device.send().sent == 0
        with pytest.raises(ParameterError, match="nothing to forget"):
            device.forget("unknown")


def test_what_was_never_sent_is_dropped_without_a_word(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
        device.forget(CAMPAIGN)
        assert device.send().sent == 0
        assert [(item.state, item.reason) for item in device.items] == [("dropped", "forgotten")]
    assert not fake.writes


def test_what_may_have_arrived_is_deleted_too(tmp_path: Path) -> None:
    """The collector took the report, but its answer got lost."""
    fake = FakeCollector()
    fake.failures = [httpx.ReadTimeout("lost")]
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
        device.send()
        device.forget(CAMPAIGN)
        assert [item.kind for item in device.items] == ["report", "deletion"]
        assert device.items[0].state == "dropped"
    assert fake.deleted


def test_a_refused_deletion_may_be_asked_for_again(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
        device.send()
        fake.failures = [problem("forbidden")]
        assert device.forget(CAMPAIGN).waiting == 0
        assert device.items[-1].state == "refused"
        device.forget(CAMPAIGN)
        assert device.items[-1].state == "sent"


def test_opt_in_records_are_deleted_with_the_token_which_is_then_wiped(tmp_path: Path) -> None:
    fake, clock = FakeCollector(OPT_IN), Clock()
    device = enrolled(fake, tmp_path, clock)
    device.send()
    device.forget(CAMPAIGN)
    assert fake.writes[-1].method == "DELETE"
    assert fake.writes[-1].headers["authorization"] == f"Bearer {TOKEN}"
    assert not fake.opt_in
    device.close()
    assert TOKEN.encode() not in (tmp_path / FILE).read_bytes()


def test_consent_off_stops_clears_and_deletes_even_later(tmp_path: Path) -> None:
    clock = Clock()
    sent, unsent = FakeCollector(), FakeCollector(dataclasses.replace(TERMS, campaign="unsent", epsilon=1.0))
    with sent.device(tmp_path, clock) as device:
        device.take_part(CAMPAIGN, RECORDS)
        device.send()
    with unsent.device(tmp_path, clock) as device:
        device.take_part("unsent", RECORDS)
    sent.failures = [httpx.ConnectError("away")]
    with sent.device(tmp_path, clock, consent=None) as device:
        summary = device.set_consent(Consent.OFF)
        assert (device.consent, summary.waiting) == (Consent.OFF, 1)
        fates = {(item.campaign, item.kind): (item.state, item.reason) for item in device.items}
        assert fates == {
            (CAMPAIGN, "report"): ("sent", "accepted"),
            ("unsent", "report"): ("dropped", "consent withdrawn"),
            (CAMPAIGN, "deletion"): ("waiting", "network"),
        }
        assert sent.reports
        assert device.send(wait=True).waiting == 0
        assert not sent.reports
        assert len(device.ledger.entries) == 2
    assert not unsent.writes


def test_less_consent_withdraws_only_what_it_no_longer_covers(tmp_path: Path) -> None:
    clock = Clock()
    other = FakeCollector(dataclasses.replace(TERMS, campaign="clients", epsilon=1.0))
    with other.device(tmp_path, clock) as device:
        device.take_part("clients", RECORDS)
        device.send()
    fake = FakeCollector(OPT_IN)
    with enrolled(fake, tmp_path, clock) as device:
        device.send()
        device.set_consent(Consent.LOCAL)
        assert not fake.opt_in
        assert other.reports
        assert device.items[-1].kind == "opt-in-deletion"


def test_consent_withdrawn_by_another_process_holds_at_the_last_moment(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device, fake.device(tmp_path, Clock()) as other:
        device.take_part(CAMPAIGN, RECORDS)
        other._store.set_consent(Consent.OFF)
        assert device.send().dropped == 1
    assert not fake.writes


def test_two_processes_draw_once(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as one, fake.device(tmp_path, Clock(), random=KnownKey(9)) as two:
        look = one.look

        def slow(campaign: str) -> Any:
            seen = look(campaign)
            two.take_part(CAMPAIGN, RECORDS)
            return seen

        one.look = slow  # type: ignore[method-assign]
        assert one.take_part(CAMPAIGN, RECORDS) == two.take_part(CAMPAIGN, RECORDS)
        assert len(one.items) == len(one.ledger.entries) == 1


@pytest.mark.parametrize("opt_in", [False, True])
def test_nobody_waits_while_a_device_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opt_in: bool) -> None:
    """A report about a long list takes a while: another process may write meanwhile, and then its draw is the one."""
    fake, token = FakeCollector(OPT_IN), TOKEN
    consent = Consent.OPT_IN if opt_in else Consent.LOCAL
    with fake.device(tmp_path, Clock(), consent=consent, random=KnownKey(1)) as one:
        original = Device._enrolment if opt_in else Device._randomised

        def slow(self: Device, *values: Any) -> Any:
            if self is one:
                assert not one._store._connection.in_transaction
                with fake.device(tmp_path, Clock(), consent=None, random=KnownKey(2)) as two:
                    two.enrol(CAMPAIGN, token, MANY) if opt_in else two.take_part(CAMPAIGN, RECORDS)
            return original(self, *values)

        monkeypatch.setattr(Device, original.__name__, slow)
        done = one.enrol(CAMPAIGN, token, MANY) if opt_in else one.take_part(CAMPAIGN, RECORDS)
        assert done == one.participation(CAMPAIGN)
        assert len(one.items) == len(one.ledger.entries) == 1


def test_only_the_owner_can_read_the_device(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "device"
    with FakeCollector().device(folder, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    folder.chmod(0o755)
    (folder / FILE).chmod(0o644)
    with Device(folder) as device:
        assert device._store._one("PRAGMA synchronous")[0] == 2
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600


def test_a_folder_that_holds_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("")
    tmp_path.chmod(0o755)
    with pytest.raises(ParameterError, match="holds nothing else"):
        Device(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_device_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    with Device(tmp_path) as device:
        device._store._run("PRAGMA user_version = 99")
    with pytest.raises(ParameterError, match="later version"):
        Device(tmp_path)


def test_nothing_secret_is_in_what_is_printed(tmp_path: Path) -> None:
    fake = FakeCollector(OPT_IN)
    with enrolled(fake, tmp_path, Clock()) as device:
        device.send()
        fake.failures = [httpx.ConnectError("away")]
        device.forget(CAMPAIGN)
        key = deletion_key(device._store.secret, CAMPAIGN)
        shown = repr(
            [device, device.participation(CAMPAIGN), device.items, device.ledger, device._store, device._outbox,
             fake.collector(), device.look(CAMPAIGN)]
        )  # fmt: skip
        for secret in (TOKEN, device._store.secret.hex(), repr(device._store.secret)[2:-1], key.hex(), "site.org/"):
            assert secret not in shown


def test_simulated_randomness_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RandomnessError):
        Device(tmp_path, random=SimulationRandom(1))  # type: ignore[arg-type]


def test_listed_campaigns_that_contradict_what_was_seen_are_not_believed(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock(), consent=None) as device:
        assert [one.problem for one in device.campaigns()] == [""]
        fake.terms = dataclasses.replace(TERMS, title="Something else")
        fake.publish()
        for _ in range(2):
            (listing,) = device.campaigns()
            assert listing.offer is None
            assert "two different versions" in listing.problem
        assert len(device.evidence(CAMPAIGN)) == 2
    with Device(tmp_path) as device, pytest.raises(ParameterError, match="collector"):
        device.campaigns()


def test_servers_are_remembered(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        assert device.server() is None
        device.look(CAMPAIGN)
    with Device(tmp_path) as device:
        for server in (device.server(), device.server(URL), device.server(campaign=CAMPAIGN)):
            assert server is not None
            assert (server.url, server.trust.keys) == (URL, ((fake.key.public, None),))
        assert device.server("https://unknown.example") is None


def test_a_step_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = DeviceStore(tmp_path, Budget(1), Budget(1))

    def fail() -> None:
        with store.whole():
            store.set_consent(Consent.LOCAL)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert store.consent is Consent.OFF
    store.close()


def test_nothing_is_spent_on_what_cannot_count(tmp_path: Path) -> None:
    """A released campaign."""
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        fake.served[f"{URL}/v1/campaigns/{CAMPAIGN}/release"] = b"{}"
        with pytest.raises(RefusedError, match="is released"):
            device.take_part(CAMPAIGN, RECORDS)
        assert not device.ledger.entries
        assert device.participation(CAMPAIGN) is None
