"""Large campaigns are not counted each time somebody looks; small ones always are."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from blendp.service.board import report_totals
from blendp.service.board.report_totals import ReportTotals
from blendp.service.board.standing import Standings
from blendp.service.board.status import StatusBoard
from blendp.service.collector import CollectorService
from blendp.service.store.reports import count_reports
from tests.service.helpers import keep_rows, open_collector, published_campaign


class _Watch:
    """A stopwatch that stands still, and knows how often reports were counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.counts = 0.0, 0

        def counting(connection: Connection, campaign: int) -> int:
            self.counts += 1
            return count_reports(connection, campaign)

        monkeypatch.setattr(report_totals, "count_reports", counting)

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def collector(tmp_path: Path) -> CollectorService:
    return open_collector(tmp_path)


def test_arrivals_are_added_and_deletions_are_seen_when_it_is_time(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_totals, "ALWAYS_COUNTED", 4)
    monkeypatch.setattr(report_totals, "_REPORTS_A_SECOND", 1)
    watch = _Watch(monkeypatch)
    board = StatusBoard(collector.store, collector.clock, Standings(ReportTotals(watch)))
    published = published_campaign(collector)
    number = collector.book.reporting("c1").number

    def send(count: int) -> None:
        rows = [(one.report_id, one.pseudonym, one.question, one.data) for one in published.make(count)]
        with collector.store.writing() as connection:
            keep_rows(connection, number, rows)

    def shown() -> int:
        return board.status("c1").clients.reports

    send(3)
    assert [shown(), shown()] == [3, 3]
    assert watch.counts == 2, "a small campaign is always counted"
    send(2)
    assert [shown(), shown(), shown()] == [5, 5, 5]
    assert watch.counts == 3, "a large one once"
    send(4)
    assert (shown(), watch.counts) == (9, 3), "what came since is added"
    with collector.store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE report SET data = NULL WHERE campaign = {number}")
    watch.seconds = 4.9
    assert (shown(), watch.counts) == (9, 3), "five reports are counted again after five seconds"
    watch.seconds = 5.0
    assert (shown(), watch.counts) == (0, 4)
    collector.close()


def test_no_more_than_some_campaigns_are_remembered(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_totals, "_MAX_CAMPAIGNS", 2)
    totals = ReportTotals()
    with collector.store.reading() as connection:
        for campaign in range(5):
            assert totals.reports(connection, campaign, 0) == 0
            assert len(totals._known) <= 2
    collector.close()
