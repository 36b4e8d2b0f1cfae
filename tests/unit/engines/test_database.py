"""Temporary files of the database: private, gone with the connection, and never left for long."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from blendp.engines import database
from blendp.engines.database import connect, cursor_of
from blendp.errors import EngineError

SPILLING = "SET threads = 1; CREATE TABLE big AS SELECT i, md5(i::VARCHAR) AS text FROM range(1_000_000) AS r(i)"

KILLED = f"""
import os, signal
from blendp.engines import database
database._MIN_MEMORY = 1
connection = database.connect("30MB")
connection.execute("{SPILLING}")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(database, "_MIN_MEMORY", 1)
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_temporary_files_are_private_and_go_with_the_connection(temporary: Path) -> None:
    connection, other = connect("30MB"), connect()
    connection.execute(SPILLING)
    assert files(temporary)
    folders = list(temporary.iterdir())
    assert len(folders) == 2
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    connection.close()
    assert not files(temporary)
    del connection
    gc.collect()
    assert len(list(temporary.iterdir())) == 1
    del other
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_connection_that_is_forgotten_leaves_nothing(temporary: Path) -> None:
    connection = connect("30MB")
    connection.execute(SPILLING)
    del connection
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(temporary: Path) -> None:
    living = connect()
    done = subprocess.run([sys.executable, "-c", KILLED], env=dict(os.environ), check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert files(temporary), "people's rows are on the disk"
    (temporary / "blendp-spark-x").mkdir()
    connection = connect()
    assert not files(temporary)
    assert len(list(temporary.iterdir())) == 3
    living.execute("SELECT 1")
    connection.close()


def test_a_process_that_ends_leaves_nothing(temporary: Path) -> None:
    ordinary = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "")
    done = subprocess.run([sys.executable, "-c", ordinary], env=dict(os.environ), check=False, timeout=120)
    assert done.returncode == 0
    assert list(temporary.iterdir()) == []


def test_a_temporary_folder_that_does_not_exist_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with pytest.raises(EngineError, match=r"/nowhere/at/all \(No such file or directory\): .* TMPDIR"):
        connect()


def test_answers_are_taken_whole() -> None:
    connection = connect()
    for each in (connection, cursor_of(connection)):
        assert each.execute("SELECT current_setting('streaming_buffer_size')").fetchall() == [("931.3 GiB",)]
