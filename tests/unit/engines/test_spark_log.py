"""A run on Spark: with a seed, exactly what the embedded engine draws, counted on the cluster."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from blendp.engines.spark import SparkLog, SparkSettings, numbered, spark_session
from blendp.engines.usable import RowRule
from blendp.errors import EngineError, LogError, ParameterError
from blendp.logs import Columns, open_log, open_spark_log
from blendp.methods import Parameters, make_list, run
from tests.spark_cluster import SparkCluster
from tests.support import KnownKey
from tests.unit.engines.counted import ReferenceLog
from tests.unit.engines.test_staged import BROKEN, binary, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")
ANY = SparkSettings("local[2]")


@pytest.fixture(autouse=True)
def _running(spark: SparkSession) -> None:
    """All of these take the session there is."""


def skewed(folder: Path, rows: int = 12_000, parts: int = 6) -> Path:
    """A log in several files: one query has half of the rows, one person a tenth of them, and some queries have an
    address of their own in each row.
    """
    generator = np.random.default_rng(8)
    users = np.where(generator.random(rows) < 0.1, 0, generator.integers(1, 1_000, rows))
    queries = np.where(generator.random(rows) < 0.5, 0, generator.zipf(1.4, rows) % 500)
    folder.mkdir()
    signs = ("  Søk", "query", "\uffff", "\U0001f600", "Q")  # in UTF-16 the third comes after the fourth
    names = [f"{signs[query % 5]} {query}" for query in queries]
    table = pa.table(
        {
            "user": [f"u{user}" for user in users],
            "query": names,
            "url": [f"http://A.com/{row if query % 5 == 3 else query % 7}" for row, query in enumerate(queries)],
        }
    )
    for part in range(parts):
        slice_ = table.slice(part * rows // parts, rows // parts)
        pq.write_table(slice_, folder / f"{part}.parquet", row_group_size=1_000)
    return folder


def the_same(path: Path, parameters: Parameters, opt_in: float | None = 0.3, **options: Any) -> int:
    """Run on both engines with one seed and one stream of noise; every number must agree. Gives the list's length."""
    opened = open_log(path, **options)
    on_spark = open_spark_log(str(path), ANY, **options)
    one, other = (
        run(log, parameters, opt_in=opt_in, random=KnownKey(4), seed=2) for log in (ReferenceLog(opened), on_spark)
    )
    for name in ("groups", "candidates", "head_list", "guarantee", "mean_records"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("cells", "queries"):
        for whose in ((one.opt_in, other.opt_in), (one.client, other.client), (one, other)):
            shares = [getattr(each, name).probability for each in whose]
            np.testing.assert_array_equal(*shares)
    assert one.records() == other.records()
    assert on_spark.quality == opened.quality
    return one.head_list.records


MANY = Parameters(opt_in_records="many", epsilon=8, delta=1e-3, size=None)


@pytest.mark.parametrize(
    "parameters",
    [
        replace(MANY, opt_in_records=1),
        replace(MANY, opt_in_records=1, head_list_share=0.6),
        Parameters(epsilon=8, delta=1e-3),
        Parameters(method="published", opt_in_records=3, client_records=2, epsilon=16, delta=1e-2),
    ],
    ids=["one record", "held out", "auto", "published"],
)
def test_the_same_seed_and_noise_give_the_same_release(log: Path, parameters: Parameters) -> None:
    assert the_same(log, parameters) > 5


def test_queries_are_counted_by_the_records_that_are(log: Path) -> None:
    """Of two records each; those that have several addresses, too."""
    counted, kept = (
        source.bound(2, 9, reproducible=True) for source in (ReferenceLog(open_log(log)), open_spark_log(str(log), ANY))
    )
    one, other = counted.grouped(400, 300), kept.grouped(400, 300)
    records = one.record_counts(2)
    np.testing.assert_equal(records, other.record_counts(2))
    values, sizes = one.query_counts()
    np.testing.assert_equal((values, sizes), other.query_counts())
    everywhere = np.arange(sizes.sum())
    assert one.query_texts(everywhere) == other.query_texts(everywhere)
    assert values @ sizes == 600
    assert sizes.sum() < records[1].sum(), "some queries have several records"
    assert one.texts(everywhere) == other.texts(everywhere), "records keep their order"


def test_all_records_of_people_give_the_same_release(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person has more than may weigh in the list, and records of one value are sorted in shards."""
    monkeypatch.setattr(numbered, "SHARD", 3)
    assert the_same(log, MANY, 0.9) > 20


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return skewed(tmp_path_factory.mktemp("skewed") / "log")


@pytest.mark.statistical
def test_a_random_draw_is_fair_and_follows_its_key(tmp_path: Path) -> None:
    rows = [(f"{user}", query, "u") for user in range(3_000) for query in "abbccc"]
    log = open_spark_log(str(write(tmp_path / "log.parquet", rows, row_group_size=1_000)), ANY)
    ask = "SELECT name, lowest[0].query AS query FROM ({0}) ORDER BY name"
    drawn = [log.bound(1, key) for key in (9, 9, 10)]
    one, again, other = (each.tables.ask(ask.format(each.people))["query"].to_numpy() for each in drawn)
    counts = [int((one == query).sum()) for query in "abc"]
    assert stats.chisquare(counts, 3_000 * np.array([1, 2, 3]) / 6).pvalue > 1e-6
    assert (one == again).all()
    assert 0.3 < float((one == other).mean()) < 0.45


SPELLINGS = [
    ("bob{}", "Ünïcode  query", "http://A.com/#x"),
    (" bob{}\u3000", "ünïcode query", "http://a.com"),
    ("Bob{}", "two\nlines ", "HTTP://a.com:80/"),
    ("bo\u0301b{}\n", "I\u0307", "x"),
    ("b\u00f3b{}", "i\u0307", "x"),
    ("anna{}", "plain", "http://a.com"),
    ("carl{}", "a " * 4_000 + "a", "http://a.com/" + "/" * 8_000),
]
"""Ids and texts that differ and are the same; the last would exhaust an expression that calls itself for every word."""


@pytest.mark.parametrize(("per_user", "normalise"), [(1, "blendp-1"), (3, "none")])
def test_spellings_are_brought_together_on_executors(tmp_path: Path, per_user: int, normalise: str) -> None:
    rows = [(user.format(number), query, url) for number in range(30) for user, query, url in SPELLINGS]
    path = write(tmp_path / "log.parquet", rows)
    parameters = Parameters(method="published", opt_in_records=per_user, epsilon=50, delta=0.5)
    assert the_same(path, parameters, 0.6, normalise=normalise) > 0
    assert the_same(path, replace(MANY, epsilon=50), 0.6, normalise=normalise) > 0


@pytest.mark.parametrize("per_user", [1, 3])
def test_broken_rows_are_the_same_rows(tmp_path: Path, per_user: int) -> None:
    table = pa.table({"user": binary([b"a", b"\xff", b"c"]), "query": binary([b"good", b"x", b"caf\xe9"])})
    pq.write_table(table, tmp_path / "bytes.parquet")
    path = write(tmp_path / "log.parquet", BROKEN)  # type: ignore[arg-type]
    for each in (path, tmp_path / "bytes.parquet"):
        the_same(each, Parameters(method="published", opt_in_records=per_user), 0.5, max_broken=1.0)
    with pytest.raises(LogError, match="10 of 13 rows"):
        open_spark_log(str(path), ANY).bound(per_user, (1 << 64) - 1)


def test_broken_rows_of_people_with_many_records(tmp_path: Path) -> None:
    the_same(write(tmp_path / "log.parquet", BROKEN), MANY, 0.5, max_broken=1.0)  # type: ignore[arg-type]


def test_columns_of_one_level_and_opt_in_marks(tmp_path: Path) -> None:
    path, columns = tmp_path / "log.parquet", Columns("who", "what", opt_in="staff")
    people = [turn * 100 + who for turn in range(10) for who in (7, 7, 8, 9)]
    for kind in (pa.int8(), pa.bool_(), pa.string(), pa.int64()):
        marks = pa.array([1, 1, 0, 1] * 10, pa.int64()).cast(kind)
        pq.write_table(pa.table({"who": people, "what": ["x", "y", "x", "z"] * 10, "staff": marks}), path)
        bounded = open_spark_log(str(path), ANY, columns=columns).bound(1, 3)
        assert (bounded.levels, bounded.users, bounded.marked) == (1, 30, 20)
    parameters = Parameters(opt_in_records=1, head_list_share=0.5, epsilon=16, delta=0.1)
    assert the_same(path, parameters, None, columns=columns) > 0


def test_marks_are_read_alike(tmp_path: Path) -> None:
    """Whatever spaces stand around them: an export may have some that are not ASCII's."""
    marks = ["yes", "\xa0Yes", "\u3000TRUE ", "\u20071\u202f", " 0", "no\xa0", "yes\t", "\u200byes", "\uff39ES", None]
    rows = {"user": [f"u{n}" for n in range(len(marks))], "query": ["q"] * len(marks), "staff": marks}
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    columns = Columns(opt_in="staff")
    the_same(tmp_path / "log.parquet", Parameters(opt_in_records=1), None, columns=columns, max_broken=1.0)
    bounded = open_spark_log(str(tmp_path / "log.parquet"), ANY, columns=columns, max_broken=1.0).bound(1, 3)
    assert (bounded.users, bounded.marked) == (10, 4)


def test_exactly_the_share_opts_in(log: Path) -> None:
    opened = open_spark_log(str(log), ANY)
    users = opened.bound(1, 5).users
    listed = make_list(opened, Parameters(opt_in_records=1), opt_in=0.37)
    assert listed.list_users == round(0.37 * users)
    assert make_list(opened, Parameters(opt_in_records=1), opt_in=np.ones(users, dtype=bool)).list_users == users
    with pytest.raises(ParameterError, match="times the same"):
        make_list(opened, opt_in=np.arange(users) < 5)


def test_mistakes_get_a_sentence(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", [("a", "q", "u")])
    with pytest.raises(LogError, match="nowhere"):
        open_spark_log(str(tmp_path / "nowhere"), ANY)
    with pytest.raises(LogError, match="no column 'who'"):
        open_spark_log(str(path), ANY, columns=Columns(user="who"))
    pq.write_table(pa.table({"user": [1.5], "query": ["q"]}), tmp_path / "odd.parquet")
    with pytest.raises(LogError, match="holds double"):
        open_spark_log(str(tmp_path / "odd.parquet"), ANY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="empty"):
        open_spark_log(str(tmp_path / "empty"), ANY)
    with pytest.raises(LogError, match="at least one path"):
        open_spark_log([], ANY)
    pq.write_table(pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())}), path)
    with pytest.raises(LogError, match="has no rows"):
        open_spark_log(str(path), ANY).bound(1, 1)
    with pytest.raises(ParameterError, match="per_user"):
        open_spark_log(str(path), ANY).bound(0, 1)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises((LogError, EngineError), match="cut"):
        open_spark_log(str(tmp_path / "cut.parquet"), ANY).bound(1, 1)


