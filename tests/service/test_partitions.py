"""On PostgreSQL a campaign's reports are a table of their own: emptied at once, and nobody else waits for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy import event
from sqlalchemy.engine import Connection

from blendp.errors import EngineError
from blendp.service import lifecycle as lifecycle_module
from blendp.service.backup import make_backup, restore_backup
from blendp.service.campaigns import find, overview, pseudonym_key
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.service.store import Store, dumps
from blendp.service.store import partitions as partitions_module
from blendp.service.store.partitions import empty_partition, make_partition
from blendp.service.store.reports import count_reports, delete_report, has_rows
from blendp.service.store.schema import report
from tests.service.helpers import Published, keep_rows, on, published_campaign, terms_of
from tests.service.postgres import Postgres

pytestmark = pytest.mark.xdist_group("postgres")

ENDS = pytest.mark.parametrize("end", ["release", "delete"])


def impatient(address: str) -> str:
    """A database in which whoever waits long for a lock fails, and plans are made for all campaigns unless told not."""
    name = sql.Identifier(address.partition("?")[0].rpartition("/")[2])
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} SET lock_timeout = '5s'").format(name))
        connection.execute(sql.SQL("ALTER DATABASE {} SET plan_cache_mode = 'force_generic_plan'").format(name))
    return address


@pytest.fixture
def settings(postgres: Postgres, tmp_path: Path) -> Settings:
    return Settings(tmp_path / "data", impatient(postgres.new_database()), rate=0.0)


@pytest.fixture
def collector(settings: Settings) -> Iterator[CollectorService]:
    """With one campaign of seven reports and one of five."""
    opened = CollectorService.open(settings, on())
    for name, count in (("c1", 7), ("c2", 5)):
        send(opened.store, published_campaign(opened, name), count)
    yield opened
    opened.close()


def send(store: Store, to: Published, count: int) -> None:
    """Keep so many new reports."""
    with store.writing() as connection:
        keep(connection, to, count)


def keep(connection: Connection, to: Published, count: int) -> None:
    rows = [(one.report_id, one.pseudonym, one.question, one.data) for one in to.make(count)]
    assert keep_rows(connection, find(connection, to.name).number, rows) == ["accepted"] * count


def rows_left(store: Store) -> dict[int, int]:
    """How many rows of reports there are, by campaign."""
    query = sa.select(report.c.campaign, sa.func.count()).group_by(report.c.campaign)
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """All statements that are sent meanwhile."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(" ".join(statement.split()))

    event.listen(store.engine, "before_cursor_execute", note)
    yield seen
    event.remove(store.engine, "before_cursor_execute", note)


def afterwards(
    monkeypatch: pytest.MonkeyPatch, function: Callable[[Connection, int], Any], then: Callable[[Connection, int], None]
) -> None:
    """Have something happen after the first call of a function by the lifecycle, in the transaction or beside it."""
    called: list[int] = []

    def wrapped(connection: Connection, number: int) -> Any:
        result = function(connection, number)
        called.append(number)
        if len(called) == 1:
            then(connection, number)
        return result

    monkeypatch.setattr(lifecycle_module, function.__name__, wrapped)


