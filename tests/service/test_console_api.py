"""What the console asks for: whose token, all campaigns, plans, changes, files, reasons; and nothing of anybody."""

from __future__ import annotations

import datetime
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from blendp.headlist import HeadList
from blendp.render.release.document import release_of_document
from blendp.render.release.files import write_readable
from blendp.service.audit import LOCAL, AuditFilter
from blendp.service.board import list_changes, side_work, status
from blendp.service.board.cautions import cautions_of_list, cautions_of_terms, statements_of_terms
from blendp.service.board.forecast import forecast_of, in_words, planned_at_least
from blendp.service.collector import CollectorService
from blendp.service.http import console
from blendp.service.store.one_call import _OUTCOMES
from blendp.wire.campaign import Terms
from blendp.wire.changes import MAX_CHANGES
from blendp.wire.files import READABLE
from blendp.wire.problems import PROBLEMS
from blendp.wire.reasons import REASONS
from blendp.wire.releases import read_release
from blendp.wire.reports import OUTCOMES
from tests.service.helpers import (
    DAY,
    PEOPLE,
    Published,
    bearer,
    keep_rows,
    open_collector,
    published_campaign,
    records_of,
    terms_of,
    with_client,
)

Talk = Callable[[httpx.AsyncClient], Awaitable[None]]


@dataclass
class MovingClock:
    """A clock that is set by hand."""

    day: datetime.date = DAY

    def __call__(self) -> datetime.date:
        return self.day


def send(collector: CollectorService, published: Published, count: int) -> None:
    """New reports, kept on the clock's day."""
    rows = [(one.report_id, one.pseudonym, one.question, one.data) for one in published.make(count)]
    with collector.store.writing() as connection:
        keep_rows(connection, collector.book.reporting(published.name).number, rows)


def talk_as(collector: CollectorService, talk: Talk, *scopes: str) -> None:
    """A conversation with a token of these scopes, or of all."""
    headers = bearer(collector.tokens.create("an operator", scopes or ("read", "manage", "release")))

    async def with_token(client: httpx.AsyncClient) -> None:
        client.headers.update(headers)
        await talk(client)

    with_client(collector, with_token)


def test_a_token_is_told_its_scopes_and_never_itself(tmp_path: Path) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        answer = await client.get("/v1/token")
        assert answer.json() == {
            "id": client.headers["authorization"].split("-")[2],
            "name": "an operator",
            "scopes": ["read", "release"],
        }
        assert answer.headers["cache-control"] == "no-store"
        assert client.headers["authorization"][-64:] not in answer.text

    talk_as(open_collector(tmp_path), talk, "read", "release")


def test_the_overview_has_the_newest_first_and_says_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "MAX_SUMMARIES", 2)
    collector = open_collector(tmp_path)
    released = published_campaign(collector)
    send(collector, released, 4)
    collector.lifecycle.release("c1")
    collector.lifecycle.create(terms_of("c2"))
    collector.lifecycle.create(terms_of("gone"))
    collector.lifecycle.delete("gone")

    async def talk(client: httpx.AsyncClient) -> None:
        shown = (await client.get("/v1/overview")).json()
        assert [one["campaign"] for one in shown["campaigns"]] == ["c2", "c1"]
        assert (shown["today"], shown["left_out"], shown["clock"]["doubt"]) == ("2026-11-16", 0, None)
        new, old = shown["campaigns"]
        assert (new["state"], new["next"]["act"], new["published"]) == ("opt-in", "enrol", None)
        assert (old["state"], old["next"]["act"], old["released"]) == ("released", "export", "2026-11-16")
        assert (old["clients"]["reports"], old["clients"]["pace"]["outlook"]) == (4, "reached")
        for one in shown["campaigns"]:
            whole = (await client.get(f"/v1/campaigns/{one['campaign']}/status")).json()
            assert {name: whole[name] for name in one} == one, "status says the same and more"
        collector.lifecycle.create(terms_of("c3"))
        collector.lifecycle.delete("c1")
        shown = (await client.get("/v1/overview")).json()
        assert [one["campaign"] for one in shown["campaigns"]] == ["c3", "c2"], "what is remembered is not deleted"
        collector.lifecycle.create(terms_of("c4"))
        assert (await client.get("/v1/overview")).json()["left_out"] == 1

    talk_as(collector, talk, "read")


