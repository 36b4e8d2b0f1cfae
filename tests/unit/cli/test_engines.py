"""`blendp run` on either engine, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.cli.options import spark_settings
from blendp.logs.synthetic import population
from tests.support import SHORT_LIVED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("engines")
    population("aol", 20_000, 2.0, 5).write(root / "log.parquet")
    return root


@pytest.mark.xdist_group("spark")
def test_a_run_on_spark_needs_nothing_but_the_package(folder: Path) -> None:
    """Without JAVA_HOME the Java that comes with blendp[spark] is used."""
    shell = {"PATH": "/bin", "COLUMNS": "160", "HOME": os.environ.get("HOME", "/")}
    command = [sys.executable, "-m", "blendp", "run", "log.parquet", "--engine", "spark", "--master", "local[2]"]
    options = ["--spark-conf", "spark.sql.shuffle.partitions=3", "--memory-limit", "1GB", "--seed", "4"]
    options += ["--spark-conf", SHORT_LIVED, "--opt-in", "0.2", "--size", "10", "--out", "spark", "--json"]
    done = subprocess.run(
        [*command, *options], cwd=folder, env=shell, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    release = json.loads(done.stdout)
    assert release["users"] == {"opt_in": 4_000, "opt_in_head_list": 4_000, "opt_in_estimate": 0, "client": 16_000}
    assert release["estimates"][0]["query"] == "google"
    assert done.stderr.splitlines()[0].endswith("usable")
    assert "WARN" not in done.stderr
    assert "spark" not in done.stderr.lower().replace("--engine spark", "")


def fails(*arguments: str, folder: Path) -> tuple[int, str]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(app, list(arguments))
    finally:
        os.chdir(before)
    assert done.exit_code
    assert not (folder / "blendp-out").exists()
    return done.exit_code, " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--engine", "duck"), "--engine = 'duck' is not allowed: it must be one of embedded, spark"),
        (("--master", "local[2]"), "--master = 'local[2]' is not allowed: it must be left out without --engine spark"),
        (("--spark-conf", "a=b"), "--spark-conf"),
        (("--engine", "spark", "--spark-conf", "novalue"), "it must be KEY=VALUE"),
        (("--engine", "spark", "--format", "csv"), "--format = 'csv' is not allowed: it must be parquet"),
        (("--memory-limit", "4"), "--memory-limit = '4' is not allowed: it must be a size of at least 256MB"),
        (("--seed", "-1"), "--seed = -1 is not allowed"),
        (("not-there.csv", "--opt-in", "1.5"), "--opt-in = 1.5 is not allowed"),
    ],
)
def test_mistakes_get_one_sentence(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    code, stderr = fails("run", "log.parquet", *arguments, folder=folder)
    assert code == 2
    assert stderr.startswith("Error: ")
    assert says in stderr


def test_experiments_stay_on_one_machine(folder: Path) -> None:
    code, stderr = fails("evaluate", "log.parquet", "--engine", "spark", folder=folder)
    assert code == 2
    assert "--engine" in stderr
    for command, is_offered in (("run", True), ("evaluate", False)):
        page = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
        assert [option in page for option in ("--engine", "--master", "--spark-conf")] == [is_offered] * 3
        assert "--memory-limit" in page


def test_java_compiles_quickly_for_what_is_small_and_here(tmp_path: Path) -> None:
    """However few bytes many values take."""
    small, large, broken = (tmp_path / f"{name}.parquet" for name in ("small", "large", "broken"))
    for path, rows in ((small, 1000), (large, (1 << 20) + 1)):
        pq.write_table(pa.table({"a": pa.array(np.zeros(rows, np.int8))}), path)
    assert large.stat().st_size < 10_000
    broken.write_bytes(b"x")
    name = "spark.driver.defaultJavaOptions"

    def java_options(*sources: Path | str, master: str | None = None, conf: list[str] | None = None) -> str | None:
        return spark_settings([str(source) for source in sources], master, None, conf).conf.get(name)

    assert "TieredStopAtLevel=1" in str(java_options(small, small))
    assert "TieredStopAtLevel=1" in str(java_options(broken))
    assert java_options(small, conf=[f"{name}=-Xint"]) == "-Xint"
    assert java_options(small, master="spark://host:7077") is None
    for sources in ((large,), (small, large), (tmp_path,), (tmp_path / "*.parquet",), ("s3a://bucket/log",)):
        assert java_options(*sources) is None


def test_spark_that_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    code, stderr = fails("run", "log.parquet", "--engine", "spark", folder=folder)
    assert code == 5
    assert "pip install 'blendp[spark]'" in stderr


def test_a_run_within_little_memory(folder: Path) -> None:
    done = CliRunner().invoke(
        app,
        ["run", str(folder / "log.parquet"), "--memory-limit", "256MB", "--seed", "1", "--out", str(folder / "small")],
    )
    assert done.exit_code == 0, done.stderr
    assert (folder / "small" / "release.json").exists()
