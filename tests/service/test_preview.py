"""What operators are shown before they sign or draw something: the checks of a result, the forecast of a list."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from blendp.client import Policy, make_report
from blendp.evaluation.planner import forecast_list
from blendp.render.release.cautions import all_cautions
from blendp.render.release.checks import release_checks
from blendp.reports import QUESTION_NUMBER
from blendp.service.board.forecast import in_words
from blendp.service.board.status import StatusBoard
from blendp.service.collector import CollectorService
from blendp.service.new_terms import parameters_of
from blendp.wire import Terms, UploadedReport
from blendp.wire.media_types import BATCH_TYPE
from blendp.wire.reports import write_batch
from tests.service.helpers import (
    PEOPLE,
    Published,
    bearer,
    on,
    open_collector,
    published_campaign,
    records_of,
    terms_of,
    with_client,
)
from tests.support import KnownKey

CLIENTS = 400


@pytest.fixture
def collector(tmp_path: Path) -> CollectorService:
    """One whose noise is known, so that nothing flickers."""
    opened = open_collector(tmp_path)
    return replace(opened, lifecycle=replace(opened.lifecycle, random=lambda *_: KnownKey(7)))


def reports_of(published: Published, count: int, query: str | None = None) -> bytes:
    """A batch of honest clients, or of clients who all claim one query."""
    terms, random, uploads = published.manifest.terms, KnownKey(11), []
    for person in range(count):
        number = person % 3 if query is None else 0
        claimed = query or f"q{number}"
        one = make_report(
            [(claimed, f"http://u{number}.example")],
            published.head_list,
            terms.epsilon,
            published.manifest.query_share,
            random,
        )
        name = person.to_bytes(16, "big")
        uploads.append(UploadedReport(name, name, QUESTION_NUMBER[one.question], one.data))
    return write_batch(published.binding, uploads)


async def send(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/v1/campaigns/c1/reports", content=body, headers={"content-type": BATCH_TYPE})
    assert set(answer.json()["outcomes"]) == {"accepted"}


def test_a_preview_signs_nothing_and_shows_what_a_release_would(collector: CollectorService) -> None:
    published = published_campaign(collector, epsilon=6.0, min_clients=CLIENTS)
    headers = bearer(collector.tokens.create("releaser", ["release"]))
    address = "/v1/campaigns/c1/preview"

    async def talk(client: httpx.AsyncClient) -> None:
        refused = await client.get(address, headers=headers)
        assert (refused.status_code, refused.json()["missing"]) == (409, CLIENTS)
        await send(client, reports_of(published, CLIENTS))
        before = StatusBoard(collector.store, on()).status("c1")
        first, second = [(await client.get(address, headers=headers)).json() for _ in range(2)]
        assert first == second
        assert (first["clients"], first["opt_in_people"], first["records"]) == (CLIENTS, PEOPLE, 3)
        assert StatusBoard(collector.store, on()).status("c1") == before
        assert (await client.get("/v1/campaigns/c1/release")).status_code == 404
        more = [UploadedReport(b"x" * 16, b"x" * 16, one.question, one.data) for one in published.make(1)]
        await send(client, write_batch(published.binding, more))
        expected = (await client.get(address, headers=headers)).json()
        assert expected["clients"] == CLIENTS + 1
        release = (await client.post("/v1/campaigns/c1/release", headers=headers)).json()
        assert release.pop("release_sha256")
        assert release == expected
        assert (await client.get(address, headers=headers)).json()["type"].endswith("wrong-state")

    with_client(collector, talk)


def test_clients_who_lie_are_an_alarm_before_anything_is_signed(collector: CollectorService) -> None:
    """All clients claim one query that a third of the opt-in people have."""
    published = published_campaign(collector, epsilon=6.0, min_clients=CLIENTS)
    headers = bearer(collector.tokens.create("releaser", ["release"]))

    async def talk(client: httpx.AsyncClient) -> None:
        await send(client, reports_of(published, CLIENTS, "q0"))
        shown = (await client.get("/v1/campaigns/c1/preview", headers=headers)).json()
        assert shown["agreement"]["differ"]
        assert shown["agreement"]["flagged_records"] == len(shown["agreement"]["flagged"]) > 0
        flagged = {one["query"]: one for one in shown["agreement"]["flagged"]}
        assert flagged["q0"]["client"] > 0.9 > 0.6 > flagged["q0"]["opt_in"]
        (caution,) = [one for one in shown["cautions"] if "do not tell the same story" in one]
        assert "flagged: " in caution
        assert "q0" in caution
        release = (await client.post("/v1/campaigns/c1/release", headers=headers)).json()
        assert caution in release["cautions"]

    with_client(collector, talk)


def test_honest_clients_are_no_alarm(collector: CollectorService) -> None:
    published = published_campaign(collector, epsilon=6.0, min_clients=CLIENTS)

    async def talk(client: httpx.AsyncClient) -> None:
        await send(client, reports_of(published, CLIENTS))
        _, release = collector.lifecycle.preview("c1")
        checks = release_checks(release)
        assert checks.agreement is not None
        assert not checks.agreement.differ
        assert checks.agreement.flagged == []
        assert all_cautions(release) == []
        json.dumps(checks.to_dict(), allow_nan=False)

    with_client(collector, talk)


def test_a_forecast_is_of_the_number_of_people_and_not_of_their_records(tmp_path: Path) -> None:
    """Two campaigns whose people have nothing in common but their number are told the same."""
    collector = open_collector(tmp_path)
    headers = bearer(collector.tokens.create("manager", ["manage"]))
    for name, same in (("c1", True), ("c2", False)):
        terms = collector.lifecycle.create(terms_of(name))
        for person, token in enumerate(collector.opt_in.enrol(name, PEOPLE)):
            collector.opt_in.receive(name, token, records_of(terms, 0 if same else person))

    async def talk(client: httpx.AsyncClient) -> None:
        forecasts = [
            (await client.get(f"/v1/campaigns/{name}/forecast", headers=headers, params={"like": "yandex"})).json()
            for name in ("c1", "c2")
        ]
        assert forecasts[0] == forecasts[1]
        assert len(collector.side_work._kept) == 2, "made aside: some terms take minutes, and all the memory there is"
        expected = forecast_list(parameters_of(Terms(**terms_of())), 2, PEOPLE, "yandex", Policy.min_records)
        assert forecasts[0] == in_words(expected).to_dict()
        assert forecasts[0]["too_short"]
        usual = await client.get("/v1/campaigns/c1/forecast", headers=headers)
        assert usual.json()["like"] == "aol"
        wrong = await client.get("/v1/campaigns/c1/forecast", headers=headers, params={"like": "my-log.csv"})
        assert wrong.json()["type"] == "urn:blendp:problem:invalid-parameter"
        assert "like = 'my-log.csv'" in wrong.json()["detail"]
        collector.lifecycle.publish("c1")
        late = await client.get("/v1/campaigns/c1/forecast", headers=headers)
        assert late.json()["type"] == "urn:blendp:problem:wrong-state"

    with_client(collector, talk)


def test_previews_are_computed_one_at_a_time(collector: CollectorService) -> None:
    """So that no number of them takes all the threads that others wait for."""
    published = published_campaign(collector, epsilon=6.0, min_clients=CLIENTS)
    headers = bearer(collector.tokens.create("releaser", ["release"]))

    async def talk(client: httpx.AsyncClient) -> None:
        await send(client, reports_of(published, CLIENTS))
        with collector.lifecycle._previewing:
            busy = await client.get("/v1/campaigns/c1/preview", headers=headers)
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "30")
        assert (await client.get("/v1/campaigns/c1/preview", headers=headers)).status_code == 200

    with_client(collector, talk)