def test_status_tells_people_by_day_and_the_day_that_the_minimum_is_reached(tmp_path: Path) -> None:
    clock = MovingClock(datetime.date(2026, 11, 14))
    collector = open_collector(tmp_path, clock)
    terms = collector.lifecycle.create(terms_of(opens="2026-11-14", min_opt_in=20))
    tokens = iter(collector.opt_in.enrol("c1", 30))

    def opt_in(count: int) -> None:
        for person in range(count):
            collector.opt_in.receive("c1", next(tokens), records_of(terms, person))

    opt_in(4)
    clock.day += datetime.timedelta(days=1)
    opt_in(2)
    last = next(tokens)
    collector.opt_in.receive("c1", last, records_of(terms, 0))
    collector.opt_in.receive("c1", last, records_of(terms, 0))
    clock.day += datetime.timedelta(days=1)
    assert collector.opt_in.withdraw("c1", last)
    opt_in(1)
    shown = collector.board.status("c1")
    assert [(one.day, one.people) for one in shown.opt_in_by_day] == [
        ("2026-11-14", 4),
        ("2026-11-15", 3),
        ("2026-11-16", 1),
    ], "a retry is nobody new, and nobody is taken back"
    assert (shown.opt_in.people, shown.opt_in.missing) == (7, 13)
    pace = shown.opt_in.pace
    assert (pace.per_day, pace.full_days, pace.today) == (3.5, 2, 1)
    assert (pace.outlook, pace.reached) == ("on-course", "2026-11-19")
    assert shown.clients.pace.outlook == "not-open"
    clock.day = datetime.date(2026, 11, 20)
    pace = collector.board.status("c1").opt_in.pace
    assert (pace.outlook, pace.reached, pace.by_deadline) == ("too-late", None, 8)
    clock.day = datetime.date(2026, 11, 21)
    shown = collector.board.status("c1")
    assert (shown.opt_in.pace.outlook, shown.next_step.urgent) == ("closed", True)
    collector.close()


def test_clients_come_from_the_day_of_the_list_on(tmp_path: Path) -> None:
    clock = MovingClock()
    collector = open_collector(tmp_path, clock)
    published = published_campaign(collector, min_clients=100)
    send(collector, published, 6)
    clock.day += datetime.timedelta(days=2)
    shown = collector.board.status("c1")
    assert (shown.published, shown.released) == ("2026-11-16", None)
    assert (shown.clients.pace.per_day, shown.clients.pace.full_days) == (3.0, 2)
    assert (shown.clients.pace.outlook, shown.clients.pace.by_deadline) == ("too-late", 6 + 3 * 13)
    collector.close()


def test_counts_by_day_go_with_the_campaign(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector)
    count = "SELECT count(*) FROM opt_in_intake"
    with collector.store.reading() as connection:
        assert connection.exec_driver_sql(count).scalar_one() == 1
    collector.lifecycle.delete("c1")
    with collector.store.reading() as connection:
        assert connection.exec_driver_sql(count).scalar_one() == 0
    collector.close()


