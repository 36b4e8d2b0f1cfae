"""A release of the collector is, number for number, what ``blendp.run`` gives on the same inputs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import blendp
from blendp.client import make_report, make_reports
from blendp.engines.spool import count_reports, spool_of_reports, write_spool
from blendp.headlist import HeadList
from blendp.methods import LogPeople
from blendp.privacy import Budget
from blendp.render.release.document import release_card, release_of_document, rows_for_json
from blendp.render.release.files import write_readable, write_release
from blendp.reports import QUESTION_NUMBER, ListQuestions, Report, ReportSums
from blendp.service.campaigns import keyed, pseudonym_key
from blendp.service.collector import CollectorService
from blendp.service.new_terms import parameters_of
from blendp.service.opt_in import in_order
from blendp.service.settings import Settings
from blendp.wire.campaign import Manifest, Terms
from blendp.wire.files import READABLE
from tests.service.helpers import enrolment_body, keep_rows
from tests.support import WHO, KnownKey

TODAY = datetime.date(2026, 11, 16)
PEOPLE, CLIENTS = 250, 900


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorService]:
    opened = CollectorService.open(Settings(tmp_path / "data"), lambda: TODAY)
    random = KnownKey(7)
    yield replace(opened, lifecycle=replace(opened.lifecycle, random=lambda *_: random))
    opened.close()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"levels": 1},
        {"opt_in_records": 3, "epsilon": 6.0},
        {"opt_in_records": 8, "records_per_person": 8.0, "objective": "long-list"},
        {"opt_in_records": 8, "epsilon": 6.0},
        {"epsilon": 1.0, "size": None},
        {"method": "published", "delta": 1e-3},
        {"method": "published", "delta": 1e-3, "opt_in_records": 2, "levels": 1},
    ],
    ids=str,
)
def test_release_equals_run_on_the_same_inputs(
    fields: dict[str, Any], collector: CollectorService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = _terms(fields)
    collector.lifecycle.create(terms.__dict__)
    rows = _opt_in(collector, terms)
    manifest = collector.lifecycle.publish("c")
    head_list, reports = _report(collector, manifest, tmp_path / "spool.parquet")
    document, release = collector.lifecycle.release("c")

    monkeypatch.setattr(LogPeople, "reports", lambda *_: reports)
    everybody = rows + [(f"client {i}", "a query of clients alone", "http://clients.example") for i in range(CLIENTS)]
    columns = dict(zip(("user", "query", "url"), zip(*everybody, strict=True), strict=True))
    log = blendp.log_of_table(
        pa.table({name: list(values) for name, values in columns.items()}), columns=blendp.Columns(levels=terms.levels)
    )
    marks = _opted_in({row[0] for row in rows}, everybody)
    ran = _unread(blendp.run(log, parameters_of(terms), opt_in=marks, random=KnownKey(7)))

    assert ran.head_list == release.head_list == head_list
    assert release_card(ran) == release_card(release)
    assert rows_for_json(ran.records()) == rows_for_json(release.records())
    assert rows_for_json(ran.trends()) == rows_for_json(release.trends())
    signed = json.loads(document)
    assert signed["estimates"] == rows_for_json(ran.records())
    assert signed["card"]["users"]["client"] == CLIENTS
    assert release.head_list.records > 2
    require_same_files(release, signed, tmp_path)


def test_a_campaign_whose_clients_report_with_the_wildcard_apart(
    collector: CollectorService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is chosen when the list is published, stands in the signed manifest, and holds for the release."""
    monkeypatch.setattr("blendp.methods.listed.best_oracle", lambda *_: "apart")
    terms = _terms({"epsilon": 2.0})
    collector.lifecycle.create(terms.__dict__)
    rows = _opt_in(collector, terms)
    manifest = collector.lifecycle.publish("c")
    assert manifest.client_randomiser == "apart"
    assert b'"format":"blendp/manifest/2"' in manifest.to_bytes()
    monkeypatch.setattr("blendp.methods.listed.best_oracle", lambda *_: "split")  # another version of blendp, say
    _, reports = _report(collector, manifest, tmp_path / "spool.parquet")
    _, release = collector.lifecycle.release("c")
    assert release.parameters.randomiser == "apart"
    assert "wildcard apart" in release.guarantee.client_mechanism

    monkeypatch.setattr(LogPeople, "reports", lambda *_: reports)
    everybody = rows + [(f"client {i}", "a query of clients alone", "http://clients.example") for i in range(CLIENTS)]
    columns = dict(zip(("user", "query", "url"), zip(*everybody, strict=True), strict=True))
    log = blendp.log_of_table(pa.table({name: list(values) for name, values in columns.items()}))
    marks = _opted_in({row[0] for row in rows}, everybody)
    ran = _unread(blendp.run(log, replace(parameters_of(terms), randomiser="apart"), opt_in=marks, random=KnownKey(7)))
    assert release_card(ran) == release_card(release)
    assert rows_for_json(ran.records()) == rows_for_json(release.records())


def _unread(ran: blendp.Release) -> blendp.Release:
    """The release without how its log was read: a collector reads none."""
    assert ran.reading is not None
    assert ran.reading["format"] == "table"
    return replace(ran, reading=None)


