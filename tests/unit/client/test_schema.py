"""A device's memory has a version, and a way up from every earlier one."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from blendp.client import schema
from blendp.client.ledger import CAP, YEARLY
from blendp.client.schema import APPLICATION, STEPS, bring_up
from blendp.client.store import FILE, DeviceStore
from blendp.errors import ParameterError

NEXT = "ALTER TABLE device ADD COLUMN note TEXT NOT NULL DEFAULT 'none';\nCREATE TABLE more (number INTEGER)"


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """blendp as it will be when the tables have changed."""
    monkeypatch.setattr(schema, "STEPS", (*STEPS, NEXT))


def version(folder: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(folder / FILE)) as connection:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (number,) = connection.execute("PRAGMA user_version").fetchone()
    return application, number


def secret_of(folder: Path) -> bytes:
    with closing(DeviceStore(folder, CAP, YEARLY)) as store:
        return store.secret


def test_a_new_memory_has_the_latest_version(tmp_path: Path) -> None:
    secret_of(tmp_path)
    assert version(tmp_path) == (APPLICATION, len(STEPS))


@pytest.mark.usefixtures("next_version")
def test_a_new_memory_takes_every_step(tmp_path: Path) -> None:
    secret_of(tmp_path)
    assert version(tmp_path) == (APPLICATION, len(STEPS) + 1)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert connection.execute("SELECT note FROM device").fetchall() == [("none",)]


def test_what_was_remembered_is_there_after_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = secret_of(tmp_path)
    monkeypatch.setattr(schema, "STEPS", (*STEPS, NEXT))
    assert secret_of(tmp_path) == before
    assert version(tmp_path) == (APPLICATION, len(STEPS) + 1)


def test_a_step_that_fails_leaves_the_version_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = secret_of(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(schema, "STEPS", (*STEPS, NEXT + ";\nINSERT INTO nowhere VALUES (1)"))
        with pytest.raises(sqlite3.OperationalError, match="nowhere"):
            secret_of(tmp_path)
    assert version(tmp_path) == (APPLICATION, len(STEPS))
    assert secret_of(tmp_path) == before
    monkeypatch.setattr(schema, "STEPS", (*STEPS, NEXT))
    assert secret_of(tmp_path) == before


def test_two_processes_take_a_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = secret_of(tmp_path)
    monkeypatch.setattr(schema, "STEPS", (*STEPS, NEXT))
    secrets: list[bytes] = []
    threads = [threading.Thread(target=lambda: secrets.append(secret_of(tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert secrets == [before] * 4
    assert version(tmp_path) == (APPLICATION, len(STEPS) + 1)


@pytest.mark.usefixtures("next_version")
def test_a_memory_of_a_later_version_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret_of(tmp_path)
    monkeypatch.setattr(schema, "STEPS", STEPS)
    content = (tmp_path / FILE).read_bytes()
    with pytest.raises(ParameterError, match="update blendp"):
        secret_of(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


@pytest.mark.parametrize(("application", "number"), [(0, 2), (77, 1), (77, 0), (0, 0)])
def test_what_is_no_devices_memory_is_left_alone(tmp_path: Path, application: int, number: int) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(ParameterError, match="folder of a device"):
            bring_up(connection, tmp_path)
        connection.execute("ROLLBACK")
    assert version(tmp_path) == (application, number)
