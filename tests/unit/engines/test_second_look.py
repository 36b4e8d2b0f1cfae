"""What chosen people hold: all their records with their occurrences, whoever reads the log."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import comb
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from blendp.engines import Contributions, choice, first_people, staged
from blendp.errors import EngineError, LogError, ParameterError
from blendp.headlist import HeadList
from blendp.logs import Columns, log_of_table, open_log, read_log
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import MAX_DIFFERENT
from blendp.methods import Parameters
from blendp.methods.people import LogPeople
from blendp.randomness import SimulationRandom
from tests.support import KnownKey
from tests.unit.engines.test_staged import BROKEN, KEY, MIN_P, TEXT, binary, write

Record = tuple[str, str | None]
Person = dict[Record, tuple[int, bool]]
"""A person's records, with how often they have each, and whether it is kept."""

HOW = ("kept", "random", "aside", "seed")


def drawn_from(path: Path, how: str, key: int = 3, **options: Any) -> Contributions:
    """One record of everybody: of a log that is kept, read twice, at random or by a seed, or read once for all."""
    if how == "kept":
        return read_log(path, **options).draw(1, key)
    if how == "aside":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(first_people, "MORE", 4.9999)
            return open_log(path, **options).draw(1, key, share=0.2)
    return open_log(path, **options).draw(1, key, reproducible=how == "seed")


def everybody(drawn: Contributions) -> Any:
    return np.arange(drawn.users)


def people_of(drawn: Contributions, holdings: Holdings) -> list[Person]:
    """What each of them holds, in texts."""
    texts = drawn.texts(holdings.record)
    rows = list(zip(texts, holdings.occurrences.tolist(), holdings.kept.tolist(), strict=True))
    return [
        {text: (times, kept) for text, times, kept in rows[start:stop]}
        for start, stop in zip(holdings.start[:-1], holdings.start[1:], strict=True)
    ]


def in_no_order(people: Iterable[Person]) -> list[list[tuple[Record, tuple[int, bool]]]]:
    return sorted(sorted(person.items()) for person in people)


def counted(rows: Iterable[tuple[str, str, str]]) -> dict[str, Person]:
    counts: dict[str, Counter[Record]] = defaultdict(Counter)
    for user, query, url in rows:
        counts[user][query, url] += 1
    return {user: {record: (times, True) for record, times in own.items()} for user, own in counts.items()}


def write_marked(path: Path, rows: Sequence[tuple[str, str, str]], who: Iterable[str]) -> Path:
    """A log in which some people opt in."""
    columns: dict[str, list[Any]] = {name: [row[i] for row in rows] for i, name in enumerate(("user", "query", "url"))}
    marks = set(who)
    pq.write_table(pa.table(columns | {"yes": [user in marks for user in columns["user"]]}), path)
    return path


ROWS = st.lists(st.tuples(st.sampled_from("uvwxyz"), TEXT, TEXT), min_size=1, max_size=40)


@given(rows=ROWS, who=st.sets(st.sampled_from("uvwxyz")), key=KEY)
@settings(max_examples=10, deadline=None)
def test_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], who: set[str], key: int
) -> None:
    path = write_marked(tmp_path_factory.mktemp("log") / "log.parquet", rows, who)
    own = counted(rows)
    for how in HOW:
        drawn = drawn_from(path, how, key, normalise="none", columns=Columns(opt_in="yes"))
        assert drawn.opt_in is not None
        chosen = np.flatnonzero(drawn.opt_in)
        before = drawn.texts(np.arange(drawn.distinct_records))
        first = drawn.records.copy()
        holdings = drawn.holdings(chosen, key)
        assert in_no_order(people_of(drawn, holdings)) == in_no_order(own[user] for user in who if user in own)
        assert sorted(drawn.record_counts.tolist()) == sorted(sum(n for n, _ in mine.values()) for mine in own.values())
        np.testing.assert_array_equal(holdings.totals, drawn.record_counts[chosen])
        # numbers that were given stay, and every record drawn from these people is among what they hold
        texts = drawn.texts(np.arange(drawn.distinct_records))
        assert texts[: len(before)] == before
        assert len(set(texts)) == len(texts)
        np.testing.assert_array_equal(drawn.records, first)
        for owner, record in enumerate(drawn.records[chosen, 0].tolist()):
            assert record in holdings.record[holdings.owner == owner]
        head_list = HeadList.of_records(texts[::2])
        assert drawn.locate(head_list).tolist() == [head_list.cell_of(*text) for text in texts] + [head_list.cells - 1]