def test_a_plan_depends_on_terms_and_sizes_alone(tmp_path: Path) -> None:
    """Everybody's records differ between the two campaigns; the plans do not."""
    collector = open_collector(tmp_path)
    for name in ("c1", "c2"):
        terms = collector.lifecycle.create(terms_of(name))
        for person, token in enumerate(collector.opt_in.enrol(name, PEOPLE)):
            collector.opt_in.receive(name, token, records_of(terms, person if name == "c1" else 0))

    async def talk(client: httpx.AsyncClient) -> None:
        answers = [await client.get(f"/v1/campaigns/{name}/plan", params={"like": "yandex"}) for name in ("c1", "c2")]
        assert answers[0].content == answers[1].content
        plan = answers[0].json()
        assert (plan["people"], plan["clients"], plan["like"]) == (PEOPLE, 10_000, "yandex")
        assert plan["list"] == in_words(forecast_of(terms, PEOPLE, "yandex")).to_dict()
        published = (await client.post("/v1/campaigns/c1/publish")).json()
        assert published["cautions"] == cautions_of_list(published["records"], PEOPLE, terms.levels)
        assert len(published["cautions"]) == 2
        assert (await client.get("/v1/campaigns/c1/plan?like=yandex")).json() == plan

    talk_as(collector, talk, "read", "manage")


@pytest.mark.parametrize(
    ("count", "shown"), [(0, 0), (9, 9), (99, 99), (100, 100), (109, 100), (1299, 1200), (98_765, 98_000)]
)
def test_sizes_of_plans_are_rounded_down(count: int, shown: int) -> None:
    assert console.rounded_down(count) == shown