def test_a_file_that_goes_away_in_between(tmp_path: Path, spark: SparkSession) -> None:
    path = write(tmp_path / "log.parquet", [("a", "q", "u")] * 3)
    log = SparkLog(spark, [str(path)], {"user": "user", "query": "query"}, RowRule(1, False, "none"), 0.0)
    groups = log.bound(1, 1).grouped(1, 1)
    path.unlink()
    with pytest.raises(LogError, match=r"log\.parquet"):
        log.bound(1, 1)
    with pytest.raises((LogError, EngineError), match=r"log\.parquet"):
        groups.holdings(1)
    write(path, [("a", "q", "u")] * 2)
    with pytest.raises(LogError, match=r"changed|does not exist any more"):
        groups.holdings(1)


def test_a_worker_that_is_killed_changes_nothing(log: Path, spark: SparkSession, cluster: SparkCluster) -> None:
    """What it kept is lost; it is computed again, from the rows, and comes out the same."""
    context = spark.sparkContext._jsc.sc()

    def kept_parts() -> int:
        return sum(table.numCachedPartitions() for table in context.getRDDStorageInfo())

    cluster.add_workers(1)
    wait_until(lambda: len(context.statusTracker().getExecutorInfos()) == 3)  # the driver, and one on either worker
    reference = ReferenceLog(open_log(log)).bound(1, 9, reproducible=True).grouped(300, 300)
    groups = open_spark_log(str(log), ANY).bound(1, 9, reproducible=True).grouped(300, 300)
    holdings, expected = groups.holdings(5), reference.holdings(5)
    kept = kept_parts()
    cluster.kill_worker()
    wait_until(lambda: 0 < kept_parts() < kept)
    totals = np.concatenate(list(holdings.filter_totals()))
    np.testing.assert_equal(totals, next(expected.filter_totals()))
    passing = np.arange(0, len(totals), 3)
    emphasis = passing % 64 + 1
    np.testing.assert_equal(holdings.list_totals(passing, emphasis), expected.list_totals(passing, emphasis))
    assert groups.texts(passing) == reference.texts(passing)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_session_there_is_is_used(spark: SparkSession) -> None:
    assert spark_session(SparkSettings("local[1]")) is spark


