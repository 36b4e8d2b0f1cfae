"""``blendp tally`` as an operator meets it: real processes, their output, files and exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.engines.spark import SparkSettings
from blendp.engines.spool import spool_of_cells, spool_of_subsets, write_spool
from blendp.headlist import HeadList
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.reports import subset_randomisers
from tests.forked import run as blendp
from tests.support import KnownKey

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIST = HeadList.of_records([("cats", "http://cats.org"), ("cats", "http://meow.com"), ("*", "http://stars.net")])
TRUTH = np.array([0.1, 0.05, 0.3, 0.2, 0.05, 0.3])
PEOPLE = 6_000
TALLY = ("tally", "--list", "head_list.json", "--epsilon", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list, reports about it in two files of which the second repeats a third, and reports of other kinds."""
    root = tmp_path_factory.mktemp("tally")
    (root / "head_list.json").write_bytes(LIST.to_bytes())
    (root / "release.json").write_text('{\n "blendp": "0.1.0"\n}')
    (root / "other.json").write_bytes(HeadList.of_records([("dogs", "1")]).to_bytes())
    generator, random = np.random.default_rng(1), KnownKey(9)
    by_query, by_record = subset_randomisers(2.0, LIST)
    cell_of_person, ids = generator.choice(6, PEOPLE, p=TRUTH), generator.integers(0, 256, (PEOPLE, 16), dtype=np.uint8)
    half = PEOPLE // 2
    of_query = by_query.release(LIST.query_of_cell[cell_of_person[:half]], random)
    of_record = by_record.release(cell_of_person[half:], random)
    queries = spool_of_subsets(ids[:half], "query", of_query, LIST)
    records = spool_of_subsets(ids[half:], "record", of_record, LIST)
    write_spool(root / "spool/1.parquet", pa.concat_tables([queries, records]))
    write_spool(root / "spool/2.parquet", records.slice(0, 2_000))
    write_spool(root / "queries.parquet", queries)
    cells = TwoStage(Budget(2.0, 1e-6), LIST.cells_per_query).release(cell_of_person, random)
    write_spool(root / "cells.parquet", spool_of_cells(ids[:, ::-1], cells, LIST))
    empty = np.zeros(0, dtype=np.int64)
    write_spool(root / "none.parquet", spool_of_cells(ids[:0], empty, LIST))
    pq.write_table(queries.drop_columns(["question"]), root / "lacking.parquet")
    (root / "broken.parquet").write_text("no Parquet")
    (root / "empty").mkdir()
    return root


