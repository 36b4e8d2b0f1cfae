from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from blendp.errors import OutputExistsError, ParameterError
from blendp.logs.synthetic import NAMES, Population, law, population
from blendp.logs.synthetic.populations import BLOCK_ROWS

ENDINGS = (".csv", ".tsv", ".ndjson", ".jsonl", ".csv.gz", ".tsv.gz", ".ndjson.gz", ".jsonl.gz", ".parquet", ".CSV")


def read(path: Path) -> pa.Table:
    plain = path.name.lower().removesuffix(".gz")
    if plain.endswith(".parquet"):
        return pq.read_table(path)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if plain.endswith("sv"):
        mark = "," if plain.endswith(".csv") else "\t"
        return pyarrow.csv.read_csv(pa.BufferReader(data), parse_options=pyarrow.csv.ParseOptions(delimiter=mark))
    return pa.Table.from_pylist([json.loads(line) for line in data.decode().splitlines()])


@pytest.fixture(scope="module")
def crowd() -> pa.Table:
    """60,000 users with three records each on average."""
    return population("aol", users=60_000, records_per_user=3, seed=4).table()


def test_defaults_are_the_paper_s() -> None:
    assert population("aol") == Population("aol", 519_371, 1.0, 0)
    assert population("yandex").users == 4_970_073


@pytest.mark.parametrize("name", NAMES)
def test_one_row_per_user_in_order(name: str) -> None:
    table = population(name, users=1_234).table()
    assert table.schema.names == ["user", "query", "url"]
    assert [str(kind) for kind in table.schema.types] == ["string"] * 3
    assert table["user"].to_pylist() == [f"u{number:07d}" for number in range(1, 1_235)]
    assert table["query"].null_count == table["url"].null_count == 0


def test_user_names_grow_beyond_seven_digits() -> None:
    first = next(population("aol", users=10**8).batches(10))
    assert first["user"][0].as_py() == "u000000001"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("habits", [False, True])
@pytest.mark.parametrize("mean", [1.0, 2.5, 300.0])
def test_rows_do_not_depend_on_chunks(name: str, mean: float, habits: bool) -> None:
    subject = population(name, int(2.2 * BLOCK_ROWS / mean), mean, seed=9, habits=habits)
    whole = subject.table().combine_chunks()
    for rows in (7_777, 100_000, 10**6):
        batches = list(subject.batches(rows))
        assert all(batch.num_rows == rows for batch in batches[:-1])
        assert 0 < batches[-1].num_rows <= rows
        assert pa.Table.from_batches(batches).combine_chunks().equals(whole)


def test_the_seed_and_the_name_choose_the_rows() -> None:
    first = population("aol", users=500, seed=1).table()
    assert first.equals(population("aol", users=500, seed=1).table())
    assert not first.equals(population("aol", users=500, seed=2).table())
    assert population("aol", users=500, seed=2**200).table().num_rows == 500


def test_blocks_differ() -> None:
    queries = population("aol", users=2 * BLOCK_ROWS).table()["query"].combine_chunks()
    assert not queries.slice(0, BLOCK_ROWS).equals(queries.slice(BLOCK_ROWS))


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("aol", "b8a2c0ecfd617913a4693c0d8a94a08311caf5bd38d3c06c797dae97ea542450"),
        ("yandex", "b92220550f35cac7e7d7c99ece966c6dd8e8a611d4f138bb6220139f7a41ba61"),
        ("aol-sparse", "98549b6e09c47df83ffafab0c5b6e6ddb5b9115d45463b0121311d0c0e881818"),
    ],
)
def test_people_without_habits_are_the_same_for_good(name: str, digest: str) -> None:
    rows = population(name, users=2_000, records_per_user=4, seed=7).table().to_pylist()
    assert hashlib.sha256("\n".join("\t".join(row.values()) for row in rows).encode()).hexdigest() == digest


@pytest.mark.statistical
def test_counts_are_one_plus_geometric(crowd: pa.Table) -> None:
    counts = np.unique(crowd["user"].to_numpy(), return_counts=True)[1]
    assert len(counts) == 60_000
    assert counts.mean() == pytest.approx(3, abs=4 * 6**0.5 / 60_000**0.5)
    for count in (1, 2, 3):
        assert (counts == count).mean() == pytest.approx((2 / 3) ** (count - 1) / 3, abs=0.009)


@pytest.mark.statistical
def test_people_repeat_their_first_record(crowd: pa.Table) -> None:
    rows = list(zip(*(crowd[column].to_pylist() for column in ("user", "query", "url")), strict=True))
    first: dict[str, tuple[str, str]] = {}
    same = later = 0
    for user, query, url in rows:
        if user in first:
            later += 1
            same += first[user] == (query, url)
        else:
            first[user] = (query, url)
    collision = float((law("aol").top_records(5_000)[2] ** 2).sum())
    assert same / later == pytest.approx(0.3 + 0.7 * collision, abs=4 * (0.21 / later) ** 0.5)


