from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from blendp.cli import promised
from blendp.cli.promised import SWITCH, Promised, register_path, remember

DAY = "2026-11-17"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(SWITCH, raising=False)
    return tmp_path / "state/blendp/releases.jsonl"


def test_promises_about_one_log_add_up(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert remember(["log.csv"], 4.0, 1e-5, DAY) is None
    assert remember(["other.csv"], 1.0, 1e-6, DAY) is None
    assert remember([str(tmp_path / "log.csv"), "more.csv"], 4.0, 1e-5, DAY) == Promised((4.0,), 8.0, 2e-5)
    third = remember(["./log.csv"], 2.0, 0.0, DAY)
    assert third is not None
    assert third.sentence == (
        "This log was released before on this machine (2 times, ε = 4 + 4): for people in all of these releases the "
        "promises add up to (ε = 10, δ = 2e-05) with this one."
    )
    assert third.to_dict() == {"times": 2, "epsilon": 10.0, "delta": 2e-5}
    assert state.stat().st_mode & 0o777 == 0o600
    assert state.parent.stat().st_mode & 0o777 == 0o700


def test_links_lead_to_the_same_log_and_addresses_stay(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("x")
    (tmp_path / "link.csv").symlink_to(tmp_path / "log.csv")
    remember([str(tmp_path / "log.csv"), "s3a://bucket/*.parquet"], 1.0, 0.0, DAY)
    assert remember([str(tmp_path / "link.csv")], 1.0, 0.0, DAY) is not None
    assert remember(["s3a://bucket/*.parquet"], 1.0, 0.0, DAY) is not None


def test_what_comes_through_a_pipe_is_not_remembered(tmp_path: Path, state: Path) -> None:
    """It can never be the same log again."""
    reading, writing = os.pipe()
    try:
        assert remember([f"/dev/fd/{reading}"], 4.0, 1e-5, DAY) is None
        assert remember([f"/dev/fd/{reading}"], 4.0, 1e-5, DAY) is None
        assert not state.exists()
        assert remember([f"/dev/fd/{reading}", str(tmp_path / "log.csv")], 4.0, 1e-5, DAY) is None
    finally:
        os.close(reading)
        os.close(writing)
    assert json.loads(state.read_text())["paths"] == [str(tmp_path / "log.csv")]


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe not json\n",
        b"[" * 100_000 + b"\n",
        b'{"paths": ["/x"], "epsilon": NaN, "delta": 0}\n{"paths": 3, "epsilon": 1, "delta": 0}\n{"epsilon": "a"}\n1\n',
        b'{"paths": ["/x"], "epsilon": -1, "delta": 0}',
    ],
)
def test_damage_is_passed_over_and_a_run_goes_on(state: Path, damage: bytes) -> None:
    remember(["/x"], 1.0, 0.0, DAY)
    state.write_bytes(state.read_bytes() + damage)
    assert remember(["/x"], 1.0, 0.0, DAY) == Promised((1.0,), 2.0, 0.0)


def test_the_file_is_bounded(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promised, "MAX_BYTES", 2_000)
    for number in range(100):
        remember([f"/logs/{number}"], 1.0, 0.0, DAY)
        assert state.stat().st_size <= 2_000
    assert remember(["/logs/99"], 1.0, 0.0, DAY) is not None
    many = [f"/logs/of/a/very/long/path/{number}" for number in range(1_000)]
    monkeypatch.setattr(promised, "MAX_BYTES", 1 << 20)
    remember(many, 1.0, 0.0, DAY)
    assert len(json.loads(state.read_text().splitlines()[-1])["paths"]) == promised.MAX_PATHS


def test_nothing_is_written_where_it_is_switched_off(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(["/x"], 1.0, 0.0, DAY)
    before = state.read_bytes()
    monkeypatch.setenv(SWITCH, "0")
    assert remember(["/x"], 1.0, 0.0, DAY) is None
    assert state.read_bytes() == before


def test_a_place_that_cannot_be_written_does_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert remember(["/x"], 1.0, 0.0, DAY) is None
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "pipes"))
    (tmp_path / "pipes/blendp").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipes/blendp/releases.jsonl")
    assert remember(["/x"], 1.0, 0.0, DAY) is None
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert register_path() == Path.home() / ".local/state/blendp/releases.jsonl"


def test_a_link_in_its_place_is_not_followed(tmp_path: Path, state: Path) -> None:
    (tmp_path / "target").write_text("of somebody else")
    state.parent.mkdir(parents=True)
    state.symlink_to(tmp_path / "target")
    assert remember(["/x"], 1.0, 0.0, DAY) is None
    assert (tmp_path / "target").read_text() == "of somebody else"


def test_two_runs_at_once_are_both_remembered(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(["log.csv"], 1.0, 1e-6, DAY)
    with state.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        monkeypatch.setattr(promised, "time", SimpleNamespace(sleep=lambda _: fcntl.flock(other, fcntl.LOCK_UN)))
        second = remember(["log.csv"], 2.0, 1e-6, DAY)
        assert second is not None
        assert second.epsilon == 3
        fcntl.flock(other, fcntl.LOCK_EX)
        monkeypatch.setattr(promised, "time", SimpleNamespace(sleep=lambda _: None))
        assert remember(["log.csv"], 4.0, 1e-6, DAY) is None  # somebody holds it for ever
    third = remember(["log.csv"], 8.0, 1e-6, DAY)
    assert third is not None
    assert third.epsilon == 11