def test_reports_are_counted_once_and_shown(folder: Path) -> None:
    done = blendp(*TALLY, "spool", "--out", "clients", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "8,000 rows, 6,000 reports counted, 2,000 duplicates\n"
    assert "What the clients say of records" in done.stdout
    for word in ("cats", "http://meow.com", "± std error", "95 % interval", "Results in clients"):
        assert word in done.stdout
    assert sorted(path.name for path in (folder / "clients").iterdir()) == ["clients.csv", "tally.json"]
    with (folder / "clients/clients.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["query", "url", "probability", "std_error", "low", "high"]
    assert {(row["query"], row["url"]) for row in rows[3:5]} == {("cats", "*"), ("\\*", "*")}
    assert (rows[5]["query"], rows[5]["url"]) == ("*", "*")
    listed = [float(row["probability"]) for row in rows[:3]]
    assert listed == sorted(listed, reverse=True)
    for row in rows:
        cell = LIST.cell_of(*(None if row[name] == "*" else row[name].removeprefix("\\") for name in ("query", "url")))
        error = float(row["std_error"])
        assert abs(float(row["probability"]) - TRUTH[cell]) < 4 * error
        assert float(row["high"]) - float(row["low"]) == pytest.approx(2 * 1.96 * error, rel=1e-3)
    card = json.loads((folder / "clients/tally.json").read_text(encoding="utf-8"))
    assert card["head_list"]["sha256"] == LIST.sha256
    assert (card["method"], card["epsilon"], card["delta"]) == ("blendp", 2.0, None)
    assert card["reports"] == {"query": 3_000, "record": 3_000, "cell": 0}
    assert set(card["supports"]) == {"query", "record"}
    assert len(card["supports"]["record"]) == LIST.cells
    assert (card["rows"], card["counted"], card["duplicates"], card["refused"]) == (8_000, 6_000, 2_000, {})
    again = blendp(*TALLY, "spool", "--out", "clients", cwd=folder)
    assert again.returncode == 4
    assert "--overwrite" in again.stderr
    once = blendp(*TALLY, "spool/1.parquet", "--out", "clients", "--overwrite", "--json", cwd=folder)
    assert once.returncode == 0, once.stderr
    printed = json.loads(once.stdout)
    assert printed["supports"] == card["supports"]
    assert printed["duplicates"] == 0
    assert set(printed) - set(card) == {"estimates", "trends", "out"}
    assert printed["estimates"][-1]["query"] is None
    assert json.loads((folder / "clients/tally.json").read_text(encoding="utf-8"))["duplicates"] == 0


def test_reports_of_the_published_method(folder: Path) -> None:
    done = blendp(*TALLY, "cells.parquet", "--delta", "1e-6", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["method"] == "published"
    assert printed["out"] is None
    for row in printed["estimates"]:
        assert abs(row["probability"] - TRUTH[LIST.cell_of(row["query"], row["url"])]) < 4 * row["std_error"]


def test_reports_about_queries_alone_give_trends(folder: Path) -> None:
    done = blendp(*TALLY, "queries.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "What the clients say of queries" in done.stdout
    assert "unknown" not in done.stdout
    printed = json.loads(blendp(*TALLY, "queries.parquet", "--json", cwd=folder).stdout)
    assert {row["probability"] for row in printed["estimates"]} == {None}
    assert all(row["probability"] is not None for row in printed["trends"])


def test_conflicts_and_refused_rows_are_told(folder: Path) -> None:
    table = pq.read_table(folder / "queries.parquet")
    items = table["items"].to_pylist()
    changed = [[(items[0][0] + 1) % 3], [9], *items[2:]]
    forged = table.set_column(3, "items", pa.array(changed, pa.list_(pa.int32())))
    pq.write_table(forged, folder / "forged.parquet")
    done = blendp(*TALLY, "queries.parquet", "forged.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "6,000 rows, 3,000 reports counted, 2,999 duplicates",
        "1 refused: impossible report 1",
        "1 id came with different reports, of which one counts: a device drew twice, or somebody forged.",
    ]


def test_an_epsilon_that_many_reports_do_not_fit_is_doubted(folder: Path) -> None:
    done = blendp(*TALLY, "spool", "--epsilon", "0.1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[1:] == [
        "5000 refused: impossible report 5000",
        "Many reports are impossible for --epsilon 0.1: were they made with another?",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("spool", "--epsilon", "0"), 2, "--epsilon = 0.0 is not allowed"),
        (("spool", "--engine", "abacus"), 2, "--engine = 'abacus'"),
        (("spool", "--master", "local[2]"), 2, "--master = 'local[2]'"),
        (("spool", "--memory-limit", "lots"), 2, "--memory-limit = 'lots'"),
        (("spool", "--delta", "1e-6"), 2, "--delta = 1e-06 is not allowed: it must be left out"),
        (("cells.parquet",), 2, "--delta is missing: it must be given"),
        (("spool", "--list", "spool/1.parquet"), 2, "spool/1.parquet (--list) is not a blendp/head-list/1 document"),
        (
            ("spool", "--list", "release.json"),
            2,
            "release.json (--list) is not a blendp/head-list/1 document. Name the head_list.json that clients reported",
        ),
        (("spool", "--list", "nowhere.json"), 3, "nowhere.json does not exist"),
        (("spool", "--list", "other.json"), 3, "No report was counted (all 8000 rows are refused: other list 8000)"),
        (("none.parquet",), 3, "No report was counted (there are no rows)"),
        (("nowhere.parquet",), 3, "nowhere.parquet does not exist"),
        (("empty",), 3, "no parquet files: check the path, or give a quoted pattern for files of other names or in"),
        (("lacking.parquet",), 3, "lacking.parquet has no column 'question'"),
        (("broken.parquet",), 3, "broken.parquet is no readable Parquet file"),
        (("s3a://bucket/spool",), 3, "addresses need --engine spark"),
        (("queries.parquet", "cells.parquet"), 3, "reports of the published method (cell)"),
        (("spool", "--out", "."), 4, "current directory"),
    ],
)
def test_mistakes_get_one_sentence_and_a_code(folder: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    out = () if "--out" in arguments else ("--out", "mistake")
    done = blendp(*TALLY, *arguments, *out, cwd=folder)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert next(line for line in done.stderr.splitlines() if "rows," not in line).startswith("Error: ")
    assert "Traceback" not in done.stderr
    assert not done.stdout
    assert not (folder / "mistake").exists()


def test_help_has_examples_and_the_plain_truth(folder: Path) -> None:
    text = " ".join(blendp("tally", "--help", cwd=folder).stdout.split())
    assert "blendp tally" in text
    assert "Examples" in text
    assert "each at most once" in text


@pytest.mark.xdist_group("spark")
def test_spark_counts_as_the_embedded_engine_does(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the session there is; that one starts as its settings say is tested with ``blendp run``."""
    asked: list[SparkSettings] = []

    def session(settings: SparkSettings) -> SparkSession:
        asked.append(settings)
        return spark

    monkeypatch.chdir(folder)
    monkeypatch.setattr("blendp.cli.tally.spark_session", session)
    alone = blendp(*TALLY, "spool", "--json", cwd=folder)
    options = ("--engine", "spark", "--master", "local[1]", "--memory-limit", "1GB", "--spark-conf", "a.b=c=d")
    done = CliRunner().invoke(app, [*TALLY, "spool", "--json", *options])
    assert done.exit_code == 0, done.stderr
    assert asked == [SparkSettings("local[1]", "953m", {"a.b": "c=d"})]
    assert json.loads(done.stdout) == json.loads(alone.stdout)
    assert "8,000 rows, 6,000 reports counted, 2,000 duplicates" in done.stderr