def test_a_draft_says_what_the_command_line_says_and_keeps_nothing(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    collector.lifecycle.create(terms_of("taken"))
    fields = terms_of("new", epsilon=13.0, delta=1e-3, min_opt_in=2000, min_clients=50)
    terms = Terms(**fields)

    async def talk(client: httpx.AsyncClient) -> None:
        shown = (await client.post("/v1/drafts?like=aol", json=fields)).json()
        assert shown["cautions"] == cautions_of_terms(terms)
        assert [one.split()[0] for one in shown["cautions"]] == ["epsilon", "delta", "min_clients"]
        assert shown["statements"] == statements_of_terms(terms)
        # another process may add numbers up in another order
        assert shown["forecast"] == pytest.approx(in_words(forecast_of(terms, 2000)).to_dict(), rel=1e-12)
        best = planned_at_least(terms)
        assert best is not None
        assert f"± {100 * best.errors[0].std_error:.2g} percentage points" in shown["sentence"]
        assert f"the error on the true top 50 will be about {best.scores.top_error:.2g} (" in shown["sentence"]
        assert Terms(**shown["terms"]) == terms
        for wrong, status_code, phrase in (
            ({"campaign": "taken"}, 409, "There is, or was, a campaign 'taken'"),
            ({"epsilon": 0}, 422, "epsilon"),
            ({"delta": 0.0}, 422, "delta = 0.0"),
            ({"opt_in_until": "2026-11-02"}, 422, "today or later"),
            ({"epsilon": 1e-6, "delta": 1e-12}, 422, "rate"),
            ({"epsilon": "much"}, 400, "not as the documentation says"),
        ):
            answer = await client.post("/v1/drafts", json={**fields, **wrong})
            assert (answer.status_code, phrase in answer.json()["detail"]) == (status_code, True), answer.text
        assert len((await client.get("/v1/campaigns")).json()["campaigns"]) == 1

    talk_as(collector, talk, "manage")
    again = open_collector(tmp_path)
    assert [one.act for one in again.trail.entries()] == ["create-token", "create"]
    again.close()


def test_changes_name_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = open_collector(tmp_path)
    first = published_campaign(collector, "c1")
    second = published_campaign(collector, "c2", size=2)
    names = [{(url["query"], url["url"]) for url in listed(one.head_list)} for one in (first, second)]
    collector.lifecycle.create(terms_of("open"))

    async def talk(client: httpx.AsyncClient) -> None:
        shown = (await client.get("/v1/campaigns/c1/changes")).json()
        assert (shown["previous"], shown["removed"], shown["kept"], shown["left_out"]) == (None, [], 0, 0)
        assert {(one["query"], one["url"]) for one in shown["added"]} == names[0]
        shown = (await client.get("/v1/campaigns/c2/changes")).json()
        churn = (await client.get("/v1/campaigns/c2/status")).json()["list"]["churn"]
        assert shown["previous"] == churn["previous"] == "c1"
        assert {(one["query"], one["url"]) for one in shown["removed"]} == names[0] - names[1]
        assert (len(shown["added"]), len(shown["removed"]), shown["kept"]) == (
            churn["added"],
            churn["removed"],
            churn["kept"],
        )
        monkeypatch.setattr(list_changes, "MAX_CHANGES", 1)
        shown = (await client.get("/v1/campaigns/c1/changes")).json()
        assert (len(shown["added"]), shown["left_out"]) == (1, len(names[0]) - 1)
        assert (await client.get("/v1/campaigns/open/changes")).status_code == 404
        collector.lifecycle.delete("c1")
        shown = (await client.get("/v1/campaigns/c2/changes")).json()
        assert shown["previous"] is None
        assert (await client.get("/v1/campaigns/c2/status")).json()["list"]["churn"] is None

    assert MAX_CHANGES >= 1000
    talk_as(collector, talk, "read")


def listed(head_list: HeadList) -> list[dict[str, Any]]:
    return [{"query": entry.query, "url": url} for entry in head_list.entries for url in entry.urls]


def test_every_outcome_that_is_counted_is_explained(tmp_path: Path) -> None:
    counted_elsewhere = {"malformed", "late", "wrong-state", "wrong-list", "wrong-scheme", "impossible"}
    outcomes = [reason.outcome for reason in REASONS]
    assert set(outcomes) == set(_OUTCOMES.values()) | counted_elsewhere
    assert len(outcomes) == len(set(outcomes))
    assert set(outcomes) <= {*OUTCOMES, *PROBLEMS}
    assert outcomes[:2] == list(OUTCOMES)

    async def talk(client: httpx.AsyncClient) -> None:
        shown = (await client.get("/v1/reasons")).json()["reasons"]
        assert [one["outcome"] for one in shown] == outcomes
        assert all(one["meaning"].endswith(".") and one["remedy"].endswith(".") for one in shown)

    talk_as(open_collector(tmp_path), talk, "read")


def test_files_are_those_of_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = open_collector(tmp_path)
    published = published_campaign(collector)
    send(collector, published, 40)
    temporary = tmp_path / "temporary"
    (temporary / side_work.FOLDER.new()).mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = collector.board.status("c1")
    assert before.state == "reporting"

    async def talk(client: httpx.AsyncClient) -> None:
        early = await client.get("/v1/campaigns/c1/files/report.html")
        assert (early.status_code, early.json()["type"]) == (409, "urn:blendp:problem:wrong-state")
        assert (await client.post("/v1/campaigns/c1/release")).status_code == 200
        with collector.store.reading() as connection:
            data = connection.exec_driver_sql("SELECT payload FROM document WHERE kind = 'release'").scalar_one()
        document, folder = read_release(bytes(data)), tmp_path / "export"
        folder.mkdir()
        release = release_of_document(document, published.head_list)
        write_readable(release, document["card"], folder, title="What is asked", collected=True)
        for name, kind in READABLE.items():
            answer = await client.get(f"/v1/campaigns/c1/files/{name}")
            assert answer.status_code == 200
            assert answer.content == (folder / name).read_bytes(), name
            assert answer.headers["content-type"] == kind
            assert answer.headers["content-disposition"] == f'attachment; filename="c1-{name}"'
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert len(collector.side_work._kept) == 1, "made once"
        assert not list(temporary.iterdir()), "nor is that left of a process that was ended"
        for name in ("listed", "release.dsse.json", "..%2fkeys", "report.html%00"):
            assert (await client.get(f"/v1/campaigns/c1/files/{name}")).status_code == 404
        await client.delete("/v1/campaigns/c1")
        assert (await client.get("/v1/campaigns/c1/files/report.html")).status_code == 404
        assert not collector.side_work._kept, "what is deleted is in no memory"

    talk_as(collector, talk)


def test_the_audit_trail_is_filtered(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    trail = collector.trail
    for number in range(4):
        trail.note_now(LOCAL, "backup", outcome="done" if number % 2 else "busy", detail=str(number))
    trail.note_now(LOCAL, "publish", outcome="too-few")
    times = {one.act: one.time[:10] for one in trail.entries()}
    yesterday = datetime.date.fromisoformat(times["publish"]) - datetime.timedelta(days=1)

    async def talk(client: httpx.AsyncClient) -> None:
        async def acts(**query: object) -> list[tuple[str, str]]:
            answer = await client.get("/v1/audit", params={name: str(value) for name, value in query.items()})
            assert answer.status_code == 200, answer.text
            return [(one["act"], one["outcome"]) for one in answer.json()["entries"]]

        own = client.headers["authorization"].split("-")[2]
        refused = [("publish", "too-few"), ("backup", "busy"), ("backup", "busy")]
        assert await acts(outcome="refused") == refused
        assert await acts(outcome="too-few") == refused[:1]
        assert await acts(act="backup", outcome="done") == [("backup", "done")] * 2
        assert await acts(act="backup", max_entries=1) == [("backup", "done")]
        assert await acts(token=own) == []
        assert len(await acts(since=times["publish"])) == len(await acts(until=times["publish"])) == 6
        assert await acts(until=yesterday) == []
        assert (await client.post("/v1/campaigns", json=terms_of())).status_code == 201
        assert await acts(token=own) == [("create", "done")]
        for name, value in (
            ("act", "DROP TABLE"),
            ("act", "a" * 33),
            ("outcome", "x y"),
            ("token", "0" * 11),
            ("since", "yesterday"),
            ("until", "2026-13-01"),
            ("actor", "itself"),
        ):
            answer = await client.get("/v1/audit", params={name: value})
            assert (answer.status_code, answer.json()["type"][-17:]) == (422, "invalid-parameter"), name

    talk_as(collector, talk)


def test_filters_can_be_joined(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    for campaign in ("c1", "c2"):
        collector.lifecycle.create(terms_of(campaign))
        collector.opt_in.enrol(campaign, 1)
    shown = collector.trail.entries(AuditFilter(campaign="c2", act="create"))
    assert [(one.campaign, one.act) for one in shown] == [("c2", "create")]
    assert [one.act for one in collector.trail.entries(AuditFilter(before=shown[0].number))] == ["enrol", "create"]
    collector.close()


@pytest.mark.parametrize("path", ["/v1/campaigns/c1/plan", "/v1/campaigns/c1/forecast"])
def test_questions_are_bounded(tmp_path: Path, path: str) -> None:
    collector = open_collector(tmp_path)
    collector.lifecycle.create(terms_of())

    async def talk(client: httpx.AsyncClient) -> None:
        for query in ("like=my-log.csv", "like=aol&like=yandex", "people=1000000000", f"like={'a' * 2000}"):
            answer = await client.get(f"{path}?{query}")
            assert (answer.status_code, answer.json()["type"][-17:]) == (422, "invalid-parameter")
            assert len(answer.content) < 1000

    talk_as(collector, talk)


def test_what_operators_see_is_of_no_person(tmp_path: Path) -> None:
    """Neither records nor reports are in anything that the console reads before the result is public."""
    collector = open_collector(tmp_path)
    terms = collector.lifecycle.create(terms_of(min_opt_in=2))
    for token in collector.opt_in.enrol("c1", 2):
        body = json.loads(records_of(terms, 0))
        body["records"] = [{"query": "distinctive query", "url": "http://distinctive.example"}]
        collector.opt_in.receive("c1", token, json.dumps(body).encode())

    async def talk(client: httpx.AsyncClient) -> None:
        for path in ("overview", "campaigns/c1/status", "campaigns/c1/plan", "reasons", "audit", "token"):
            answer = await client.get(f"/v1/{path}")
            assert answer.status_code == 200
            assert "distinctive" not in answer.text
            assert "access-control-allow-origin" not in answer.headers

    talk_as(collector, talk, "read")
