"""Drawing from a log on Spark: with a seed, exactly what the embedded engine draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from blendp.arrays import Ids
from blendp.engines import Contributions
from blendp.engines.spark import SparkLog, SparkSettings, spark_session
from blendp.engines.usable import RowRule
from blendp.errors import EngineError, LogError, ParameterError
from blendp.logs import Columns, open_log, open_spark_log
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import MAX_DIFFERENT
from blendp.methods import Parameters, run
from blendp.methods.people import LogPeople
from blendp.randomness import SimulationRandom
from tests.support import KnownKey
from tests.unit.engines.test_second_look import same as same_holdings
from tests.unit.engines.test_staged import BROKEN, binary, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")
ANY = SparkSettings("local[2]")


@pytest.fixture(autouse=True)
def _running(spark: SparkSession) -> None:
    """All of these take the session there is."""


def same(one: Contributions, other: Contributions) -> None:
    assert (one.users, one.levels, one.quality) == (other.users, other.levels, other.quality)
    np.testing.assert_array_equal(one.records, other.records)
    assert one.texts(np.arange(one.distinct_records)) == other.texts(np.arange(other.distinct_records))
    if one.opt_in is None or other.opt_in is None:
        assert one.opt_in is other.opt_in
    else:
        np.testing.assert_array_equal(one.opt_in, other.opt_in)


def both(path: Path, per_user: int, key: int, **options: Any) -> tuple[Contributions, Contributions]:
    """What each engine draws, reproducibly."""
    logs = open_spark_log(str(path), ANY, **options), open_log(path, **options)
    spark, embedded = (log.draw(per_user, key, reproducible=True) for log in logs)
    return spark, embedded


def skewed(folder: Path, rows: int = 12_000, parts: int = 6) -> Path:
    """A log in several files: one query has half of the rows, and one person a tenth of them."""
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
            "url": [f"http://A.com/{query % 7}" for query in queries],
        }
    )
    for part in range(parts):
        slice_ = table.slice(part * rows // parts, rows // parts)
        pq.write_table(slice_, folder / f"{part}.parquet", row_group_size=1_000)
    return folder


def hold_the_same(spark: Contributions, embedded: Contributions, who: Ids, key: int) -> Holdings:
    """What these people hold, which both engines say with the same numbers."""
    holdings, other = (drawn.holdings(who, key) for drawn in (spark, embedded))
    same_holdings(holdings, other)
    same(spark, embedded)
    np.testing.assert_array_equal(spark.record_counts, embedded.record_counts)
    return holdings


def test_the_same_people_hold_the_same_on_both_engines(tmp_path: Path) -> None:
    log = skewed(tmp_path / "log")
    spark, embedded = both(log, 1, 20)
    before = spark.distinct_records
    holdings = hold_the_same(spark, embedded, np.arange(0, spark.users, 2), 5)
    assert spark.distinct_records > before
    everybody = hold_the_same(spark, embedded, np.arange(spark.users), 6)
    assert everybody.different.max() > MAX_DIFFERENT
    assert (~everybody.kept).sum() == everybody.different.max() - MAX_DIFFERENT
    assert everybody.totals.sum() == 12_000
    at_random = open_spark_log(str(log), ANY).draw(1, 21)
    np.testing.assert_array_equal(at_random.holdings(np.arange(0, spark.users, 2), 5).totals, holdings.totals)


@pytest.mark.parametrize("per_user", [1, 4])
def test_the_same_key_draws_the_same_on_both_engines(tmp_path: Path, per_user: int) -> None:
    log = skewed(tmp_path / "log")
    first, embedded = both(log, per_user, 20)
    same(first, embedded)
    second, _ = both(log, per_user, 21)
    assert (first.records != second.records).any()


def test_the_same_seed_gives_the_same_candidates_and_counts(tmp_path: Path) -> None:
    """Groups and records of a whole run, before any noise."""
    log = skewed(tmp_path / "log")
    parameters = Parameters(opt_in_records="many")
    people = [
        LogPeople.of(opened, parameters, 0.3, SimulationRandom(5), reproducible=True)
        for opened in (open_log(log), open_spark_log(str(log), ANY))
    ]
    one, other = (person.list_records() for person in people)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(people[0].groups.client, people[1].groups.client)
    counts = [np.bincount(records.ravel(), minlength=people[0].distinct_records) for records in (one, other)]
    np.testing.assert_array_equal(counts[0], counts[1])
    own, theirs = (person.holdings() for person in people)
    for name in ("owner", "record", "occurrences", "kept"):
        np.testing.assert_array_equal(getattr(own, name), getattr(theirs, name))


def test_a_run_on_spark_is_a_run(tmp_path: Path) -> None:
    log = skewed(tmp_path / "log")
    runs = [
        run(opened, Parameters(size=5), opt_in=0.3, random=KnownKey(4), seed=2)
        for opened in (open_log(log), open_spark_log([str(log)], ANY))
    ]
    assert runs[0].head_list.records == 5
    assert runs[0].head_list == runs[1].head_list
    assert runs[0].records() == runs[1].records()


@pytest.mark.statistical
def test_a_random_draw_is_fair_and_follows_its_key(tmp_path: Path) -> None:
    rows = [(f"{user}", query, "u") for user in range(3_000) for query in "abbccc"]
    path = str(write(tmp_path / "log.parquet", rows, row_group_size=1_000))
    log = open_spark_log(path, ANY)
    one, again, other = (log.draw(1, key) for key in (9, 9, 10))
    names = np.array([query for query, _ in one.texts(np.arange(3))])[one.records[:, 0]]
    counts = [int((names == query).sum()) for query in "abc"]
    assert stats.chisquare(counts, 3_000 * np.array([1, 2, 3]) / 6).pvalue > 1e-6
    np.testing.assert_array_equal(one.records, again.records)
    assert 0.3 < float((one.records == other.records).mean()) < 0.45


@pytest.mark.parametrize("per_user", [1, 3])
def test_broken_rows_are_the_same_rows(tmp_path: Path, per_user: int) -> None:
    path = write(tmp_path / "log.parquet", BROKEN)  # type: ignore[arg-type]
    drawn = both(path, per_user, 3, max_broken=1.0)
    same(*drawn)
    assert hold_the_same(*drawn, np.arange(10), 1).totals.sum() == 3
    with pytest.raises(LogError, match="10 of 13 rows"):
        open_spark_log(str(path), ANY).draw(per_user, 1)


@pytest.mark.parametrize("per_user", [1, 3])
def test_texts_that_are_not_utf_8(tmp_path: Path, per_user: int) -> None:
    table = pa.table({"user": binary([b"a", b"\xff", b"c"]), "query": binary([b"good", b"x", b"caf\xe9"])})
    pq.write_table(table, tmp_path / "log.parquet")
    drawn = both(tmp_path / "log.parquet", per_user, 3, max_broken=1.0)
    same(*drawn)
    assert sorted(hold_the_same(*drawn, np.arange(2), 1).totals.tolist()) == [0, 1]
    for key in (0, 1 << 63, (1 << 64) - 1):
        assert open_spark_log(str(tmp_path / "log.parquet"), ANY, max_broken=1.0).draw(per_user, key).users == 2


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.bool_(), pa.string()])
def test_columns_of_one_level_and_opt_in_marks(tmp_path: Path, kind: pa.DataType) -> None:
    marks = pa.array([1, 1, 0, 1], pa.int64()).cast(kind)
    table = pa.table({"who": [7, 7, 8, 9], "what": ["x", "y", "x", "z"], "staff": marks})
    pq.write_table(table, tmp_path / "log.parquet")
    spark, embedded = both(tmp_path / "log.parquet", 1, 3, columns=Columns("who", "what", opt_in="staff"))
    same(spark, embedded)
    assert spark.levels == 1
    assert spark.opt_in is not None
    assert int(spark.opt_in.sum()) == 2
    assert hold_the_same(spark, embedded, np.flatnonzero(spark.opt_in), 1).totals.sum() == 3


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
        open_spark_log(str(path), ANY).draw(1, 1)
    with pytest.raises(ParameterError, match="per_user"):
        open_spark_log(str(path), ANY).draw(0, 1)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises((LogError, EngineError), match="cut"):
        open_spark_log(str(tmp_path / "cut.parquet"), ANY).draw(1, 1)


def test_a_file_that_goes_away_in_between(tmp_path: Path, spark: SparkSession) -> None:
    path = write(tmp_path / "log.parquet", [("a", "q", "u")])
    log = SparkLog(spark, [str(path)], {"user": "user", "query": "query"}, RowRule(1, False, "none"), 0.0)
    drawn = log.draw(1, 1)
    assert drawn.users == 1
    path.unlink()
    with pytest.raises(LogError, match=r"log\.parquet"):
        log.draw(1, 1)
    with pytest.raises(LogError, match=r"log\.parquet"):
        drawn.holdings(np.arange(1), 1)


def test_the_session_there_is_is_used(spark: SparkSession) -> None:
    assert spark_session(SparkSettings("local[1]")) is spark


def test_the_same_rows_count_on_both_engines(tmp_path: Path) -> None:
    """Filters, spans of time and names of columns; people whose rows are all filtered out take part."""
    rows = {
        "Benutzer": ["a", "a", "b", "c", "d"],
        "Suche": ["p", "q", "r", "s", "t"],
        "n": [1, 5, 7, 9, None],
        "text": ["1", "x", "9", "5", ""],
        "Datum": ["2026-01-01", "2026-01-02", "no day", "2026-01-03T01:00:00+02:00", None],
    }
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    for options in ({"where": "n > 3"}, {"where": "CAST(text AS INT) > 3"}, {"since": "2026-01-02", "where": "n < 9"}):
        spark, embedded = both(tmp_path / "log.parquet", 1, 9, **options)
        same(spark, embedded)
        assert (spark.users, spark.quality.usable) == (4, 5 - spark.quality.ignored["filtered out"])
        assert 0 < spark.quality.usable < 4
    for where in ("rand() > 0.5", "n IN (SELECT 1)", "sum(n) > 1", "now() > Datum", "n", "nope = 1", "n > 1), (true"):
        with pytest.raises(ParameterError, match="where"):
            open_spark_log(str(tmp_path / "log.parquet"), ANY, where=where)
    for refused in ({"delimiter": ";"}, {"format": "csv"}, {"header": False, "names": ("user", "query")}):
        with pytest.raises(ParameterError):
            open_spark_log(str(tmp_path / "log.parquet"), ANY, **refused)