@pytest.mark.statistical
def test_one_record_of_every_user_follows_the_law(crowd: pa.Table) -> None:
    generator = np.random.default_rng(2)
    order = generator.permutation(crowd.num_rows)
    users = crowd["user"].to_numpy()[order]
    rows = order[np.unique(users, return_index=True)[1]]
    queries = crowd["query"].take(pa.array(rows))
    for query, probability in zip(("google", "yahoo", "mapquest"), (0.0213, 0.0067, 0.0054), strict=True):
        share = pc.mean(pc.equal(queries, query)).as_py()
        assert share == pytest.approx(probability, abs=4 * (probability / 60_000) ** 0.5)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_written_log_reads_back_unchanged(tmp_path: Path, name: str, ending: str) -> None:
    subject = population(name, users=3_000, records_per_user=1.5, seed=3)
    path = tmp_path / f"log{ending}"
    rows = subject.write(path)
    assert read(path).combine_chunks().equals(subject.table().combine_chunks())
    assert rows == subject.table().num_rows
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".ndjson", ".parquet"])
def test_duckdb_reads_it(tmp_path: Path, ending: str) -> None:
    subject = population("yandex", users=2_000)
    path = tmp_path / f"log{ending}"
    subject.write(path)
    rows = duckdb.sql(f"select user, query, url from '{path}' order by 1").fetchall()
    assert rows == [tuple(row.values()) for row in subject.table().to_pylist()]


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_equal_logs_have_equal_bytes(tmp_path: Path, ending: str) -> None:
    for name in ("one", "two"):
        population("aol", users=2_000).write(tmp_path / (name + ending))
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_progress_counts_users(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    users = BLOCK_ROWS + 5
    population("aol", users=users).write(tmp_path / "log.parquet", lambda done, total: steps.append((done, total)))
    assert steps == [(BLOCK_ROWS, users), (users, users)]


def test_an_earlier_file_is_kept_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("mine")
    with pytest.raises(OutputExistsError, match=r"log\.csv exists already: name another"):
        population("aol", users=5).write(path)
    assert path.read_text() == "mine"
    assert population("aol", users=5).write(path, overwrite=True) == 5
    assert path.read_text().startswith("user,query,url\nu0000001,")


def test_a_folder_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "log.csv").mkdir()
    with pytest.raises(OutputExistsError):
        population("aol", users=5).write(tmp_path / "log.csv", overwrite=True)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_nothing(tmp_path: Path, ending: str, error: type[BaseException]) -> None:
    def stop(done: int, total: int) -> None:
        raise error(f"{done} of {total}")

    path = tmp_path / f"log{ending}"
    with pytest.raises(error):
        population("aol", users=10).write(path, stop)
    assert list(tmp_path.iterdir()) == []
    path.write_text("mine")
    with pytest.raises(error):
        population("aol", users=10).write(path, stop, overwrite=True)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"

    def interfere(done: int, total: int) -> None:
        path.write_text(f"theirs, at {done} of {total}")

    with pytest.raises(OutputExistsError):
        population("aol", users=10).write(path, interfere)
    assert path.read_text() == "theirs, at 10 of 10"


@pytest.mark.parametrize("name", ["log.txt", "log", "log.parquet.gz", "log.gz"])
def test_unknown_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="ending"):
        population("aol", users=5).write(tmp_path / name)


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    assert population("aol", users=5).write(tmp_path / "new" / "log.csv") == 5
    assert (tmp_path / "new" / "log.csv").exists()


def test_a_plain_relative_name_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert population("aol", users=5).write("log.csv") == 5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "bing"),
        ("users", 0),
        ("users", 1.5),
        ("users", True),
        ("records_per_user", 0.9),
        ("records_per_user", 1001),
        ("records_per_user", float("nan")),
        ("seed", -1),
        ("seed", "x"),
        ("habits", 1),
    ],
)
def test_wrong_fields_are_refused(field: str, value: Any) -> None:
    fields: dict[str, Any] = {"name": "aol", "users": 5, field: value}
    with pytest.raises(ParameterError, match=rf"^{field} = "):
        Population(**fields)
    with pytest.raises(ParameterError, match=rf"^{field} = "):
        population(**fields)


@pytest.mark.parametrize("rows", [0, -1, 2.0, 10_000_001])
def test_wrong_batch_sizes_are_refused_at_once(rows: Any) -> None:
    with pytest.raises(ParameterError, match=r"^rows = "):
        population("aol", users=5).batches(rows)


def test_batches_stream() -> None:
    stream: Iterator[pa.RecordBatch] = population("yandex", users=10**9).batches(1_000)
    assert next(stream).num_rows == 1_000
