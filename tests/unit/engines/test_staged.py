"""Drawing from a log as it is read: at random, and reproducibly."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import perm
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from blendp.engines import Contributions, StagedLog, staged
from blendp.engines.choice import MAX_PER_USER, number_of_rank, user_keys
from blendp.engines.database import bytes_of, connect
from blendp.engines.usable import DUCKDB
from blendp.errors import EngineError, LogError, ParameterError
from blendp.headlist import HeadList
from blendp.logs import Columns, open_log, read_log

Record = tuple[str, str | None]
Row = tuple[str, str, str]
MIN_P = 1e-6
MASK = (1 << 31) - 1


def write(path: Path, rows: Sequence[Row], **options: Any) -> Path:
    pq.write_table(
        pa.table([[row[i] for row in rows] for i in range(3)], names=["user", "query", "url"]), path, **options
    )
    return path


def open_rows(folder: Path, rows: Sequence[Row], **options: Any) -> StagedLog:
    return open_log(write(folder / "log.parquet", rows), normalise="none", **options)


def drawn_records(drawn: Contributions) -> list[tuple[Record, ...]]:
    """The records of every user, in no order of the users."""
    return sorted(tuple(drawn.texts(row)) if (row >= 0).all() else () for row in drawn.records)


def number(rank: int, user: str, key: int) -> int:
    """The reproducible choice, written down a second time."""
    digits = hashlib.md5(f"{key:016x}{user}".encode()).hexdigest()
    k1, k2, k3, k4 = (int(digits[i : i + 8], 16) & MASK for i in (0, 8, 16, 24))
    a = ((rank + k1) & MASK) * (k2 | 1) & MASK
    b = (a ^ a >> 15) * (k3 | 1) & MASK
    c = (b ^ b >> 14) * (k4 | 1) & MASK
    return c ^ c >> 16


def chosen(records: list[Record], user: str, key: int, per_user: int) -> tuple[Record, ...]:
    ranked = sorted(records)
    order = sorted(range(len(ranked)), key=lambda rank: number(rank, user, key))
    return tuple(ranked[order[turn % len(order)]] for turn in range(per_user))


TEXT = st.text(st.sampled_from("ab*é\uffff\U0001f600#"), min_size=1, max_size=2)
ROWS = st.lists(st.tuples(st.sampled_from("uvwxyz"), TEXT, TEXT), min_size=1, max_size=30)
KEY = st.integers(0, (1 << 64) - 1)


@given(rows=ROWS, key=KEY, per_user=st.sampled_from([1, 2, 5]))
@settings(max_examples=40, deadline=None)
def test_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], key: int, per_user: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    records_of: dict[str, list[Record]] = defaultdict(list)
    for user, query, url in rows:
        records_of[user].append((query, url))
    drawn = open_rows(folder, rows).draw(per_user, key)
    assert (drawn.users, drawn.levels, drawn.quality.usable) == (len(records_of), 2, len(rows))
    assert drawn.records.shape == (len(records_of), per_user)
    taken = [Counter(texts) for texts in drawn_records(drawn)]
    for records in records_of.values():
        rounds, more = divmod(per_user, len(records))
        mine = [
            one
            for one in taken
            if one.total() == per_user
            and all(
                rounds * times <= one[record] <= rounds * times + min(more, times)
                for record, times in Counter(records).items()
            )
        ]
        assert mine

    of_record = drawn.queries(drawn.records)
    names = [[query for query, _ in drawn.texts(row)] for row in drawn.records]
    first: dict[str, int] = {}
    for record, (query, _) in zip(drawn.records.flat, drawn.texts(drawn.records), strict=True):
        first[query] = min(int(record), first.get(query, int(record)))
    assert of_record.tolist() == [[first[query] for query in row] for row in names]

    again = open_rows(folder, rows).draw(per_user, key, reproducible=True)
    distinct = drawn.texts(np.arange(drawn.distinct_records))
    head_list = HeadList.of_records(distinct[::2])
    cells = again.cells(head_list)
    assert drawn_records(again) == sorted(chosen(records, user, key, per_user) for user, records in records_of.items())
    for numbered in (again.locate(head_list)[again.records], again.cells(head_list)):
        assert cells.tolist() == numbered.tolist(), "records are located with and without numbers"
    for listed in (distinct[::2], [], [("nowhere", "*")]):
        head_list = HeadList.of_records(listed)
        located = drawn.locate(head_list)
        assert located.tolist() == [head_list.cell_of(*record) for record in distinct] + [head_list.cells - 1]


@given(rows=ROWS, key=KEY, shuffled=st.randoms(use_true_random=False), per_user=st.sampled_from([1, 3]))
@settings(max_examples=15, deadline=None)
def test_the_reproducible_choice_knows_no_order_and_no_files(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], key: int, shuffled: Any, per_user: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    one = open_rows(folder, rows).draw(per_user, key, reproducible=True)
    mixed = rows[:]
    shuffled.shuffle(mixed)
    parts = folder / "parts"
    parts.mkdir()
    for part in range(0, len(mixed), 7):
        write(parts / f"{part:02}.parquet", mixed[part : part + 7], row_group_size=2)
    other = open_log(parts, normalise="none").draw(per_user, key, reproducible=True)
    np.testing.assert_array_equal(one.records, other.records)
    assert one.texts(np.arange(one.distinct_records)) == other.texts(np.arange(other.distinct_records))
    lines = "".join(f"{user}\t{query}\t{url}\n" for user, query, url in mixed)
    (folder / "log.tsv.gz").write_bytes(gzip.compress(("user\tquery\turl\n" + lines).encode()))
    text = open_log(folder / "log.tsv.gz", normalise="none").draw(per_user, key, reproducible=True)
    np.testing.assert_array_equal(one.records, text.records)


def test_what_a_person_contributes_depends_on_their_own_rows_alone(tmp_path: Path) -> None:
    others = [(f"u{i % 40}", f"q{i % 17}", f"http://{i % 5}") for i in range(600)]
    one, other = (
        open_rows(tmp_path, [("me", query, "http://x") for query in mine] + others).draw(3, 99, reproducible=True)
        for mine in (["a"], ["b", "c", "d", "e"])
    )
    first, second = drawn_records(one), drawn_records(other)
    assert sum((Counter(first) - Counter(second)).values()) == 1


@pytest.mark.parametrize("reproducible", [False, True])
def test_many_spellings_of_one_person(tmp_path: Path, reproducible: bool) -> None:
    spellings = ["cafe\u0301", "caf\u00e9", " caf\u00e9\t", "\u3000caf\u00e9"]
    rows = [(spelling, f"q{i}", "u") for i, spelling in enumerate(spellings * 3)] + [("b", "q", "u"), ("  ", "x", "u")]
    for per_user in (1, 2, 12):
        log = open_rows(tmp_path, rows, max_broken=1)
        drawn = log.draw(per_user, 7, reproducible=reproducible)
        assert (drawn.users, dict(drawn.quality.broken)) == (2, {"no user": 1})
        mine = max((drawn.texts(row) for row in drawn.records), key=lambda texts: len(set(texts)))
        assert len(set(mine)) == per_user


def test_chosen_texts_are_normalised(tmp_path: Path) -> None:
    rows = [("a", "  Foo\u00a0 BAR ", "HTTP://Example.com:80/#part"), ("b", "foo bar", "http://example.com")]
    drawn = open_log(write(tmp_path / "log.parquet", rows)).draw(1, 3)
    assert drawn.texts(np.arange(drawn.distinct_records)) == [("foo bar", "http://example.com")]
    assert drawn.records.tolist() == [[0], [0]]


@pytest.mark.statistical
@pytest.mark.parametrize("reproducible", [False, True])
def test_a_record_counts_as_often_as_it_occurs(tmp_path: Path, reproducible: bool) -> None:
    """Six occurrences of three records, in many users with the same rows: one, two and three sixths."""
    users = 6_000
    rows = [(f"{user}", query, "u") for user in range(users) for query in "abbccc"]
    path = write(tmp_path / "log.parquet", rows)
    drawn = open_log(path).draw(2, 11, reproducible=reproducible)
    names = np.array([query for query, _ in drawn.texts(np.arange(3))])[drawn.records]
    for turn in (0, 1):
        counts = [int((names[:, turn] == query).sum()) for query in "abc"]
        assert stats.chisquare(counts, users * np.array([1, 2, 3]) / 6).pvalue > MIN_P
    pairs = Counter(map(tuple, names.tolist()))
    weights = {"a": 1, "b": 2, "c": 3}
    law = {(x, y): weights[x] * (weights[y] - (x == y)) / 30 for x in "abc" for y in "abc"}
    possible = [pair for pair, p in law.items() if p]
    assert set(pairs) <= set(possible)
    expected = [users * law[pair] for pair in possible]
    assert stats.chisquare([pairs[pair] for pair in possible], expected).pvalue > MIN_P


def orders(ranks: list[int], mixed: str) -> list[int]:
    """How often each order of the first three ranks comes up among many users."""
    users = 60_000
    numbers = pa.table({"nth": pa.array(ranks, pa.int64())})
    database = connect()
    database.register("held", numbers)
    counts = database.execute(f"""
        WITH people AS (SELECT person, {user_keys("person", 5, DUCKDB.from_hex)}
            FROM (SELECT 'u' || range AS person FROM range({users})))
        SELECT count(*) FROM (
            SELECT list(nth ORDER BY number)[:3] AS first
            FROM (SELECT person, nth, {mixed} FROM held, people) GROUP BY person)
        GROUP BY first
    """).fetchall()
    return [count for (count,) in counts]


RANKS = [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 4, 8, 16, 32], [0, 1000, 2000], [7, 8, 1 << 20], list(range(12))]


def p_of_orders(counts: list[int], ranks: list[int]) -> float:
    every = np.array(counts + [0] * (perm(len(ranks), 3) - len(counts)))
    return float(stats.chisquare(every).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("ranks", RANKS, ids=str)
def test_every_order_of_ranks_is_equally_likely(ranks: list[int]) -> None:
    assert p_of_orders(orders(ranks, number_of_rank("nth", DUCKDB.folded)), ranks) > MIN_P


@pytest.mark.statistical
@pytest.mark.parametrize("ranks", RANKS[:3], ids=str)
@pytest.mark.parametrize("naive", [f"(nth * (k2 | 1) + k1) & {MASK} AS number", "xor(nth, k1) AS number"])
def test_the_test_sees_an_unfair_order_of_ranks(ranks: list[int], naive: str) -> None:
    assert p_of_orders(orders(ranks, naive), ranks) < MIN_P


def test_no_two_ranks_have_one_number() -> None:
    database = connect()
    counted = database.execute(f"""
        SELECT count(DISTINCT number), min(number), max(number) FROM (
            SELECT {number_of_rank("nth", DUCKDB.folded)}
            FROM (SELECT range AS nth FROM range(300000)), (SELECT {user_keys("'u'", 3, DUCKDB.from_hex)}))
    """).fetchall()[0]
    assert counted[0] == 300_000
    assert 0 <= counted[1] < counted[2] <= MASK


def test_a_draw_at_random_follows_its_key(tmp_path: Path) -> None:
    rows = [(f"u{i % 50}", f"q{i}", "u") for i in range(2_000)]
    path = write(tmp_path / "log.parquet", rows)
    one, same, other = (open_log(path).draw(1, key) for key in (5, 5, 6))
    assert drawn_records(one) == drawn_records(same)
    shared = set(drawn_records(one)) & set(drawn_records(other))
    assert len(shared) < 10


def marked(folder: Path, choice: pa.Array) -> Path:
    users = ["a", "a", "b", "b", "c"]
    pq.write_table(pa.table({"user": users, "query": ["q"] * 5, "staff": choice}), folder / "log.parquet")
    return folder / "log.parquet"


@pytest.mark.parametrize("kind", ["text", "truth", "number"])
@pytest.mark.parametrize("reproducible", [False, True])
def test_a_person_opts_in_only_if_all_rows_say_so(tmp_path: Path, kind: str, reproducible: bool) -> None:
    yes = [True, True, True, False, True]
    choice = {
        "text": pa.array([" YES " if said else "no" for said in yes]),
        "truth": pa.array(yes),
        "number": pa.array([int(said) for said in yes], pa.int8()),
    }[kind]
    path = marked(tmp_path, choice)
    columns = Columns(opt_in="staff")
    drawn = open_log(path, columns=columns).draw(1, 4, reproducible=reproducible)
    whole = read_log(path, columns=columns)
    assert drawn.opt_in is not None
    assert whole.opt_in is not None
    assert sorted(drawn.opt_in.tolist()) == sorted(whole.opt_in.tolist()) == [False, True, True]
    unclear = marked(tmp_path, pa.array(["yes", "yes", "yes", "maybe", "yes"]))
    drawn = open_log(unclear, columns=columns, max_broken=1).draw(1, 4, reproducible=reproducible)
    assert dict(drawn.quality.broken) == {"opt-in value": 1}
    assert sorted(drawn.opt_in.tolist() if drawn.opt_in is not None else []) == [False, True, True]


BROKEN = [
    ("good", "q", "u"),
    (None, "q", "u"),
    (" \u3000", "q", "u"),
    ("a", None, "u"),
    ("b", "\t \u2003", "u"),
    ("c", "q", None),
    ("d", "q", "  #fragment"),
    ("e\x00", "q", "u"),
    ("f", "q\x00", "u"),
    ("g", "q", "u\x00"),
    ("h", "q" * 8193, "u"),
    ("i", "é" * 4096, "u"),
    ("j", "#", "u"),
]


@pytest.mark.parametrize("reproducible", [False, True])
def test_broken_rows_are_counted_by_reason_however_the_log_is_read(tmp_path: Path, reproducible: bool) -> None:
    path = write(tmp_path / "log.parquet", BROKEN)  # type: ignore[arg-type]
    with pytest.raises(LogError, match="10 of 13 rows"):
        open_log(path).draw(1, 1, reproducible=reproducible)
    drawn = open_log(path, max_broken=1).draw(1, 1, reproducible=reproducible)
    reasons = {"NUL byte": 3, "no URL": 2, "no query": 2, "no user": 2, "text too long": 1}
    assert dict(drawn.quality.broken) == reasons
    assert (drawn.quality.rows, drawn.quality.usable) == (13, 3)
    assert drawn.users == 10
    assert int((drawn.records < 0).sum()) == 7
    whole = read_log(path, max_broken=1)
    assert (whole.quality, whole.users) == (drawn.quality, 10)
    assert int((whole.sample(1, 1) < 0).sum()) == 7


def binary(values: list[bytes | None]) -> pa.Array:
    """A column that claims to be text, whatever its bytes."""
    plain = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(plain), plain.buffers()[1], plain.buffers()[2], plain.buffers()[0])


@pytest.mark.parametrize("reproducible", [False, True])
def test_texts_that_are_not_utf_8_are_read_in_the_careful_way(tmp_path: Path, reproducible: bool) -> None:
    table = pa.table({"user": ["a", "b", "c"], "query": binary([b"good", b"caf\xe9", "caf\u00e9".encode()])})
    pq.write_table(table, tmp_path / "log.parquet")
    log = open_log(tmp_path / "log.parquet", max_broken=1)
    drawn = log.draw(1, 1, reproducible=reproducible)
    assert dict(drawn.quality.broken) == {"not UTF-8": 1}
    assert log.quality == drawn.quality
    assert sorted(drawn.texts(np.arange(drawn.distinct_records))) == [("caf\u00e9", None), ("good", None)]
    assert read_log(tmp_path / "log.parquet", max_broken=1).quality == drawn.quality


def users_of(kind: str) -> pa.Array:
    numbers: NDArray[np.int64] = np.array([7, 8, 8, 9])
    return {
        "int": pa.array(numbers),
        "text": pa.array([str(number) for number in numbers]),
        "dictionary": pa.array([str(number) for number in numbers]).dictionary_encode(),
        "binary": pa.array([str(number).encode() for number in numbers]),
        "large": pa.array([str(number) for number in numbers], pa.large_string()),
    }[kind]


@pytest.mark.parametrize("kind", ["int", "text", "dictionary", "binary", "large"])
def test_columns_of_every_plain_kind(tmp_path: Path, kind: str) -> None:
    pq.write_table(pa.table({"user": users_of(kind), "query": ["x", "y", "z", "x"]}), tmp_path / "log.parquet")
    drawn = open_log(tmp_path / "log.parquet").draw(1, 77, reproducible=True)
    assert drawn.users == 3
    pq.write_table(pa.table({"user": users_of("text"), "query": ["x", "y", "z", "x"]}), tmp_path / "other.parquet")
    as_text = open_log(tmp_path / "other.parquet").draw(1, 77, reproducible=True)
    np.testing.assert_array_equal(drawn.records, as_text.records)


def test_file_names_that_look_like_patterns_and_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "user=x"
    folder.mkdir()
    for name in ("a[1].parquet", "b*.parquet", "it's.parquet"):
        write(folder / name, [(name, "q", "u")])
    assert open_log(folder).draw(1, 1).users == 3
    assert open_log(folder / "it's.parquet").draw(1, 1).users == 1


def test_files_whose_columns_differ_in_kind(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [1, 2], "query": ["q", "q"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"query": ["q", "q"], "user": ["2", "x"]}), tmp_path / "b.parquet")
    assert open_log(tmp_path).draw(1, 1).users == 3


@pytest.mark.parametrize(
    ("per_user", "key"), [(0, 1), (1.5, 1), (MAX_PER_USER + 1, 1), (1, -1), (1, 1 << 64), (1, "x")]
)
def test_draw_parameters(tmp_path: Path, per_user: Any, key: Any) -> None:
    with pytest.raises(ParameterError):
        open_rows(tmp_path, [("a", "q", "u")]).draw(per_user, key)


def test_memory_limits() -> None:
    assert [bytes_of(text) for text in ("4GB", "1.5 gib", "300MB")] == [4 * 10**9, 3 * 2**29, 3 * 10**8]
    for text in ("4", "GB", "-1GB", "1MB", "4 gigabytes", ""):
        with pytest.raises(ParameterError, match="memory_limit"):
            bytes_of(text)


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("per_user", [1, 3])
def test_a_draw_in_parts_is_the_same_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, per_user: int, reproducible: bool
) -> None:
    generator = np.random.default_rng(2)
    rows = [(f"u{user}", f"q{query}", "u") for user, query in generator.integers(0, [200, 40], (3_000, 2))]
    path = write(tmp_path / "log.parquet", [*rows, (None, "q", "u"), ("x", "", "u")])  # type: ignore[list-item]
    whole = open_log(path).draw(per_user, 8, reproducible=reproducible)
    monkeypatch.setattr(staged, "PARTS", (5,))
    parts = open_log(path).draw(per_user, 8, reproducible=reproducible)
    assert whole.quality == parts.quality
    np.testing.assert_array_equal(whole.records, parts.records)
    np.testing.assert_array_equal(whole.record_counts, parts.record_counts)


def test_too_little_memory_makes_more_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Small:
        """A database whose memory holds an eighth of the people."""

        def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
            self.database = database

        def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
            asked.append(sql)
            if "GROUP BY person" in sql and "hash(person) % 8" not in sql:
                raise duckdb.OutOfMemoryException("Out of Memory Error: too many people")
            return self.database.execute(sql)

        def cursor(self) -> duckdb.DuckDBPyConnection:
            return self.database.cursor()

    log = open_rows(tmp_path, [(f"u{i}", "q", "u") for i in range(100)])
    object.__setattr__(log, "connection", Small(log.connection))
    assert log.draw(1, 1).users == 100
    assert sum("hash(person) % 8" in sql for sql in asked) == 8
    log = open_rows(tmp_path, [("u", "q", "u")])
    object.__setattr__(log, "connection", Small(log.connection))
    monkeypatch.setattr(staged, "PARTS", (1, 2))
    with pytest.raises(EngineError, match="raise memory_limit"):
        log.draw(1, 1)


def test_a_log_larger_than_memory_goes_to_disk(tmp_path: Path) -> None:
    """Texts of 300 MB in a database of 256 MB: the same contributions as with all the memory there is."""
    generator = np.random.default_rng(3)
    count = 150_000
    users = generator.integers(0, 20_000, count)
    line = np.char.add(np.char.add(users.astype(str), ","), generator.integers(0, 1 << 60, count).astype(str))
    padding = "x" * 2_000
    text = f"{padding}\n".join(line.tolist())
    (tmp_path / "log.csv").write_text(f"user,query\n{text}{padding}\n")
    small, large = (
        open_log(tmp_path / "log.csv", memory_limit=limit).draw(1, 5, reproducible=True) for limit in ("256MB", None)
    )
    assert small.quality.usable == count
    np.testing.assert_array_equal(small.records, large.records)


def test_how_the_rows_fared_is_known_once_they_were_drawn_from(tmp_path: Path) -> None:
    log = open_rows(tmp_path, [("u", "q", "v"), ("u", "", "v"), ("w", "q", "v")], max_broken=0.5)
    with pytest.raises(LogError, match="not been drawn from"):
        _ = log.quality
    contributions = log.draw(1, 7)
    assert log.quality == contributions.quality
    assert (log.quality.rows, log.quality.usable) == (3, 2)
