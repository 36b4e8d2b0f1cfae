"""Spooled reports on Spark: the same sums as on the embedded engine, row for row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blendp.engines import spool as embedded
from blendp.engines.spark.spool import count_reports, exact_path
from blendp.engines.spool import SCHEMA, spool_of_subsets, write_spool
from blendp.errors import EngineError, LogError
from blendp.reports import subset_randomisers
from tests.support import KnownKey
from tests.unit.engines.test_spool import FORM, LIST, ROWS, Row, drawn_ids, every_short_list, reference, spool_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=2))
def test_both_engines_count_alike(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, rows: list[Row], cuts: list[int]
) -> None:
    files = spool_files(rows, cuts, tmp_path_factory.mktemp("spool"))
    counted = count_reports(spark, [exact_path(path) for path in files], FORM)
    assert counted.to_dict() == reference(rows)
    assert counted.to_dict() == embedded.count_reports(files, FORM).to_dict()


def test_a_report_is_possible_or_refused_whatever_its_items(spark: SparkSession, tmp_path: Path) -> None:
    rows = every_short_list()
    (file,) = spool_files(rows, [], tmp_path)
    assert count_reports(spark, [exact_path(file)], FORM).to_dict() == reference(rows)


def random_rows(count: int, seed: int) -> pa.Table:
    """Rows of which most are possible, and many share an id, some with other contents."""
    generator = np.random.default_rng(seed)
    pool = drawn_ids(count // 3, seed)
    ids = [bytes(pool[i]) for i in generator.integers(0, len(pool), count)]
    questions = generator.choice(["query", "record", "cell", "Record"], count, p=[0.4, 0.4, 0.19, 0.01]).tolist()
    items = []
    for question in questions:
        known = FORM.questions.get(question)
        items_and_size = (8, 1) if known is None else (known.items, known.size)
        drawn = generator.choice(*items_and_size, replace=generator.random() < 0.1)
        items.append(np.sort(drawn).tolist() if generator.random() < 0.95 else drawn.tolist())
    names = generator.choice([LIST.sha256, "0" * 64], count, p=[0.95, 0.05]).tolist()
    return pa.table([ids, names, questions, items], schema=SCHEMA)


@pytest.mark.parametrize("seed", [1, 2])
def test_several_files_with_conflicts(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    table = random_rows(2_000, seed)
    for start in range(0, 2_000, 500):
        write_spool(tmp_path / f"{start}.parquet", table.slice(start, 500))
    counted = count_reports(spark, [f"file://{tmp_path}"], FORM)
    alone = embedded.count_reports(sorted(tmp_path.iterdir()), FORM)
    assert counted.to_dict() == alone.to_dict()
    assert counted.conflicts > 100
    assert set(counted.refused) == {"other list", "unknown question", "impossible report"}


def test_half_of_all_rows_share_one_id(spark: SparkSession, tmp_path: Path) -> None:
    people, form = 20_000, FORM
    subsets = subset_randomisers(form.epsilon, LIST)[1].release(np.arange(people) % 8, KnownKey(2))
    ids = drawn_ids(people)
    ids[: people // 2] = 7
    write_spool(tmp_path / "a.parquet", spool_of_subsets(ids, "record", subsets, LIST))
    write_spool(tmp_path / "b.parquet", spool_of_subsets(ids[::-1], "record", subsets[::-1], LIST))
    counted = count_reports(spark, [exact_path(path) for path in sorted(tmp_path.iterdir())], form)
    assert counted.to_dict() == embedded.count_reports(sorted(tmp_path.iterdir()), form).to_dict()
    assert (counted.counted, counted.conflicts, counted.duplicates) == (people // 2 + 1, 1, 3 * people // 2 - 1)
    smallest = min(np.flatnonzero(row).tolist() for row in subsets[: people // 2])
    others = subsets[people // 2 :].sum(axis=0)
    assert np.flatnonzero(counted.supports["record"] - others).tolist() == smallest


def test_files_that_are_no_spool_are_told_in_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    (good,) = spool_files([(bytes(16), LIST.sha256, "cell", [1])], [], tmp_path)
    table = pq.read_table(good)
    lacking, wide, text, broken = (tmp_path / f"{name}.parquet" for name in ("lack", "wide", "id", "no"))
    pq.write_table(table.drop_columns(["items"]), lacking)
    pq.write_table(table.set_column(3, "items", table["items"].cast(pa.list_(pa.int64()))), wide)
    pq.write_table(table.set_column(0, "report_id", pa.array(["x" * 16])), text)
    broken.write_text("this is no Parquet file")
    (tmp_path / "empty").mkdir()
    for paths, says in [
        ([lacking], "has no column 'items': a spool has report_id"),
        ([wide], "The column 'items' of .* holds array<bigint>: a spool has array<int> there"),
        ([text], "The column 'report_id' of .* holds string"),
        ([good, wide], "give files whose columns have the same types"),
        ([broken], "write or fetch the file again"),
        ([tmp_path / "empty"], "there is no Parquet file"),
        ([good, tmp_path / "nowhere"], "Path does not exist"),
        ([good, tmp_path / "_hidden.parquet"], "passes over names that begin with _"),
    ]:
        with pytest.raises(LogError, match=says) as caught:
            count_reports(spark, [exact_path(path) for path in paths], FORM)
        assert "\n" not in str(caught.value)
    with pytest.raises(LogError, match="no files"):
        count_reports(spark, [], FORM)
    with pytest.raises(EngineError, match='No FileSystem for scheme "nowhere"') as failed:
        count_reports(spark, ["nowhere://spool/a.parquet"], FORM)
    assert "\n" not in str(failed.value)
    partly = count_reports(spark, [exact_path(good), exact_path(lacking)], FORM)
    assert (partly.counted, partly.refused) == (1, {"impossible report": 1})


def test_odd_names_are_taken_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    (good,) = spool_files([(bytes(16), LIST.sha256, "cell", [1])], [], tmp_path)
    for name in ("a[1].parquet", "a1.parquet", "b {x,y} 50%20é*?\\'.parquet"):
        (tmp_path / name).write_bytes(good.read_bytes())
        assert count_reports(spark, [exact_path(tmp_path / name)], FORM).rows == 1