def test_the_same_rows_count_on_both_engines(tmp_path: Path) -> None:
    """Filters, spans of time and names of columns; people whose rows are all filtered out take part."""
    rows = {
        "Benutzer": ["a", "a", "b", "c", "d"],
        "Suche": ["p", "q", "r", "s", "t"],
        "n": [1, 5, 7, 9, None],
        "text": ["1", "x", "9", "5", ""],
        "Datum": ["01.01.2026", "2026-01-02", "no day", "2026-01-03T01:00:00+02:00", "20260104"],
    }
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    filters: list[dict[str, Any]] = [
        {"where": "n > 3"},
        {"where": "CAST(text AS INT) > 3"},
        {"since": "2026-01-02", "where": "n < 9", "max_broken": 0.2},
        {"since": "2026-01-03", "max_broken": 0.2},
    ]
    for options in filters:
        the_same(tmp_path / "log.parquet", Parameters(epsilon=8, delta=1e-3), 0.5, **options)
        drawn = open_log(tmp_path / "log.parquet", **options).draw(1, 9)
        broken = {"time not readable": 1} if "since" in options else {}
        assert (drawn.users, drawn.quality.broken) == (4, broken)
        assert 0 < drawn.quality.usable < 4
    refused_filters = {
        "n IN (SELECT 1)": "looks at more than these columns of a row",
        "sum(n) > 1": "looks at more than these columns of a row",
        "_metadata.row_index < 3": "looks at more than these columns of a row",
        "rand() > 0.5": "does not give the same for the same row every time",
        "now() > Datum": "it has ",
        "n": "it gives bigint",
        "n > 1), (true": "it does not parse, at",
        "true) or (true": "it does not parse, at",
        "n == ": "it does not parse, at end of input",
        "nofunction(n) = 1": "nofunction",
    }
    for where, reason in refused_filters.items():
        with pytest.raises(ParameterError, match="where") as caught:
            open_spark_log(str(tmp_path / "log.parquet"), ANY, where=where)
        assert reason in str(caught.value)
        assert not re.search(r"SQLSTATE|\[[A-Z_]+|\n", str(caught.value))
    with pytest.raises(LogError, match=r"has no column 'nope' \(it has 'Benutzer', 'Suche', .*\): mend the filter"):
        open_spark_log(str(tmp_path / "log.parquet"), ANY, where="nope = 1")
    for refused in ({"delimiter": ";"}, {"format": "csv"}, {"header": False, "names": ("user", "query")}):
        with pytest.raises(ParameterError):
            open_spark_log(str(tmp_path / "log.parquet"), ANY, **refused)
