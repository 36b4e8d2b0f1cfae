"""A campaign's way: what is refused when, what is signed, what is gone afterwards."""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from blendp.canonical import sha256
from blendp.curator import OptInCounts
from blendp.errors import ParameterError
from blendp.methods import Listed
from blendp.service import lifecycle as lifecycle_module
from blendp.service.campaigns import Book, envelope, export, find, keyed, opt_in_key, overview, payload, pseudonym_key
from blendp.service.collector import CollectorService
from blendp.service.counting import ReportCount
from blendp.service.keyring import DESTROYED_AFTER_DAYS
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store import reports as reports_module
from blendp.service.store.schema import enrolment, report
from blendp.wire import Envelope, Manifest, Terms, VerifyKey
from blendp.wire.install import deletion_key, pseudonym
from blendp.wire.keys import Trust
from blendp.wire.media_types import MANIFEST_TYPE, RELEASE_TYPE, TERMS_TYPE
from blendp.wire.status import BudgetStatus, ClientProgress
from tests.service.helpers import (
    DAY,
    NONCE,
    PEOPLE,
    enrolment_body,
    keep_rows,
    open_collector,
    published_campaign,
    records_of,
    terms_of,
)

SECRET_TEXT = "a query that nobody else may ever read"


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorService]:
    opened = open_collector(tmp_path)
    yield opened
    opened.close()


def _refusal(slug: str) -> Any:
    return pytest.raises(Refused, check=lambda refused: refused.problem.slug == slug)


def _trusted(collector: CollectorService) -> tuple[VerifyKey, ...]:
    first = Trust.of(VerifyKey.of_text(collector.keys.known()[0].public))
    statements = [key.statement for key in collector.keys.known() if key.statement]
    return first.following(statements).on(DAY)


def _document(collector: CollectorService, kind: str) -> Envelope:
    with collector.store.reading() as connection:
        return envelope(connection, find(connection, "c1"), kind)


def _send(collector: CollectorService, count: int) -> list[bytes]:
    """Put reports of new installs into the store; the keys by which they can be deleted."""
    keys = [deletion_key(f"install {i}".encode(), "c1") for i in range(count)]
    assert set(_insert(collector, keys)) == {"accepted"}
    return keys


def _insert(collector: CollectorService, keys: list[bytes], first_id: int = 0) -> list[str]:
    campaign = collector.book.reporting("c1")
    width = campaign.scheme.questions["record"].report_bytes
    rows = [
        (i.to_bytes(16, "big"), keyed(pseudonym(key), campaign.pseudonym_key), 1, bytes(width))
        for i, key in enumerate(keys, first_id)
    ]
    with collector.store.writing() as connection:
        return keep_rows(connection, campaign.number, rows)


def test_terms_are_signed_and_stay(collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of())
    signed = _document(collector, "terms")
    assert Terms.from_bytes(signed.verified(TERMS_TYPE, _trusted(collector))) == terms
    with _refusal("conflict"):
        collector.lifecycle.create(terms_of())


@pytest.mark.parametrize(
    ("fields", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"campaign": "No Spaces"}, "campaign"),
        ({"opt_in_until": "2026-11-15"}, "opt_in_until"),
        ({"reports_until": "2026-11-19"}, "reports_until"),
        ({"opens": "yesterday"}, "opens"),
        ({"title": ""}, "title"),
        ({"method": "other"}, "method"),
        ({"surprise": 1}, "surprise"),
        ({"delta": 0.0}, "delta"),
    ],
    ids=str,
)
def test_terms_that_cannot_be_kept_are_refused(
    fields: dict[str, Any], parameter: str, collector: CollectorService
) -> None:
    with pytest.raises(ParameterError, check=lambda error: error.parameter == parameter):
        collector.lifecycle.create(terms_of(**fields))
    assert overview(collector.store) == []
    assert not [name for name in collector.files.names() if name.startswith("campaign")]


