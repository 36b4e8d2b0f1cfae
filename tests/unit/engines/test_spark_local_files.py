"""Files of this machine are looked at before Java starts; no test here starts it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.engines.spark import SparkSettings, local_files
from blendp.engines.spark.local_files import require_local_files
from blendp.errors import LogError
from blendp.logs import open_spark_log

ANY = SparkSettings()
WHOLE = b"PAR1 something PAR1"


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """No session runs, none may be started, and nothing in the environment says where plain paths are."""

    def refuse(*_: object) -> None:
        raise AssertionError("Java would be started")

    for home in ("blendp.logs.spark_source", "blendp.logs.spark_answers", "blendp.cli.tally"):
        monkeypatch.setattr(f"{home}.spark_session", refuse)
    monkeypatch.setattr(local_files, "session_runs", lambda: False)
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("scheme", ["", "file:", "file://", "file://localhost"])
def test_what_is_no_log_is_refused(tmp_path: Path, scheme: str) -> None:
    missing = f"{scheme}{tmp_path}/nowhere.parquet"
    with pytest.raises(LogError, match=r"nowhere\.parquet does not exist: check the path\.$"):
        open_spark_log(missing, ANY)
    for number, content in enumerate((b"user,query\n1,a\n", b"PAR1 and no more", b"no more PAR1", b"", b"PAR1"[:3])):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(content)
        with pytest.raises(LogError, match=rf"{number}\.parquet is no whole Parquet file"):
            open_spark_log([f"{scheme}{path}"], ANY)


@pytest.mark.parametrize(
    "path", ["s3a://bucket/log", "hdfs:///log", "nowhere-*.parquet", "nowhere/{a,b}", "file:///nowhere/[ab]", "a:b"]
)
def test_patterns_and_other_stores_are_left_to_spark(path: str) -> None:
    require_local_files([path], ANY)
    with pytest.raises(AssertionError, match="Java would be started"):
        open_spark_log(path, ANY)


def test_whole_files_and_folders_go_on(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(WHOLE)
    (tmp_path / "sealed.parquet").write_bytes(WHOLE.replace(b"PAR1", b"PARE"))
    require_local_files([str(tmp_path), str(tmp_path / "log.parquet"), f"file:{tmp_path}/sealed.parquet"], ANY)


def test_a_plain_path_may_be_in_another_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, surely_here = str(tmp_path / "nowhere"), f"file:{tmp_path}/nowhere"
    on_store = SparkSettings(conf={"spark.hadoop.fs.defaultFS": "hdfs://names:9000"})
    require_local_files([plain], on_store)
    with pytest.raises(LogError, match="does not exist"):
        require_local_files([surely_here], on_store)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    require_local_files([plain], ANY)
    monkeypatch.delenv("HADOOP_CONF_DIR")
    monkeypatch.setattr(local_files, "session_runs", lambda: True)
    require_local_files([surely_here], ANY)


@pytest.mark.parametrize(
    "command",
    [
        ("run", "FILE"),
        ("survey", "run", "FILE", "--answers-from-data"),
        ("tally", "FILE", "--list", "LIST", "--epsilon", "1"),
    ],
    ids=lambda command: command[0],
)
def test_commands_refuse_before_java_starts(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "list.json").write_bytes(b'{"format":"blendp/head-list/1","levels":1,"queries":[]}')
    (tmp_path / "text.parquet").write_text("user,query\n")
    for name, says in (("nowhere.parquet", "does not exist"), ("text.parquet", "is no whole Parquet file")):
        named = {"FILE": str(tmp_path / name), "LIST": str(tmp_path / "list.json")}
        arguments = [named.get(argument, argument) for argument in command]
        done = CliRunner().invoke(app, [*arguments, "--engine", "spark", "--out", str(tmp_path / "out")])
        assert (done.exit_code, done.stderr.count("\n")) == (3, 1), done.stderr
        assert f"{name} {says}" in done.stderr
