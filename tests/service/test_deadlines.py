"""Deadlines act: a campaign that its operator leaves alone keeps nobody's records longer than its terms say."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from blendp.service import deadlines as deadlines_module
from blendp.service.audit import AuditFilter
from blendp.service.campaigns import find, opt_in_key, pseudonym_key, set_state
from blendp.service.collector import CollectorService
from blendp.service.lifecycle import Lifecycle
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store.schema import campaign, enrolment, report
from blendp.wire.status import ByItself
from tests.service.faults import AFTER_COMMIT, BEFORE_COMMIT, DESTROY_KEY, FORGET, Control
from tests.service.helpers import DAY, keep_rows, open_collector, published_campaign, records_of, terms_of, with_client
from tests.service.postgres import Postgres
from tests.service.test_calendar import Machine, days

RECORDS_KEPT_UNTIL = datetime.date(2026, 11, 27)
REPORTS_KEPT_UNTIL = datetime.date(2026, 12, 7)
"""Those of ``terms_of``: a week after the last day to opt in, and to report."""


class Today:
    """A clock that is set."""

    def __init__(self) -> None:
        self.day = DAY

    def __call__(self) -> datetime.date:
        return self.day


@pytest.fixture
def today() -> Today:
    return Today()


@pytest.fixture
def collector(tmp_path: Path, today: Today) -> Iterator[CollectorService]:
    opened = open_collector(tmp_path, today)
    yield opened
    opened.close()


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What is written into the log."""
    lines: list[tuple[str, dict[str, Any]]] = []
    for name in ("tell", "warn"):
        monkeypatch.setattr(deadlines_module, name, lambda event, **members: lines.append((event, members)))
    return lines


def opted_in(collector: CollectorService, name: str, people: int, **fields: Any) -> None:
    """A campaign that so many people have sent records to."""
    terms = collector.lifecycle.create(terms_of(name, **fields))
    for person, token in enumerate(collector.opt_in.enrol(name, people)):
        collector.opt_in.receive(name, token, records_of(terms, person))


def reported(collector: CollectorService, name: str, clients: int, **fields: Any) -> None:
    """A campaign that so many clients have reported to."""
    published = published_campaign(collector, name, **fields)
    rows = [(one.report_id, one.pseudonym, one.question, one.data) for one in published.make(clients)]
    with collector.store.writing() as connection:
        keep_rows(connection, find(connection, name).number, rows)


def state_of(collector: CollectorService, name: str) -> str:
    with collector.store.reading() as connection:
        return str(connection.execute(sa.select(campaign.c.state).where(campaign.c.name == name)).scalar_one())


def rows_in(collector: CollectorService, table: sa.Table) -> int:
    """How many rows hold something of people."""
    column = table.c.sealed if table is enrolment else table.c.data
    query = sa.select(sa.func.count()).select_from(table).where(column.is_not(None))
    with collector.store.reading() as connection:
        return int(connection.execute(query).scalar_one())


def test_records_are_kept_no_longer_than_the_terms_say(
    collector: CollectorService, today: Today, journal: list[Any]
) -> None:
    opted_in(collector, "enough", 3, min_opt_in=3)
    opted_in(collector, "too-few", 2, min_opt_in=3)
    today.day = RECORDS_KEPT_UNTIL
    collector.meet_deadlines()
    assert (state_of(collector, "enough"), state_of(collector, "too-few")) == ("opt-in", "opt-in"), "the last day"
    today.day += days(1)
    collector.meet_deadlines()
    assert (state_of(collector, "enough"), state_of(collector, "too-few")) == ("reporting", "deleted")
    assert rows_in(collector, enrolment) == 0
    assert not [name for name in collector.files.names() if name in (opt_in_key("enough"), opt_in_key("too-few"))]
    last = RECORDS_KEPT_UNTIL.isoformat()
    assert journal == [
        ("a deadline was met", {"campaign": "enough", "act": "publish", "last_day": last}),
        ("a deadline was met", {"campaign": "too-few", "act": "delete", "last_day": last}),
    ]
    deletion, publication = collector.trail.entries(max_entries=2)
    assert (publication.actor, publication.act, publication.campaign) == ("itself", "publish", "enough")
    assert (deletion.actor, deletion.act, deletion.campaign) == ("itself", "delete", "too-few")
    assert "1 more opt-in people are needed: 2 of 3" in deletion.detail
    collector.meet_deadlines()
    assert len(journal) == 2, "nothing is due any more"