def test_the_order_of_who_is_that_of_the_owners(tmp_path: Path) -> None:
    rows = [(f"u{i}", f"q{i}", "u") for i in range(30) for _ in range(i + 1)]
    for how in HOW:
        drawn = drawn_from(write(tmp_path / "log.parquet", rows), how)
        who = np.random.default_rng(1).permutation(30)[:11]
        holdings = drawn.holdings(who, 4)
        np.testing.assert_array_equal(holdings.totals, drawn.record_counts[who])
        np.testing.assert_array_equal(holdings.record, drawn.records[who, 0])
        again = drawn.holdings(np.array([5, 2]), 4)
        np.testing.assert_array_equal(again.record, drawn.records[[5, 2], 0])
        assert drawn.holdings(np.zeros(0, dtype=np.int64), 4).people == 0


@pytest.mark.parametrize("how", HOW)
def test_spellings_of_one_person_and_of_one_record_come_together(tmp_path: Path, how: str) -> None:
    spellings = ["cafe\u0301", "caf\u00e9", " caf\u00e9\t", "\u3000caf\u00e9"]
    queries = ["  Foo\u00a0 BAR ", "foo bar", "FOO BAR", "other"]
    urls = ["HTTP://Example.com:80/#part", "http://example.com", "http://example.com/#"]
    rows = [(person, query, url) for person in spellings for query in queries for url in urls]
    drawn = drawn_from(write(tmp_path / "log.parquet", [*rows, ("b", "foo bar", urls[1])]), how)
    holdings = drawn.holdings(everybody(drawn), 1)
    assert in_no_order(people_of(drawn, holdings)) == in_no_order(
        [{("foo bar", urls[1]): (36, True), ("other", urls[1]): (12, True)}, {("foo bar", urls[1]): (1, True)}]
    )
    assert drawn.distinct_records == 2
    assert sorted(drawn.record_counts.tolist()) == [1, 48]


@pytest.mark.parametrize("how", HOW)
def test_broken_rows_and_people_without_records(tmp_path: Path, how: str) -> None:
    drawn = drawn_from(write(tmp_path / "log.parquet", BROKEN), how, max_broken=1)  # type: ignore[arg-type]
    holdings = drawn.holdings(everybody(drawn), 2)
    assert (holdings.people, int((holdings.totals == 0).sum())) == (10, 7)
    np.testing.assert_array_equal(holdings.totals == 0, drawn.records[:, 0] < 0)
    assert int(holdings.totals.sum()) == drawn.quality.usable == 3
    assert {query for person in people_of(drawn, holdings) for query, _ in person} == {"q", "é" * 4096, "#"}


@pytest.mark.parametrize("how", HOW)
def test_nobody_has_a_record(tmp_path: Path, how: str) -> None:
    rows = [("a", "", "u"), ("b", "q", "")]
    drawn = drawn_from(write(tmp_path / "log.parquet", rows), how, max_broken=1)
    assert drawn.record_counts.tolist() == drawn.holdings(everybody(drawn), 1).totals.tolist() == [0, 0]
    assert drawn.distinct_records == 0


def test_who_says_unclearly_that_they_opt_in(tmp_path: Path) -> None:
    table = pa.table({"user": ["a", "a", "b", "a"], "query": ["p", "q", "q", "p"], "yes": ["1", "1", "no", "maybe"]})
    pq.write_table(table, tmp_path / "log.parquet")
    for how in HOW:
        drawn = drawn_from(tmp_path / "log.parquet", how, columns=Columns(opt_in="yes"), max_broken=1)
        holdings = drawn.holdings(everybody(drawn), 1)
        a: Person = {("p", None): (1, True), ("q", None): (1, True)}
        b: Person = {("q", None): (1, True)}
        assert in_no_order(people_of(drawn, holdings)) == in_no_order([a, b])


def many_records(folder: Path, people: int, different: int) -> Path:
    """People with the same different records, the i-th of them 1 + i % 3 times, in no order."""
    records = np.repeat(np.arange(different), 1 + np.arange(different) % 3)
    user, record = np.tile(np.arange(people), len(records)), np.repeat(records, people)
    order = np.random.default_rng(6).permutation(len(user))
    table = pa.table(
        {"user": [f"u{i}" for i in user[order].tolist()], "query": [f"q{i:03}" for i in record[order].tolist()]}
    )
    pq.write_table(table, folder / "log.parquet")
    return folder / "log.parquet"