def test_too_few_people_are_told_how_many_are_missing(collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of())
    tokens = collector.opt_in.enrol("c1", 5)
    for token in tokens[:3]:
        collector.opt_in.receive("c1", token, records_of(terms, 0))
    with pytest.raises(Refused, match=f"{PEOPLE - 3} more opt-in people are needed: 3 of {PEOPLE}") as refusal:
        collector.lifecycle.publish("c1")
    assert refusal.value.members == {"missing": PEOPLE - 3}
    assert collector.opt_in.receive("c1", tokens[4], records_of(terms, 0)) == "accepted", "still open"


def test_too_few_clients_are_told_how_many_are_missing(collector: CollectorService) -> None:
    published_campaign(collector)
    _send(collector, 2)
    with pytest.raises(Refused, match="1 more clients are needed: 2 of 3") as refusal:
        collector.lifecycle.release("c1")
    assert refusal.value.members == {"missing": 1}
    assert collector.board.status("c1").state == "reporting"


def test_publishing_signs_the_list_and_deletes_the_records(collector: CollectorService) -> None:
    published = published_campaign(collector)
    signed = _document(collector, "manifest")
    assert Manifest.from_bytes(signed.verified(MANIFEST_TYPE, _trusted(collector))) == published.manifest
    published.manifest.require_list(published.head_list)
    with collector.store.reading() as connection:
        sealed = connection.execute(sa.select(enrolment.c.sealed)).scalars().all()
    assert len(sealed) == PEOPLE
    assert set(sealed) == {None}
    assert opt_in_key("c1") not in collector.files.names()
    with _refusal("wrong-state"):
        collector.lifecycle.publish("c1")


def test_releasing_signs_the_result_and_deletes_all_rows_and_keys(collector: CollectorService) -> None:
    manifest = published_campaign(collector).manifest
    _send(collector, 4)
    document, _ = collector.lifecycle.release("c1")
    assert _document(collector, "release").verified(RELEASE_TYPE, _trusted(collector)) == document
    assert json.loads(document)["manifest_sha256"] == manifest.sha256
    with collector.store.reading() as connection:
        for table in (report, enrolment):
            assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0
    assert [name for name in collector.files.names() if name.startswith("campaign")] == []
    for verb in (collector.lifecycle.release, collector.lifecycle.publish):
        with _refusal("wrong-state"):
            verb("c1")
    assert sha256(document) == collector.board.status("c1").documents.release


def test_deletion_requests_are_honoured_until_the_release(collector: CollectorService) -> None:
    published_campaign(collector, min_clients=2)
    keys = _send(collector, 4)
    assert collector.forget_report("c1", keys[0])
    assert not collector.forget_report("c1", keys[0])
    assert not collector.forget_report("c1", bytes(32))
    assert _insert(collector, [bytes(32)], 100) == ["deleted"], "a deletion that overtakes its report keeps it out"
    document, release = collector.lifecycle.release("c1")
    assert release.groups.client == 3
    assert not collector.forget_report("c1", keys[1])
    assert json.loads(document)["card"]["users"]["client"] == 3