@ENDS
def test_the_end_of_a_campaign_empties_it_at_once(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """In the transaction that ends it, by one statement whatever the number of rows; those of others stay."""
    monkeypatch.setattr(lifecycle_module, "_DELETING_SECONDS", 0.0)
    with statements(collector.store) as seen:
        getattr(collector.lifecycle, end)("c1")
    assert rows_left(collector.store) == {2: 5}
    assert not [one for one in seen if one.startswith("DELETE FROM report")]
    assert [one for one in seen if one.startswith("TRUNCATE")] == ["TRUNCATE report_1"]


@ENDS
def test_a_campaign_that_cannot_be_ended_keeps_its_reports(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Emptying is part of the transaction: without that, it has not happened."""

    def fail(connection: Connection, number: int) -> None:
        assert not has_rows(connection, number)
        raise ZeroDivisionError

    afterwards(monkeypatch, empty_partition, fail)
    with pytest.raises(ZeroDivisionError):
        getattr(collector.lifecycle, end)("c1")
    assert rows_left(collector.store) == {1: 7, 2: 5}
    assert [one.state for one in overview(collector.store)] == ["reporting", "reporting"]


@ENDS
def test_nobody_else_waits_for_the_end_of_a_campaign(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """While its transaction is open others take and delete reports, show their numbers, are created and released; also
    by statements that were sent often enough for PostgreSQL to keep a plan of them."""
    other = published_campaign(collector, "c3")
    for _ in range(12):
        send(collector.store, other, 1)
        look_and_delete(collector.store, 3)

    def others_come(_connection: Connection, _number: int) -> None:
        send(collector.store, other, 2)
        look_and_delete(collector.store, 3)
        assert collector.board.status("c3").clients.reports == 14
        collector.lifecycle.create(terms_of("c4"))
        collector.lifecycle.release("c2")

    afterwards(monkeypatch, empty_partition, others_come)
    getattr(collector.lifecycle, end)("c1")
    assert rows_left(collector.store) == {3: 14 + 13}


def look_and_delete(store: Store, number: int) -> None:
    """Read the reports of a campaign, and bar one that never came."""
    with store.writing() as connection:
        count_reports(connection, number)
        has_rows(connection, number)
        assert not delete_report(connection, number, os.urandom(16))


def test_statements_hold_the_reports_of_one_campaign_alone(collector: CollectorService) -> None:
    """However often they were sent: a plan that holds for every campaign would lock all of them."""
    to = published_campaign(collector, "c3")
    locks = "SELECT DISTINCT relation::regclass::text FROM pg_locks WHERE pid = pg_backend_pid() AND relation::regclass"
    for _ in range(12):
        with collector.store.writing() as connection:
            keep(connection, to, 2)
            count_reports(connection, 3)
            has_rows(connection, 3)
            delete_report(connection, 3, os.urandom(16))
            locked = connection.exec_driver_sql(f"{locks}::text ~ '^report(_[0-9]+)?$'").scalars().all()
        assert sorted(locked) == ["report", "report_3"]


def test_no_look_up_reads_a_whole_table(collector: CollectorService) -> None:
    """Neither of this campaign, though PostgreSQL has no statistics of it yet, nor of others."""
    some = "SELECT 2, decode(md5(i::text), 'hex'), decode(md5(i::text), 'hex'), 0 FROM generate_series(1, 3000) AS i"
    with collector.store.writing() as connection:
        connection.exec_driver_sql(f"INSERT INTO report (campaign, report_id, pseudonym, question) {some}")
    look = "EXPLAIN SELECT data FROM report WHERE campaign = 2 AND pseudonym = '\\x00'::bytea"
    with collector.store.reading() as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = " ".join(connection.exec_driver_sql(look).scalars())
    assert re.search(r"Index Scan using report_2_pkey .* Index Cond: \(.*pseudonym", plan), plan
    assert "report_1" not in plan


def test_who_frees_space_waits_for_nobody(collector: CollectorService) -> None:
    """A table that somebody holds is left out, and freed the next time."""
    collector.store.note_deletion()
    with collector.store.writing() as connection:
        assert empty_partition(connection, 1)
        assert not collector.store.forget_deleted()
    assert collector.store.forget_deleted()


def test_a_campaign_is_created_while_reports_of_others_come_in(
    collector: CollectorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither waits for the other's transaction."""
    other = published_campaign(collector, "c3")
    with collector.store.writing() as connection:
        keep(connection, other, 3)
        collector.lifecycle.create(terms_of("c4"))
    afterwards(monkeypatch, make_partition, lambda _connection, _number: send(collector.store, other, 2))
    collector.lifecycle.create(terms_of("c5"))
    assert rows_left(collector.store)[3] == 5


@ENDS
def test_reports_that_a_backup_reads_go_when_it_is_done(
    collector: CollectorService, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Whoever ends the campaign does not wait for a backup; it has the campaign whole, as it was when it began."""
    monkeypatch.setattr(partitions_module, "WAIT_MILLISECONDS", 50)
    run = dumps._run_program

    def end_it_first(program: str, *options: str, **how: Any) -> None:
        getattr(collector.lifecycle, end)("c1")
        assert rows_left(collector.store) == {1: 7, 2: 5}
        assert collector.files.get(pseudonym_key("c1")) is None, "their key is gone all the same"
        run(program, *options, **how)

    monkeypatch.setattr(dumps, "_run_program", end_it_first)
    make_backup(settings, tmp_path / "backup.tar", with_keys=True, clock=on())
    monkeypatch.undo()
    assert rows_left(collector.store) == {1: 7, 2: 5}
    collector.keep_house()
    assert rows_left(collector.store) == {2: 5}
    collector.close()
    restore_backup(tmp_path / "backup.tar", settings, overwrite=True)
    restored = CollectorService.open(settings, on())
    assert rows_left(restored.store) == {1: 7, 2: 5}
    assert [one.state for one in overview(restored.store)] == ["reporting", "reporting"]
    restored.close()


def test_a_restored_campaign_takes_reports_and_is_released(
    collector: CollectorService, settings: Settings, postgres: Postgres, tmp_path: Path
) -> None:
    """In an empty database, and in place of a collector that has other campaigns; new ones can be created, too."""
    out = tmp_path / "backup.tar"
    to = published_campaign(collector, "c3")
    _, key = make_backup(settings, out, with_keys=True, clock=on())
    collector.lifecycle.delete("c2")
    collector.lifecycle.create(terms_of("c4"))
    collector.close()
    elsewhere = Settings(tmp_path / "other", postgres.new_database(), rate=0.0)
    for target in (elsewhere, settings):
        restore_backup(out, target, overwrite=target is settings, key=key)
        restored = CollectorService.open(target, on())
        assert rows_left(restored.store) == {1: 7, 2: 5}
        send(restored.store, to, 4)
        assert restored.lifecycle.release("c3")[1].groups.client == 4
        send(restored.store, published_campaign(restored, "c4"), 1)
        assert rows_left(restored.store) == {1: 7, 2: 5, 4: 1}
        restored.close()


def test_a_restore_that_breaks_off_changes_nothing(
    collector: CollectorService, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was sent to the database before the program that reads the backup failed."""
    make_backup(settings, tmp_path / "backup.tar", with_keys=False, clock=on())
    collector.lifecycle.delete("c2")
    collector.close()
    program_of = dumps._program
    broken = tmp_path / "broken"
    broken.write_text(f'#!/bin/sh\n[ $1 = --list ] && exit 0\n{program_of("pg_restore")} "$@"\nexit 1\n')
    broken.chmod(0o755)
    monkeypatch.setattr(dumps, "_program", lambda name: str(broken) if name == "pg_restore" else program_of(name))
    with pytest.raises(EngineError):
        restore_backup(tmp_path / "backup.tar", settings, overwrite=True)
    again = CollectorService.open(settings, on())
    assert rows_left(again.store) == {1: 7}
    again.close()