@pytest.mark.parametrize("how", HOW)
def test_of_too_many_different_records_some_are_kept(tmp_path: Path, how: str) -> None:
    rows = [("heavy", f"q{i:03}", "u") for i in range(250) for _ in range(1 + i % 2)]
    rows += [("full", f"q{i:03}", "u") for i in range(MAX_DIFFERENT)] + [("light", "q000", "u")]
    path = write(tmp_path / "log.parquet", rows)
    drawn = drawn_from(path, how)
    holdings = drawn.holdings(everybody(drawn), 11)
    kept = np.bincount(holdings.owner[holdings.kept], minlength=3)
    assert sorted(zip(holdings.different.tolist(), kept.tolist(), strict=True)) == [(1, 1), (100, 100), (250, 100)]
    assert sorted(holdings.totals.tolist()) == [1, 100, 375]
    same, other = (drawn_from(path, how).holdings(everybody(drawn), key) for key in (11, 12))
    np.testing.assert_array_equal(holdings.kept, same.kept)
    assert 60 < int((holdings.kept != other.kept).sum()) < 180


def p_of_left_out(drawn: Contributions, different: int) -> float:
    """The lowest of three tests that three records of each person, left out of so many, are any three.

    The first looks at which records are left out, the second at how far from one another, the third at how many
    persons' are equally far from one another.
    """
    holdings = drawn.holdings(everybody(drawn), 17)
    by_content = np.array([int(query[1:]) for query, _ in drawn.texts(np.arange(different))])
    nth = np.sort(by_content[holdings.record[~holdings.kept]].reshape(-1, 3), axis=1)
    single = np.bincount(nth.ravel(), minlength=different)
    far = np.concatenate([nth[:, 1] - nth[:, 0], nth[:, 2] - nth[:, 1], nth[:, 2] - nth[:, 0]])
    pairs = (different - np.arange(1, different)) / comb(different, 2)
    even = int((nth[:, 1] - nth[:, 0] == nth[:, 2] - nth[:, 1]).sum())
    return min(
        float(stats.chisquare(single).pvalue),
        float(stats.chisquare(np.bincount(far, minlength=different)[1:], len(far) * pairs).pvalue),
        float(stats.binomtest(even, len(nth), (different - 1) ** 2 // 4 / comb(different, 3)).pvalue),
    )


@pytest.mark.statistical
@pytest.mark.parametrize("how", HOW)
def test_the_choice_is_uniform_whatever_occurs_how_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    different = MAX_DIFFERENT + 3
    drawn = drawn_from(many_records(tmp_path, 1_000, different), how)
    assert p_of_left_out(drawn, different) > MIN_P
    naive = (f"(nth * (k2 | 1) + k1) & {(1 << 31) - 1} AS number", "nth AS number", "xor(nth, k1 & 127) AS number")
    for number in naive:  # the test sees orders that are not fair
        monkeypatch.setattr(choice, "number_of_rank", lambda *_, number=number: number)
        assert p_of_left_out(drawn, different) < MIN_P


@pytest.mark.parametrize("how", HOW)
def test_what_is_kept_of_a_person_depends_on_nobody_else(tmp_path: Path, how: str) -> None:
    """Change, add or remove one person's records: what others hold, and what is kept of it, stays as it is."""
    others = [(f"u{i % 5}", f"q{i}", "u") for i in range(5 * 130)]

    def held_by_others(mine: list[str]) -> list[Person]:
        rows = [("me", query, "u") for query in mine] + others
        drawn = drawn_from(write(tmp_path / "log.parquet", rows[:: 1 if len(mine) % 2 else -1]), how)
        people = people_of(drawn, drawn.holdings(everybody(drawn), 8))
        return [person for person in people if len(person) == 130]

    one = held_by_others(["a"])
    assert len(one) == 5
    assert len({tuple(sorted(record for record, (_, kept) in person.items() if kept)) for person in one}) == 5
    assert one == held_by_others(["zz", "b", "q1", "q1"]) == held_by_others([f"{i}" for i in range(201)])


def test_every_reader_gives_the_same(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    rows = [(f"u{u}", f"query {q}", f"http://a.com/{q % 3}") for u, q in generator.integers(0, [20, 400], (6_000, 2))]
    write(tmp_path / "log.parquet", rows)
    (tmp_path / "log.csv").write_text("user,query,url\n" + "".join(f"{','.join(row)}\n" for row in rows))
    tabs = "user\tquery\turl\n" + "".join("\t".join(row) + "\n" for row in rows[::-1])
    (tmp_path / "log.tsv.gz").write_bytes(gzip.compress(tabs.encode()))
    lines = (json.dumps(dict(zip(("user", "query", "url"), row, strict=True))) for row in rows)
    (tmp_path / "log.ndjson").write_text("\n".join(lines) + "\n")
    drawn = [
        open_log(tmp_path / name, memory_limit="300MB").draw(1, 6, reproducible=True)
        for name in ("log.parquet", "log.csv", "log.tsv.gz", "log.ndjson")
    ]
    who = np.arange(0, 20, 2)
    first = drawn[0].holdings(who, 9)
    assert not first.kept.all()
    for other in drawn[1:]:
        same(first, other.holdings(who, 9))
        every = np.arange(drawn[0].distinct_records)
        assert other.texts(every) == drawn[0].texts(every)


def same(one: Holdings, other: Holdings) -> None:
    assert one.people == other.people
    for name in ("owner", "record", "occurrences", "kept"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    table = pa.table({"user": ["a", "a", "b"], "query": binary([b"good", b"caf\xe9", "caf\u00e9".encode()])})
    pq.write_table(table, tmp_path / "log.parquet")
    drawn = open_log(tmp_path / "log.parquet", max_broken=1).draw(1, 1)
    people = people_of(drawn, drawn.holdings(everybody(drawn), 1))
    assert in_no_order(people) == in_no_order([{("good", None): (1, True)}, {("caf\u00e9", None): (1, True)}])


class Small:
    """A database whose memory holds what an eighth of the people have."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self.database = database
        self.asked: list[str] = []

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        self.asked.append(sql)
        if "TABLE gathered AS" in sql and "hash(person) % 8" not in sql:
            raise duckdb.OutOfMemoryException("Out of Memory Error: too many people")
        return self.database.execute(sql)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)


def test_too_little_memory_makes_more_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    rows = [(f"u{user}", f"q{query}", "u") for user, query in generator.integers(0, [50, 400], (9_000, 2))]
    path = write(tmp_path / "log.parquet", rows)
    whole = open_log(path).draw(1, 8, reproducible=True)
    who = np.arange(0, whole.users, 3)
    log = open_log(path)
    small = Small(log.connection)
    object.__setattr__(log, "connection", small)
    same(whole.holdings(who, 1), log.draw(1, 8, reproducible=True).holdings(who, 1))
    assert sum("gathered" in sql and "hash(person) % 8" in sql for sql in small.asked) == 8
    log = open_log(path)
    object.__setattr__(log, "connection", Small(log.connection))
    drawn = log.draw(1, 8)
    monkeypatch.setattr(staged, "PARTS", (1, 2))
    with pytest.raises(EngineError, match="raise memory_limit"):
        drawn.holdings(who, 1)


def three_each(path: Path) -> Path:
    return write(path, [(f"u{i % 2_000}", f"q{i % 7}", "u") for i in range(6_000)])


def test_a_share_of_the_people_is_asked_without_reading_again(tmp_path: Path) -> None:
    path = three_each(tmp_path / "log.parquet")
    parameters = Parameters(opt_in_records="many")
    people = LogPeople.of(open_log(path), parameters, 0.1, KnownKey(3))
    assert people.sizes.opt_in == 200
    expected = read_log(path)
    path.unlink()
    holdings = people.holdings()
    assert holdings.totals.tolist() == [3] * people.sizes.head_list
    assert set(people.texts(np.unique(holdings.record))) <= set(expected.texts(np.arange(expected.distinct_records)))


def test_who_is_not_set_aside_is_read_again(tmp_path: Path) -> None:
    path = three_each(tmp_path / "log.parquet")
    log = open_log(path)
    drawn = log.draw(1, 8, share=0.05)
    rest = np.arange(100, drawn.users)
    assert drawn.holdings(rest, 1).totals.tolist() == [3] * len(rest)
    few = open_log(path).draw(1, 8, share=0.3).holdings(np.arange(600), 1)
    assert few.totals.tolist() == [3] * 600
    path.unlink()
    assert drawn.holdings(np.arange(100), 1).totals.tolist() == [3] * 100
    with pytest.raises(LogError, match=r"log\.parquet"):
        drawn.holdings(rest, 1)


def test_a_person_spelt_in_two_ways_is_read_again(tmp_path: Path) -> None:
    rows = [(f"{' ' * (i % 3)}u{i % 100}", f"q{i}", "u") for i in range(3_000)]
    drawn = open_log(write(tmp_path / "log.parquet", rows)).draw(1, 5, share=0.2)
    assert drawn.holdings(np.arange(20), 1).totals.tolist() == [30] * 20


def test_a_line_that_is_read_aside_counts_once(tmp_path: Path) -> None:
    lines = [b"user,query,note", *(b"u%d,q%d," % (i % 40, i) for i in range(200)), b"u0,q1,\xff", b"u0,q1,\xff"]
    (tmp_path / "log.csv").write_bytes(b"\n".join(lines))
    for how in ("random", "aside"):
        drawn = drawn_from(tmp_path / "log.csv", how, max_broken=1)
        assert sorted(drawn.holdings(everybody(drawn), 1).totals.tolist()) == [5] * 39 + [7]


class Tight(Small):
    """A database in which no rows can be set aside."""

    error: duckdb.Error

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        self.asked.append(sql)
        if "string_agg(" in sql:
            raise self.error
        return self.database.execute(sql)


@pytest.mark.parametrize(
    "error",
    [
        duckdb.OutOfMemoryException("Out of Memory Error: too many rows"),
        duckdb.InvalidInputException("Invalid Input Error: string_agg string size exceeds maximum string size"),
    ],
    ids=["memory", "one person's rows"],
)
def test_too_little_room_to_set_rows_aside(tmp_path: Path, error: duckdb.Error) -> None:
    path = three_each(tmp_path / "log.parquet")
    log = open_log(path)
    tight = Tight(log.connection)
    tight.error = error
    object.__setattr__(log, "connection", tight)
    drawn = log.draw(1, 8, share=0.05)
    who = np.arange(100)
    same(drawn.holdings(who, 1), open_log(path).draw(1, 8, share=0.05).holdings(who, 1))
    assert any("hash(person) % 8" in sql for sql in tight.asked)


@pytest.mark.parametrize(
    "ask", [lambda drawn: drawn.records, lambda drawn: drawn.cells(HeadList.of_records([("q", "u")]))]
)
def test_a_database_that_fails_when_records_are_asked_for(
    tmp_path: Path, ask: Callable[[Contributions], object]
) -> None:
    log = open_log(three_each(tmp_path / "log.parquet"))
    drawn = log.draw(1, 8)
    log.connection.execute("DROP TABLE bounded")
    with pytest.raises(LogError, match=r"log\.parquet"):
        ask(drawn)


def change(path: Path) -> None:
    write(path, [("a", "q", "u"), ("a", "r", "u"), ("b", "q", "u")])


@pytest.mark.parametrize("spoil", [change, Path.unlink])
def test_a_log_that_does_not_stay_as_it_was(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = write(tmp_path / "log.parquet", [("a", "q", "u"), ("b", "q", "u")])
    drawn = open_log(path).draw(1, 1)
    spoil(path)
    with pytest.raises(LogError, match=r"changed while it was read|log\.parquet"):
        drawn.holdings(everybody(drawn), 1)


def test_rows_of_text_are_forgotten_unless_holdings_may_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,query\na,q\n")
    for holdings in (False, True):
        log = open_log(tmp_path / "log.csv")
        drawn = log.draw(1, 1, holdings=holdings)
        tables = {name for (name,) in log.connection.execute("SHOW TABLES").fetchall()}
        assert ({"staged", "drawn"} & tables) == ({"staged", "drawn"} if holdings else set())
        if not holdings:
            with pytest.raises(ParameterError, match="True when drawing"):
                drawn.holdings(everybody(drawn), 1)


@pytest.mark.parametrize(
    ("who", "key"), [([0, 0], 1), ([2], 1), ([-1], 1), ([0.0], 1), ([[0]], 1), ([True], 1), ([0], -1), ([0], 1 << 64)]
)
def test_parameters(who: Any, key: int) -> None:
    drawn = log_of_table(pa.table({"user": ["a", "b"], "query": ["p", "q"]})).draw(1, 1)
    with pytest.raises(ParameterError, match="who" if key == 1 else "key"):
        drawn.holdings(np.array(who), key)


def test_the_people_of_a_log_hold_what_their_list_is_made_of(tmp_path: Path) -> None:
    rows = [(f"u{i % 40}", f"q{i % 7}", "u") for i in range(600)]
    path = write(tmp_path / "log.parquet", rows)
    parameters = Parameters(opt_in_records="many")
    for log in (open_log(path), read_log(path)):
        people = LogPeople.of(log, parameters, 0.5, SimulationRandom(3), reproducible=True)
        holdings = people.holdings()
        assert holdings.people == people.sizes.head_list == 20
        assert len(people.locate(HeadList.of_records([]))) == people.distinct_records + 1
    one_record = LogPeople.of(open_log(path), Parameters(opt_in_records=1), 0.5, SimulationRandom(3))
    with pytest.raises(ParameterError, match="holdings"):
        one_record.holdings()