def test_reports_are_kept_no_longer_than_the_terms_say(collector: CollectorService, today: Today) -> None:
    reported(collector, "enough", 3)
    reported(collector, "too-few", 2)
    today.day = REPORTS_KEPT_UNTIL
    collector.meet_deadlines()
    assert (state_of(collector, "enough"), state_of(collector, "too-few")) == ("reporting", "reporting")
    today.day += days(1)
    collector.meet_deadlines()
    assert (state_of(collector, "enough"), state_of(collector, "too-few")) == ("released", "deleted")
    assert rows_in(collector, report) == 0
    assert not [name for name in collector.files.names() if name.startswith("campaign")]


def test_a_list_that_devices_refuse_is_published_all_the_same(collector: CollectorService, today: Today) -> None:
    opted_in(collector, "c1", 1, min_opt_in=1)
    today.day = RECORDS_KEPT_UNTIL + days(1)
    collector.meet_deadlines()
    head_list = collector.board.status("c1").head_list
    assert head_list is not None
    assert head_list.records < 10


def test_people_are_told_why_a_campaign_is_gone(collector: CollectorService, today: Today, tmp_path: Path) -> None:
    opted_in(collector, "c1", 2, min_opt_in=3)
    today.day = RECORDS_KEPT_UNTIL + days(1)
    collector.meet_deadlines()

    async def talk(client: httpx.AsyncClient) -> httpx.Response:
        return await client.get("/v1/campaigns/c1/terms")

    answer = with_client(open_collector(tmp_path, today), talk)
    assert answer.status_code == 404
    for phrase in ("was deleted on", "as its terms say", "2 of 3", "2026-11-27"):
        assert phrase in answer.json()["detail"]


def test_nothing_is_done_on_a_clock_that_jumped(tmp_path: Path) -> None:
    machine = Machine()
    collector = machine.open(tmp_path)
    opted_in(collector, "c1", 2, min_opt_in=3)
    machine.day += days(60)
    collector.meet_deadlines()
    collector.keep_house()
    collector.meet_deadlines()
    assert (state_of(collector, "c1"), rows_in(collector, enrolment)) == ("opt-in", 2)
    shown = collector.board.status("c1")
    assert "blendp clock accept" in str(shown.clock.doubt)
    assert shown.by_itself is not None
    assert (shown.today, shown.by_itself.would_be) == (DAY.isoformat(), "delete")
    collector.close()
    again = machine.open(tmp_path)
    again.meet_deadlines()
    assert state_of(again, "c1") == "opt-in", "nor after a restart"
    machine.passes(1)
    again.keep_house()
    again.meet_deadlines()
    assert state_of(again, "c1") == "deleted", "a day of steady running later"
    again.close()


def test_status_tells_what_happens_by_itself(collector: CollectorService) -> None:
    opted_in(collector, "c1", 3, min_opt_in=3)
    next_act = collector.board.status("c1").by_itself
    assert next_act == ByItself("publish", after="2026-11-27", would_be="publish", last=None)
    collector.lifecycle.publish("c1")
    next_act = collector.board.status("c1").by_itself
    assert next_act == ByItself("release", after="2026-12-07", would_be="delete", last=None)
    reported(collector, "c2", 3)
    collector.lifecycle.release("c2")
    assert collector.board.status("c2").by_itself is None