def require_same_files(release: blendp.Release, signed: dict[str, Any], folder: Path) -> None:
    """What is made of the signed document is what ``blendp run`` writes of the release, but for what it is of."""
    about = blendp.About()
    write_release(release, folder / "run", about=about)
    read = release_of_document(signed, release.head_list)
    (folder / "export").mkdir()
    write_readable(read, {**signed["card"], "about": about.to_dict()}, folder / "export", title="blendp release")
    for name in READABLE:
        ours, theirs = ((folder / kind / name).read_text() for kind in ("export", "run"))
        assert json.loads(ours) == json.loads(theirs) if name == "release.json" else ours == theirs, name
    assert release_card(read) == signed["card"]


@pytest.mark.parametrize("clients", [1, 2])
def test_unknown_numbers_are_read_back_too(collector: CollectorService, tmp_path: Path, clients: int) -> None:
    """So few clients that nobody was asked for the record, or for the query."""
    terms = replace(_terms({}), min_clients=1)
    collector.lifecycle.create(terms.__dict__)
    _opt_in(collector, terms)
    manifest = collector.lifecycle.publish("c")
    _report(collector, manifest, tmp_path / "spool.parquet", clients)
    document, release = collector.lifecycle.release("c")
    require_same_files(release, json.loads(document), tmp_path)


def test_an_incomplete_document_is_refused(collector: CollectorService, tmp_path: Path) -> None:
    terms = _terms({})
    collector.lifecycle.create(terms.__dict__)
    _opt_in(collector, terms)
    _report(collector, collector.lifecycle.publish("c"), tmp_path / "spool.parquet")
    document, release = collector.lifecycle.release("c")
    signed = json.loads(document)
    for broken in (
        {name: value for name, value in signed.items() if name != "groups"},
        {**signed, "estimates": signed["estimates"][1:]},
        {**signed, "trends": [signed["trends"][0], *signed["trends"]]},
        {**signed, "card": {**signed["card"], "cross_check": {}}},
    ):
        with pytest.raises(blendp.ParameterError, match="complete release document"):
            release_of_document(broken, release.head_list)


def _terms(fields: dict[str, Any]) -> Terms:
    days = {"opens": "2026-11-01", "opt_in_until": "2026-11-20", "reports_until": "2026-11-30"}
    usual = {"delta": 1e-4, "min_opt_in": PEOPLE, "min_clients": CLIENTS, "expected_clients": CLIENTS}
    return Terms(campaign="c", title="T", **WHO, **{**days, **usual, "opt_in_records": 1, **fields})


def _record(generator: np.random.Generator, levels: int) -> tuple[str, str | None]:
    query = int(generator.geometric(0.25))
    url = f"http://u{int(generator.geometric(0.6))}.example" if levels == 2 else None
    return f"query {query}", url


def _opt_in(collector: CollectorService, terms: Terms) -> list[tuple[str, str, str | None]]:
    """Send everybody's records; what was sent, under the names that the service gives people."""
    generator = np.random.default_rng(3)
    people = [[_record(generator, terms.levels) for _ in range(terms.opt_in_records)] for _ in range(PEOPLE)]
    for records, token in zip(people, collector.opt_in.enrol("c", PEOPLE), strict=True):
        body = enrolment_body(terms, [{"query": query, "url": url} for query, url in records])
        assert collector.opt_in.receive("c", token, body) == "accepted"
    return [(f"{person:08x}", query, url) for person, records in enumerate(in_order(people)) for query, url in records]


def _report(
    collector: CollectorService, manifest: Manifest, spool: Path, clients: int = CLIENTS
) -> tuple[HeadList, ReportSums]:
    """Put everybody's reports into the store, and count them by other code, from a Parquet spool."""
    with collector.store.reading() as connection:
        row = connection.exec_driver_sql("SELECT payload FROM document WHERE kind = 'list'").one()
    head_list, terms = HeadList.from_bytes(row.payload), manifest.terms
    generator, random = np.random.default_rng(5), KnownKey(11)
    ids = [i.to_bytes(16, "big") for i in range(clients)]
    key = collector.files.get(pseudonym_key("c")) or b""
    reports: list[Report] = []
    stored = []
    for report_id in ids:
        records = [_record(generator, terms.levels)]
        if manifest.client_randomiser == "apart":
            report = manifest.scheme(head_list).randomise(records, random)
        elif terms.method == "published":
            (report,) = make_reports(records, head_list, Budget(terms.epsilon, terms.delta), random)
        else:
            report = make_report(records, head_list, terms.epsilon, manifest.query_share, random)
        reports.append(report)
        stored.append((report_id, keyed(report_id, key), QUESTION_NUMBER[report.question], report.data))
    with collector.store.writing() as connection:
        assert set(keep_rows(connection, 1, stored)) == {"accepted"}
    if manifest.client_randomiser == "apart":
        return head_list, manifest.scheme(head_list).count(reports)
    form = ListQuestions(head_list, terms.epsilon)
    write_spool(spool, spool_of_reports(zip(ids, reports, strict=True), form))
    counted = count_reports([spool], form)
    return head_list, counted.sums(*terms.scheme(head_list, manifest.query_share).questions)


def _opted_in(people: set[str], everybody: list[tuple[str, str, str | None]]) -> NDArray[np.bool_]:
    """A mark for every user of the log, in its order."""
    marked = blendp.log_of_table(
        pa.table(
            {
                "user": [row[0] for row in everybody],
                "query": [row[1] for row in everybody],
                "trusts": ["yes" if row[0] in people else "no" for row in everybody],
            }
        ),
        columns=blendp.Columns(levels=1, opt_in="trusts"),
    ).draw(1, 0)
    assert marked.opt_in is not None
    return marked.opt_in
