"""The audit trail: every act of an operator is there, with whose token, when, and what became of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import sqlalchemy as sa

from blendp.errors import ParameterError
from blendp.service.audit import LOCAL, MAX_ENTRIES, AuditFilter, Trail, holder_of
from blendp.service.collector import CollectorService
from blendp.service.refusal import Refused
from blendp.service.store.schema import audit
from tests.service.helpers import bearer, open_collector, published_campaign, records_of, terms_of, with_client


def _acts(
    collector: CollectorService, campaign: str | None = None
) -> list[tuple[str, str | None, str, str | None, str]]:
    entries = collector.trail.entries(AuditFilter(campaign))
    return [(one.actor, one.name, one.act, one.campaign, one.outcome) for one in reversed(entries)]


def test_every_act_over_http_is_noted_with_its_token(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    alice, bob = collector.tokens.create("alice"), collector.tokens.create("bob", ["release"])

    async def talk(client: httpx.AsyncClient) -> Any:
        path, by_alice, by_bob = "/v1/campaigns", bearer(alice), bearer(bob)
        fields = terms_of(min_opt_in=2)
        assert (await client.post(path, headers=by_alice, json=fields)).status_code == 201
        assert (await client.post(path, headers=by_alice, json=fields)).status_code == 409
        assert (await client.post(f"{path}/c1/enrolments", headers=by_alice, json={"count": 3})).status_code == 201
        assert (await client.post(f"{path}/c1/publish", headers=by_alice)).status_code == 409
        assert (await client.post(f"{path}/c1/publish", headers=by_bob)).status_code == 403
        assert (await client.post(f"{path}/c1/release", headers=by_bob)).status_code == 409
        assert (await client.delete(f"{path}/c1", headers=by_alice)).status_code == 200
        assert (await client.get("/v1/audit", headers=by_bob)).status_code == 403
        return (await client.get("/v1/audit?campaign=c1&max_entries=3", headers=by_alice)).json()["entries"]

    page = with_client(collector, talk)
    collector = open_collector(tmp_path)
    assert _acts(collector) == [
        ("local", None, "create-token", None, "done"),
        ("local", None, "create-token", None, "done"),
        ("token", "alice", "create", "c1", "done"),
        ("token", "alice", "create", "c1", "conflict"),
        ("token", "alice", "enrol", "c1", "done"),
        ("token", "alice", "publish", "c1", "too-few"),
        ("token", "bob", "release", "c1", "wrong-state"),
        ("token", "alice", "delete", "c1", "done"),
    ]
    assert [one["act"] for one in page] == ["delete", "release", "publish"]
    assert page[0]["token"] == alice.split("-")[2]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one["time"]) for one in page)
    with collector.store.reading() as connection:
        rows = repr(connection.execute(sa.select(audit)).all())
    assert alice.split("-")[3] not in rows
    assert bob.split("-")[3] not in rows
    collector.close()


def test_acts_on_the_machine_are_those_of_local(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    published_campaign(collector, min_opt_in=2)
    token = collector.tokens.create("alice").split("-")[2]
    assert collector.tokens.revoke(token)
    assert not collector.tokens.revoke(token)
    collector.lifecycle.rotate_keys(1)
    assert [(actor, act) for actor, _, act, _, _ in _acts(collector)] == [
        ("local", act) for act in ("create", "enrol", "publish", "create-token", "revoke-token", "rotate-key")
    ]
    collector.close()


def test_what_people_do_is_not_in_it(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    terms = collector.lifecycle.create(terms_of())
    (token,) = collector.opt_in.enrol("c1", 1)
    before = _acts(collector)
    collector.opt_in.receive("c1", token, records_of(terms, 0))
    collector.withdraw("c1", token)
    with pytest.raises(Refused):
        collector.opt_in.receive("c1", token, msgspec.json.encode({}))
    assert _acts(collector) == before
    collector.close()


def test_an_act_and_its_note_are_there_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = open_collector(tmp_path)
    terms = collector.lifecycle.create(terms_of(min_opt_in=1))
    (token,) = collector.opt_in.enrol("c1", 1)
    collector.opt_in.receive("c1", token, records_of(terms, 0))

    def fail(*_: Any, **__: Any) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("the disk is gone"))

    monkeypatch.setattr(Trail, "note", fail)
    for verb in (collector.lifecycle.publish, collector.lifecycle.delete):
        with pytest.raises(Refused):
            verb("c1", LOCAL)
    monkeypatch.undo()
    assert _acts(collector)[-1][2] == "enrol"
    assert collector.lifecycle.publish("c1", LOCAL).opt_in_people == 1
    collector.close()


def test_the_trail_outlives_the_campaign_and_says_who_deleted_it(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    collector.lifecycle.create(terms_of())
    collector.lifecycle.delete("c1", holder_of(collector.tokens.create("alice").split("-")[2]))
    assert [act for _, _, act, _, _ in _acts(collector, "c1")] == ["create", "delete"]

    async def talk(client: httpx.AsyncClient) -> str:
        return str((await client.get("/v1/campaigns/c1/terms")).json()["detail"])

    detail = with_client(collector, talk)
    assert "was deleted by its operator on " in detail
    assert "alice" not in detail, "whose token it was is for operators alone"


def test_it_is_read_page_by_page(tmp_path: Path) -> None:
    collector = open_collector(tmp_path)
    for number in range(5):
        collector.trail.note_now(LOCAL, "backup", detail=str(number))
    first = collector.trail.entries(max_entries=3)
    assert [one.detail for one in first] == ["4", "3", "2"]
    rest = collector.trail.entries(AuditFilter(before=first[-1].number), max_entries=3)
    assert [one.detail for one in rest] == ["1", "0"]
    for wrong in (0, MAX_ENTRIES + 1, True):
        with pytest.raises(ParameterError):
            collector.trail.entries(max_entries=wrong)
    collector.close()


@pytest.mark.parametrize(
    "query",
    [
        "max_entries=0",
        "max_entries=1001",
        "max_entries=x",
        "max_entries=٣",
        "before=0",
        "before=99999999999",
        "campaign=A",
        "max_entries=1&max_entries=2",
        "x=1",
    ],
)
def test_wrong_questions_are_refused(tmp_path: Path, query: str) -> None:
    collector = open_collector(tmp_path)
    token = collector.tokens.create("alice")

    async def talk(client: httpx.AsyncClient) -> httpx.Response:
        return await client.get(f"/v1/audit?{query}", headers=bearer(token))

    assert with_client(collector, talk).status_code == 422