def test_what_fails_is_told_and_tried_again_ever_more_rarely(
    collector: CollectorService, today: Today, journal: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    opted_in(collector, "broken", 1, min_opt_in=1)
    opted_in(collector, "well", 1, min_opt_in=1)
    today.day = RECORDS_KEPT_UNTIL + days(1)
    publish, seconds, tries = Lifecycle.publish, [0.0], []

    def failing(self: Lifecycle, name: str, *by: Any) -> Any:
        if name == "well":
            return publish(self, name, *by)
        tries.append(seconds[0])
        raise Refused("busy", "The store cannot be reached.")

    monkeypatch.setattr(Lifecycle, "publish", failing)
    monkeypatch.setattr(collector.deadlines, "stopwatch", lambda: seconds[0])
    for _ in range(8 * 60):
        collector.meet_deadlines()
        seconds[0] += 60
    assert tries[:5] == [0, 60, 180, 420, 900]
    assert max(later - earlier for earlier, later in pairwise(tries)) == 3600
    assert state_of(collector, "well") == "reporting", "others' deadlines are met"
    due = collector.board.status("broken").by_itself
    assert due is not None
    last = due.last
    assert last is not None
    assert (last.act, last.outcome, last.detail) == ("publish", "busy", "The store cannot be reached.")
    noted = collector.trail.entries(AuditFilter("broken"))
    assert [one.outcome for one in noted if one.actor == "itself"] == ["busy"], "noted once"
    assert len([event for event, _ in journal if event == "a deadline could not be met"]) == len(tries)
    assert f'blendp_deadlines_total{{act="publish",outcome="busy"}} {float(len(tries))}' in collector.numbers().decode()
    monkeypatch.setattr(Lifecycle, "publish", publish)
    seconds[0] += 3600
    collector.meet_deadlines()
    assert state_of(collector, "broken") == "reporting"


def test_records_that_cannot_be_read_are_not_taken_for_too_few(
    collector: CollectorService, today: Today, journal: list[Any]
) -> None:
    opted_in(collector, "c1", 1, min_opt_in=1)
    collector.files.destroy(opt_in_key("c1"))
    today.day = RECORDS_KEPT_UNTIL + days(1)
    collector.meet_deadlines()
    assert rows_in(collector, enrolment) == 1
    assert journal[0][0] == "a deadline could not be met"


def test_an_operator_who_comes_first_is_not_overruled(
    collector: CollectorService, today: Today, journal: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at what is due and the act somebody publishes; between too few and the deletion, as well."""
    opted_in(collector, "c1", 2, min_opt_in=2)
    today.day = RECORDS_KEPT_UNTIL + days(1)
    due = collector.deadlines._due(today.day)
    collector.lifecycle.publish("c1")
    monkeypatch.setattr(collector.deadlines, "_due", lambda _: due)
    collector.meet_deadlines()
    assert (state_of(collector, "c1"), journal) == ("reporting", [])

    def too_few(*_: Any) -> None:
        raise Refused("too-few", "People are missing.")

    monkeypatch.setattr(Lifecycle, "publish", too_few)
    collector.meet_deadlines()
    assert state_of(collector, "c1") == "reporting", "a published campaign is not deleted"


@pytest.mark.parametrize("left", ["opt-in", "listing"])
def test_a_campaign_that_a_dead_process_left_goes_on(collector: CollectorService, today: Today, left: str) -> None:
    opted_in(collector, "c1", 2, min_opt_in=2)
    with collector.store.writing() as connection:
        set_state(connection, find(connection, "c1").number, left)
    today.day = RECORDS_KEPT_UNTIL + days(1)
    collector.meet_deadlines()
    assert state_of(collector, "c1") == "reporting"


_PROCESS = """
import datetime, sys
from pathlib import Path
from tests.service.faults import Control, install
folder = Path(sys.argv[1])
control = Control(folder / "control")
install(control)
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
collector = CollectorService.open(Settings(folder / "data"), control.clock)
control.die(sys.argv[2], int(sys.argv[3]))
collector.meet_deadlines()
"""


@pytest.mark.parametrize(
    ("point", "times"),
    [(BEFORE_COMMIT, 1), (AFTER_COMMIT, 1), (BEFORE_COMMIT, 2), (AFTER_COMMIT, 2), (DESTROY_KEY, 1), (FORGET, 1)],
)
def test_a_process_that_is_killed_in_the_middle_is_carried_on(tmp_path: Path, point: str, times: int) -> None:
    control = Control(tmp_path / "control")
    control.today = DAY
    collector = CollectorService.open(Settings(tmp_path / "data"), control.clock)
    opted_in(collector, "enough", 3, min_opt_in=3)
    collector.close()
    control.today = RECORDS_KEPT_UNTIL + days(1)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))}
    command = [sys.executable, "-c", _PROCESS, str(tmp_path), point, str(times)]
    died = subprocess.run(command, env=environment, cwd=root, check=False, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    again = CollectorService.open(Settings(tmp_path / "data"), control.clock)
    again.tidy()
    again.meet_deadlines()
    assert state_of(again, "enough") == "reporting"
    assert rows_in(again, enrolment) == 0
    assert opt_in_key("enough") not in again.files.names()
    assert [one.act for one in again.trail.entries() if one.actor == "itself"] == ["publish"], "once, and noted"
    again.close()
    control.close()


@pytest.mark.xdist_group("postgres")
def test_one_process_at_a_time_meets_deadlines(postgres: Postgres, tmp_path: Path, today: Today) -> None:
    url = postgres.new_database()
    one, other = (CollectorService.open(Settings(tmp_path / "data", database=url), today) for _ in range(2))
    opted_in(one, "c1", 2, min_opt_in=2)
    today.day = RECORDS_KEPT_UNTIL + days(1)
    with one.store.alone() as first:
        assert first
        other.meet_deadlines()
        assert state_of(other, "c1") == "opt-in"
    other.meet_deadlines()
    assert state_of(other, "c1") == "reporting"
    for collector in (one, other):
        collector.close()


def test_numbers_for_prometheus_tell_what_is_left(collector: CollectorService, today: Today) -> None:
    opted_in(collector, "early", 2, min_opt_in=3)
    reported(collector, "late", 2)
    reported(collector, "done", 3)
    collector.lifecycle.release("done")
    collector.lifecycle.create(terms_of("gone"))
    collector.lifecycle.delete("gone")
    figures = collector.numbers().decode()
    for line in (
        'blendp_campaign_state{campaign="early",state="opt-in"} 1.0',
        'blendp_campaign_state{campaign="done",state="released"} 1.0',
        'blendp_campaign_days_left{campaign="early",deadline="opt_in_until"} 4.0',
        'blendp_campaign_days_left{campaign="early",deadline="records_kept_until"} 11.0',
        'blendp_campaign_days_left{campaign="late",deadline="reports_kept_until"} 21.0',
        'blendp_campaign_missing_people{campaign="early",group="opt-in"} 1.0',
        'blendp_campaign_missing_people{campaign="late",group="clients"} 1.0',
        'blendp_campaign_reports_total{campaign="late",outcome="accepted"} 2.0',
        "blendp_clock_sure 1.0",
        "blendp_store_up 1.0",
    ):
        assert f"{line}\n" in figures, line
    assert '"gone"' not in figures
    today.day = RECORDS_KEPT_UNTIL + days(2)
    assert 'deadline="records_kept_until"} -2.0' in collector.numbers().decode()


def test_the_number_of_time_series_is_bounded(collector: CollectorService, monkeypatch: pytest.MonkeyPatch) -> None:
    from blendp.service import campaign_numbers

    monkeypatch.setattr(campaign_numbers, "MAX_UNDER_WAY", 2)
    for number in range(4):
        collector.lifecycle.create(terms_of(f"c{number}"))
    figures = collector.numbers().decode()
    assert [f'"c{number}"' in figures for number in range(4)] == [False, False, True, True]


def test_numbers_are_told_without_a_store(collector: CollectorService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise sa.exc.OperationalError("BEGIN", {}, Exception("away"))

    monkeypatch.setattr(collector.store.engine.dialect, "do_begin", fail)
    figures = collector.numbers().decode()
    assert "blendp_store_up 0.0" in figures
    assert "blendp_reports_waiting" in figures


def test_records_whose_key_is_lost_do_not_stay_for_ever(collector: CollectorService, today: Today) -> None:
    """The key may be put back for a week; then records that nobody can read go as the terms promised."""
    opted_in(collector, "lost", 3, min_opt_in=3)
    collector.files.destroy(opt_in_key("lost"))
    today.day = RECORDS_KEPT_UNTIL + days(deadlines_module.UNREADABLE_DAYS)
    collector.meet_deadlines()
    assert (state_of(collector, "lost"), rows_in(collector, enrolment)) == ("opt-in", 3)
    today.day += days(1)
    CollectorService.meet_deadlines(open_again(collector, today))
    assert (state_of(collector, "lost"), rows_in(collector, enrolment)) == ("deleted", 0)


def open_again(collector: CollectorService, today: Today) -> CollectorService:
    """As after a restart, which does not wait to try again."""
    collector.close()
    return CollectorService.open(collector.settings, today)


def test_a_key_that_cannot_be_destroyed_stops_nothing_else(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is public and the reports are gone; the service starts, and tries again every minute."""
    reported(collector, "c1", 3)

    def fail(_files: object, _name: str) -> None:
        raise OSError("the folder is read-only")

    with monkeypatch.context() as broken:
        broken.setattr("blendp.service.private_files.PrivateFiles.destroy", fail)
        collector.lifecycle.release("c1")
        collector.tidy()
        collector.keep_house()
    assert (state_of(collector, "c1"), rows_in(collector, report)) == ("released", 0)
    assert pseudonym_key("c1") in collector.files.names()
    collector.keep_house()
    assert pseudonym_key("c1") not in collector.files.names()