def _while_counting(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something happen once, after the reports were counted and before the result is signed."""
    add = ReportCount.add

    def then_act(self: ReportCount, reports: Iterable[tuple[int, bytes]]) -> None:
        add(self, reports)
        act()

    monkeypatch.setattr(ReportCount, "add", then_act)


def _state(collector: CollectorService) -> str:
    return collector.board.status("c1").state


def _contents(collector: CollectorService) -> list[bytes | None]:
    with collector.store.reading() as connection:
        return list(connection.execute(sa.select(report.c.data)).scalars())


def test_a_deletion_while_reports_are_counted_counts(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_campaign(collector, min_clients=2)
    keys = _send(collector, 4)

    def delete() -> None:
        assert collector.forget_report("c1", keys[0])
        assert not collector.forget_report("c1", keys[0]), "once is enough"
        assert not collector.forget_report("c1", bytes(32)), "nothing is held"

    _while_counting(monkeypatch, delete)
    document, release = collector.lifecycle.release("c1")
    assert release.groups.client == 3
    assert json.loads(document)["card"]["users"]["client"] == 3


def test_sums_after_deletions_are_those_of_the_others(collector: CollectorService) -> None:
    """Taking reports away leaves what would be if they had never come, of both questions."""
    published = published_campaign(collector)
    reports = [(one.question, one.data) for one in published.make(60)]
    with collector.store.reading() as connection:
        row = find(connection, "c1")
        scheme = collector.lifecycle._scheme(connection, row)
    whole, part = ReportCount(scheme), ReportCount(scheme)
    whole.add(reports)
    whole.take_away(reports[40:])
    part.add(reports[:40])
    assert whole.users == part.users == 40
    for ours, due in zip(_sums(whole), _sums(part), strict=True):
        assert ours.tolist() == due.tolist()


def _sums(count: ReportCount) -> tuple[Any, Any]:
    return count.reports.supports["query"], count.reports.supports["record"]


def test_deletions_without_end_cannot_stop_a_release(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes whenever a result was computed is asked to come back, and the release ends."""
    published_campaign(collector, min_clients=2)
    keys = iter(_send(collector, 40))
    document = type(collector.lifecycle)._release_document
    deleted, refused = [], []

    def meanwhile(*arguments: Any) -> bytes:
        try:
            deleted.append(collector.forget_report("c1", next(keys)))
        except Refused as refusal:
            refused.append((refusal.problem.slug, refusal.retry_after))
        return document(*arguments)

    monkeypatch.setattr(type(collector.lifecycle), "_release_document", meanwhile)
    _, release = collector.lifecycle.release("c1")
    assert release.groups.client == 40 - len(deleted)
    assert refused == [("busy", 30)]
    assert _state(collector) == "released"


def test_no_more_deletions_are_noted_than_can_be_taken_away(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_campaign(collector, min_clients=2)
    keys = _send(collector, 5)
    monkeypatch.setattr(reports_module, "MAX_PENDING", 2)

    def delete() -> None:
        assert [collector.forget_report("c1", key) for key in keys[:2]] == [True, True]
        with _refusal("busy"):
            collector.forget_report("c1", keys[2])

    _while_counting(monkeypatch, delete)
    assert collector.lifecycle.release("c1")[1].groups.client == 3


def test_a_deletion_that_leaves_too_few_reopens_the_campaign(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_campaign(collector, min_clients=4)
    keys = _send(collector, 4)
    _while_counting(monkeypatch, lambda: collector.forget_report("c1", keys[0]))
    with _refusal("too-few"):
        collector.lifecycle.release("c1")
    assert _state(collector) == "reporting"
    assert _contents(collector).count(None) == 1, "the deletion was carried out"
    assert _insert(collector, [bytes(32)], 100) == ["accepted"]


@pytest.mark.parametrize("step", ["add", "reports"])
def test_a_release_that_fails_opens_the_campaign_again(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """In whichever step it fails: reports are taken again, and none was refused for good."""
    published_campaign(collector)
    keys = _send(collector, 4)

    def fail(*_arguments: Any) -> Any:
        if step == "add":
            assert collector.forget_report("c1", keys[0])
        with _refusal("busy"):
            Book(collector.store, collector.files).reporting("c1")
        assert _insert(collector, [bytes(32)], 100) == ["busy"]
        raise ZeroDivisionError

    monkeypatch.setattr(ReportCount, step, fail if step == "add" else property(fail))
    with pytest.raises(ZeroDivisionError):
        collector.lifecycle.release("c1")
    assert _state(collector) == "reporting"
    assert _contents(collector).count(None) == (step == "add")
    assert _insert(collector, [bytes(32)], 100) == ["accepted"]
    monkeypatch.undo()
    assert collector.lifecycle.release("c1")[1].groups.client == 5 - (step == "add")


def test_a_release_that_died_is_forgotten_at_the_next_start(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)
    keys = _send(collector, 4)
    collector.lifecycle._begin_result("c1")
    assert collector.forget_report("c1", keys[0])
    collector.store.close()
    again = open_collector(tmp_path)
    again.tidy()
    assert _state(again) == "reporting"
    assert _contents(again).count(None) == 1
    assert again.lifecycle.release("c1")[1].groups.client == 3
    again.close()


def test_a_release_that_goes_on_elsewhere_is_left_alone(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts, or keeps house, meanwhile does not take it for one that died; a second is asked to come back."""
    published_campaign(collector)
    _send(collector, 4)

    def meanwhile() -> None:
        collector.lifecycle.reopen_abandoned()
        for verb in (collector.lifecycle.release, collector.lifecycle.publish):
            with _refusal("busy"):
                verb("c1")
        assert _state(collector) == "closing"

    _while_counting(monkeypatch, meanwhile)
    assert collector.lifecycle.release("c1")[1].groups.client == 4
    assert not list(Path(collector.settings.data).glob("*.turn-*")), "the lock's file is gone"


def test_a_campaign_that_is_deleted_while_it_is_released_stays_deleted(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_campaign(collector)
    _send(collector, 4)
    _while_counting(monkeypatch, lambda: collector.lifecycle.delete("c1"))
    with _refusal("not-found"):
        collector.lifecycle.release("c1")
    assert overview(collector.store) == []


def _rows(collector: CollectorService) -> int:
    with collector.store.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(report)).scalar_one())


@pytest.mark.parametrize("end", ["release", "delete"])
def test_reports_are_deleted_in_pieces_and_others_come_in_between(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """No transaction deletes more than a piece; another campaign takes reports after each."""
    published_campaign(collector)
    _send(collector, 7)
    published_campaign(collector, "c2")
    other = collector.book.reporting("c2")
    monkeypatch.setattr(reports_module, "PIECE", 3)
    left: list[int] = []
    own_thread, sleep = threading.get_ident(), time.sleep

    def others(seconds: float) -> None:
        if threading.get_ident() != own_thread:  # a library's own thread: Spark's has one that sleeps
            sleep(seconds)
            return
        left.append(_rows(collector) - len(left))
        row = (
            bytes([len(left)]) * 16,
            bytes([len(left)]) * 16,
            1,
            bytes(other.scheme.questions["record"].report_bytes),
        )
        with collector.store.writing() as connection:
            assert keep_rows(connection, other.number, [row]) == ["accepted"]

    monkeypatch.setattr(time, "sleep", others)
    getattr(collector.lifecycle, end)("c1")
    assert left == [4, 1, 0]
    assert _rows(collector) == len(left), "those of the other campaign"


def test_reports_that_are_left_over_are_deleted_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release does not wait until millions of reports are deleted; nothing of them counts any more."""
    collector = open_collector(tmp_path)
    published_campaign(collector)
    keys = _send(collector, 7)
    key = collector.files.get(pseudonym_key("c1"))
    monkeypatch.setattr(lifecycle_module, "_DELETING_SECONDS", 0.0)
    collector.lifecycle.release("c1")
    assert collector.files.get(pseudonym_key("c1")) is None, "the key is gone at once"
    assert _rows(collector) == 7
    shown = collector.board.status("c1")
    assert (shown.state, shown.clients.reports) == ("released", 7)
    assert not collector.forget_report("c1", keys[0])
    with _refusal("late"):
        Book(collector.store, collector.files).reporting("c1")
    collector.close()
    assert _rows(collector) == 7, "who stops does not wait either"
    again = open_collector(tmp_path)
    again.tidy()
    assert _rows(again) == 0
    again.close()
    assert key
    stored_names = [keyed(pseudonym(one), key) for one in keys]
    raw = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert not any(one in raw for one in stored_names), "and overwritten"


def test_a_preview_is_what_a_release_signs_and_keeps_nothing(collector: CollectorService) -> None:
    published_campaign(collector)
    keys = _send(collector, 5)
    document, _ = collector.lifecycle.preview("c1")
    assert _state(collector) == "reporting"
    assert collector.lifecycle.preview("c1")[0] == document
    assert collector.forget_report("c1", keys[4])
    document, _ = collector.lifecycle.preview("c1")
    assert collector.lifecycle.release("c1")[0] == document


def test_a_preview_counts_what_is_there(collector: CollectorService) -> None:
    published_campaign(collector)
    keys = _send(collector, 4)
    document, _ = collector.lifecycle.preview("c1")
    assert collector.forget_report("c1", keys[0])
    assert collector.lifecycle.preview("c1")[1].groups.client == 3
    assert collector.forget_report("c1", keys[1])
    with _refusal("too-few"):
        collector.lifecycle.preview("c1")
    assert json.loads(document)["card"]["users"]["client"] == 4
    assert _insert(collector, [bytes(32)], 100) == ["accepted"]


def test_whoever_comes_or_goes_while_the_list_is_made_is_asked_to_come_back(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = collector.lifecycle.create(terms_of(min_opt_in=2))
    tokens = collector.opt_in.enrol("c1", 3)
    for token in tokens[:2]:
        collector.opt_in.receive("c1", token, records_of(terms, 0))
    manifest = type(collector.lifecycle)._manifest

    def meanwhile(*_arguments: Any) -> Manifest:
        with _refusal("busy"):
            collector.withdraw("c1", tokens[0])
        with _refusal("busy"):
            collector.opt_in.receive("c1", tokens[2], records_of(terms, 0))
        raise ZeroDivisionError

    monkeypatch.setattr(type(collector.lifecycle), "_manifest", meanwhile)
    with pytest.raises(ZeroDivisionError):
        collector.lifecycle.publish("c1")
    monkeypatch.setattr(type(collector.lifecycle), "_manifest", manifest)
    assert _state(collector) == "opt-in"
    assert collector.withdraw("c1", tokens[0])
    assert collector.opt_in.receive("c1", tokens[2], records_of(terms, 0)) == "accepted"
    assert collector.lifecycle.publish("c1").opt_in_people == 2


def test_withdrawn_people_do_not_make_the_list(collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of(min_opt_in=2))
    tokens = collector.opt_in.enrol("c1", 4)
    for token in tokens:
        collector.opt_in.receive("c1", token, records_of(terms, 0))
    assert collector.withdraw("c1", tokens[0])
    assert not collector.withdraw("c1", tokens[0])
    with _refusal("deleted"):
        collector.opt_in.receive("c1", tokens[0], records_of(terms, 0))
    assert collector.lifecycle.publish("c1").opt_in_people == 3
    assert not collector.withdraw("c1", tokens[1]), "its records are gone by now"


def _listed(folder: Path, people: Sequence[int], **fields: Any) -> Listed:
    """The list of these people, who came in this order, under a key that is always the same."""
    collector = open_collector(folder)
    terms = collector.lifecycle.create(terms_of(min_opt_in=2, **fields))
    collector.files.keep(opt_in_key("c1"), bytes(range(32)))
    for person, token in zip(people, collector.opt_in.enrol("c1", len(people)), strict=True):
        records = [{"query": f"q{number}", "url": "http://u"} for number in (person % 40, person % 7)]
        assert collector.opt_in.receive("c1", token, enrolment_body(terms, records[:: 1 if person % 2 else -1]))
    collector.lifecycle.publish("c1")
    with collector.store.reading() as connection:
        listed = Listed.from_bytes(payload(connection, find(connection, "c1").number, "listed") or b"")
    collector.close()
    return listed


def _noisy(listed: Listed) -> dict[Any, float]:
    assert isinstance(listed.released, OptInCounts)
    return dict(zip(listed.released.head_list.labels, listed.released.people.tolist(), strict=True))


@pytest.mark.parametrize("fields", [{"opt_in_records": 2}, {"opt_in_records": 9, "records_per_person": 9.0}], ids=str)
def test_noise_is_drawn_once_for_one_set_of_records(tmp_path: Path, fields: dict[str, float]) -> None:
    """Whoever came when, under whichever token; and all of it anew if one person's record is another."""
    people = list(range(500))
    first, again = _listed(tmp_path / "1", people, **fields), _listed(tmp_path / "2", people[::-1], **fields)
    assert first.many_records == ("records_per_person" in fields)
    assert first.to_bytes() == again.to_bytes()
    one, other = _noisy(first), _noisy(_listed(tmp_path / "3", [*people[:-1], 3], **fields))
    both = set(one) & set(other)
    assert len(both) > 20
    assert sum(one[label] == other[label] for label in both) < len(both) / 3, "whole numbers agree by chance, too"


def test_opt_in_records_are_sealed_on_the_disk(collector: CollectorService, tmp_path: Path) -> None:
    terms = collector.lifecycle.create(terms_of())
    (token,) = collector.opt_in.enrol("c1", 1)
    body = enrolment_body(terms, [{"query": SECRET_TEXT, "url": "http://u"}])
    assert collector.opt_in.receive("c1", token, body) == "accepted"
    assert collector.opt_in.receive("c1", token, body) == "duplicate"
    for path in (tmp_path / "data").rglob("*"):
        assert path.is_dir() or SECRET_TEXT.encode() not in path.read_bytes(), path


GUESSES: list[list[dict[str, str | None]]] = [
    [{"query": SECRET_TEXT, "url": "http://u"}],
    [{"query": "another", "url": "http://u"}],
    [],
    [{"query": "too long" * 9000, "url": None}] * 9,
]


@pytest.mark.parametrize("records", GUESSES, ids=["right", "wrong", "none", "unfit"])
@pytest.mark.parametrize(("nonce", "outcome"), [(NONCE, "duplicate"), ("a5" * 16, "conflict")])
def test_a_retry_is_known_by_its_nonce_and_never_by_its_records(
    collector: CollectorService, records: list[dict[str, str | None]], nonce: str, outcome: str
) -> None:
    """Whoever knows the token learns nothing of what was sent, whatever they guess; nor is anything decrypted."""
    terms = collector.lifecycle.create(terms_of())
    (token,) = collector.opt_in.enrol("c1", 1)
    collector.opt_in.receive("c1", token, enrolment_body(terms, GUESSES[0]))
    collector.files.destroy(opt_in_key("c1"))
    body = enrolment_body(terms, records, nonce)
    if outcome == "duplicate":
        assert collector.opt_in.receive("c1", token, body) == outcome
    else:
        with _refusal(outcome):
            collector.opt_in.receive("c1", token, body)


def test_a_retry_after_the_list_was_made_is_told_that_it_counted(collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of(min_opt_in=2))
    tokens = collector.opt_in.enrol("c1", 3)
    for person, token in enumerate(tokens):
        collector.opt_in.receive("c1", token, records_of(terms, person))
    collector.withdraw("c1", tokens[2])
    collector.lifecycle.publish("c1")
    assert collector.opt_in.receive("c1", tokens[0], records_of(terms, 0)) == "duplicate"
    with collector.store.reading() as connection:
        kept = connection.execute(sa.select(enrolment.c.state, enrolment.c.nonce)).all()
    assert sorted(row.state for row in kept) == ["deleted", "used", "used"]
    assert all((row.nonce is None) == (row.state == "deleted") for row in kept)
    assert bytes.fromhex(NONCE) not in {row.nonce for row in kept}


def test_a_restored_store_cannot_make_the_list_again(collector: CollectorService) -> None:
    """Without the destroyed key, records that came back from a backup are noise."""
    terms = collector.lifecycle.create(terms_of(min_opt_in=1))
    (token,) = collector.opt_in.enrol("c1", 1)
    collector.opt_in.receive("c1", token, records_of(terms, 0))
    collector.files.destroy(opt_in_key("c1"))
    with _refusal("wrong-state"):
        collector.lifecycle.publish("c1")


@pytest.mark.parametrize(
    ("sent", "slug"),
    [
        (b"no json", "malformed"),
        ({"nonce": "5A" * 16, "records": []}, "malformed"),
        ({"nonce": "5a" * 15, "records": []}, "malformed"),
        ({"nonce": None, "records": []}, "malformed"),
        ({"terms": "0" * 64, "records": []}, "wrong-list"),
        ({"records": [{"query": "q", "url": "http://u"}] * 2}, "over-quota"),
        ({"records": [{"query": "q"}]}, "malformed"),
        ({"records": [{"query": "q" * 9000, "url": "http://u"}]}, "malformed"),
        ({"records": [{"query": "a\0b", "url": "http://u"}]}, "malformed"),
    ],
    ids=str,
)
def test_records_that_do_not_keep_the_terms_are_refused(sent: Any, slug: str, collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of())
    (token,) = collector.opt_in.enrol("c1", 1)
    body = sent if isinstance(sent, bytes) else msgspec.json.encode({"terms": terms.sha256, "nonce": NONCE, **sent})
    with _refusal(slug):
        collector.opt_in.receive("c1", token, body)
    assert collector.opt_in.receive("c1", token, records_of(terms, 0)) == "accepted", "the token is still good"


def test_a_token_is_for_one_campaign(collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of())
    collector.lifecycle.create(terms_of("other"))
    (token,) = collector.opt_in.enrol("other", 1)
    for wrong in (token, "blendp-in-" + "0" * 64, "garbage", ""):
        with _refusal("unauthorised"):
            collector.opt_in.receive("c1", wrong, records_of(terms, 0))


def test_people_come_neither_early_nor_late(tmp_path: Path) -> None:
    today = [DAY]
    collector = open_collector(tmp_path, lambda: today[0])
    terms = collector.lifecycle.create(terms_of(opens="2026-11-17"))
    with _refusal("wrong-state"):
        collector.opt_in.enrol("c1", 1)
    today[0] = datetime.date(2026, 11, 17)
    (token,) = collector.opt_in.enrol("c1", 1)
    today[0] = datetime.date(2026, 11, 21)
    with _refusal("late"):
        collector.opt_in.receive("c1", token, records_of(terms, 0))
    collector.close()


def test_a_person_without_records_counts_as_one(collector: CollectorService) -> None:
    terms = collector.lifecycle.create(terms_of(min_opt_in=3))
    for token in collector.opt_in.enrol("c1", 3):
        collector.opt_in.receive("c1", token, enrolment_body(terms, []))
    manifest = collector.lifecycle.publish("c1")
    assert (manifest.opt_in_people, manifest.records) == (3, 0)


def test_delete_leaves_the_name_alone(collector: CollectorService) -> None:
    published_campaign(collector)
    _send(collector, 2)
    collector.lifecycle.delete("c1")
    with collector.store.reading() as connection:
        for table in ("report", "enrolment", "document", "signature", "intake"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == 0
    assert overview(collector.store) == []
    assert [name for name in collector.files.names() if name.startswith("campaign")] == []
    with _refusal("conflict"):
        collector.lifecycle.create(terms_of())
    with _refusal("not-found"):
        collector.lifecycle.delete("c1")


def test_new_keys_sign_everything_and_old_ones_are_good_for_a_while(tmp_path: Path) -> None:
    today = [DAY]
    collector = open_collector(tmp_path, lambda: today[0])
    published_campaign(collector)
    before = _document(collector, "manifest")
    pinned = Trust.of(VerifyKey.of_text(collector.keys.known()[0].public))
    collector.lifecycle.rotate_keys(10)
    after = _document(collector, "manifest")
    assert (before.payload, len(before.signatures), len(after.signatures)) == (after.payload, 1, 2)
    statements = [key.statement for key in collector.keys.known() if key.statement]
    trust = pinned.following(statements)
    assert len(trust.on(DAY)) == 2
    later = DAY + datetime.timedelta(days=11)
    (newest,) = trust.on(later)
    assert after.verified(MANIFEST_TYPE, (newest,)) == after.payload
    _send(collector, 3)
    collector.lifecycle.release("c1")
    assert len(_document(collector, "release").signatures) == 2, "both keys are good today"
    today[0] = later
    collector.keep_house()
    assert len([name for name in collector.files.names() if name.startswith("signing")]) == 2, "kept for a clock's sake"
    today[0] = later + datetime.timedelta(days=DESTROYED_AFTER_DAYS)
    collector.keep_house()
    assert len([name for name in collector.files.names() if name.startswith("signing")]) == 1
    collector.close()


def test_a_process_that_died_leaves_no_keys(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)
    _send(collector, 3)
    collector.lifecycle.release("c1")
    for name in (opt_in_key("c1"), pseudonym_key("c1")):
        collector.files.new(name)
    collector.close()
    again = CollectorService.open(Settings(tmp_path / "data"))
    again.tidy()
    assert [name for name in again.files.names() if name.startswith("campaign")] == []
    again.close()


def test_status_tells_progress_and_churn(collector: CollectorService) -> None:
    published_campaign(collector)
    published_campaign(collector, "c2", min_clients=5)
    shown = collector.board.status("c2")
    assert shown.opt_in.missing == 0
    clients = ClientProgress(0, minimum=5, missing=5, until="2026-11-30", expected=10_000, pace=shown.clients.pace)
    assert shown.clients == clients
    assert clients.pace.outlook == "nothing"
    assert shown.head_list is not None
    churn = shown.head_list.churn
    assert churn is not None
    assert churn.previous == "c1"
    assert churn.added + churn.kept == shown.head_list.records
    assert shown.budget == BudgetStatus(epsilon=4.0, delta=1e-4, opt_in_spent=True, clients_spent=0)


def test_only_what_is_released_is_exported(collector: CollectorService) -> None:
    published = published_campaign(collector)
    with _refusal("wrong-state"):
        export(collector.store, "c1")
    _send(collector, 3)
    collector.lifecycle.release("c1")
    exported = export(collector.store, "c1")
    assert exported.head_list.encode() == published.head_list.to_bytes()
    assert set(exported.to_dict()) == {"terms", "manifest", "release", "list", "index_descriptor"}


def test_two_operators_publish_at_once(collector: CollectorService, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is asked to come back, and finds it done then; only one list was ever made."""
    terms = collector.lifecycle.create(terms_of(min_opt_in=2))
    for token in collector.opt_in.enrol("c1", 2):
        collector.opt_in.receive("c1", token, records_of(terms, 0))
    other = replace(collector.lifecycle)
    manifest = type(other)._manifest
    turns: list[int] = []

    def meanwhile(*arguments: Any) -> Manifest:
        turns.append(len(turns))
        with _refusal("busy"):
            other.publish("c1")
        return manifest(*arguments)

    monkeypatch.setattr(type(other), "_manifest", meanwhile)
    collector.lifecycle.publish("c1")
    assert turns == [0]
    with _refusal("wrong-state"):
        other.publish("c1")


def test_keys_rotate_without_end(tmp_path: Path) -> None:
    """Documents carry the signatures of the keys that are good, and never more than devices read."""
    today = [DAY]
    collector = open_collector(tmp_path, lambda: today[0])
    collector.lifecycle.create(terms_of())
    for _ in range(20):
        collector.lifecycle.rotate_keys(1)
        today[0] += datetime.timedelta(days=1)
    signed = _document(collector, "terms")
    assert len(signed.signatures) <= 3
    assert Envelope.from_bytes(signed.to_bytes()) == signed
    with _refusal("wrong-state"):
        for _ in range(20):
            collector.lifecycle.rotate_keys(30)
    collector.close()


def test_a_missing_key_is_no_final_refusal(collector: CollectorService) -> None:
    published_campaign(collector)
    keys = _send(collector, 3)
    collector.files.destroy(pseudonym_key("c1"))
    collector.book._open.clear()
    with _refusal("busy"):
        collector.book.reporting("c1")
    with _refusal("busy"):
        collector.forget_report("c1", keys[0])


def test_a_collector_without_its_signing_key_does_not_start(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    (name,) = collector.files.names()
    collector.close()
    (tmp_path / "data" / "keys" / name).rename(tmp_path / name)
    with pytest.raises(Refused, match="put the keys folder back"):
        open_collector(tmp_path)
    (tmp_path / name).rename(tmp_path / "data" / "keys" / name)
    open_collector(tmp_path).close()


def test_a_second_create_leaves_the_keys_of_the_first(collector: CollectorService) -> None:
    collector.lifecycle.create(terms_of())
    before = {name: collector.files.get(name) for name in collector.files.names()}
    with _refusal("conflict"):
        collector.lifecycle.create(terms_of())
    assert {name: collector.files.get(name) for name in collector.files.names()} == before
