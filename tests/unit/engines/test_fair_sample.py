"""The bound on contributions is fair: over random keys every order of a user's rows is equally likely."""

from __future__ import annotations

from collections import Counter
from math import perm
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from blendp.engines.choice import number_of_place
from blendp.engines.database import connect
from blendp.logs import log_of_table, open_log
from blendp.methods import LogPeople, Parameters
from tests.support import KnownKey

KEYS = 30_000
MIN_P = 1e-6

ROWS = [
    [0, 1, 2],
    [0, 1000, 2000],
    [0, 1 << 32, 1 << 33],
    [5, 6, 7, 8, 9],
    [3, 70_001, 140_007, 519_000, 519_001],
    [0, 1, 2, 3, 4, 5, 6],
    [0, 1, 2, 4, 8, 16, 32],
]


def p_value(counts: list[int], cells: int) -> float:
    """Of a chi-square test that all cells, those not seen included, are equally likely."""
    observed = np.array(counts + [0] * (cells - len(counts)))
    return float(stats.chisquare(observed).pvalue)


def p_of_order(rows: list[int], order: str) -> float:
    """Of the first three rows under ``order``, over many keys."""
    places = pa.array(rows, pa.uint64())
    return p_of_firsts(pa.table({"place": places, "user_id": pa.array([7] * len(rows), pa.int32())}), "place", order)


def p_of_firsts(table: pa.Table, column: str, order: str) -> float:
    """Of the first three values of a column under ``order``, over many keys."""
    database = connect()
    keys = np.random.default_rng(table.num_rows).integers(0, 1 << 64, KEYS, dtype=np.uint64)
    database.register("keys", pa.table({"key": keys}))
    database.register("held", table)
    counts = database.execute(f"""
        SELECT count(*) FROM (SELECT list({column} ORDER BY {order})[:3] AS first FROM held, keys GROUP BY key)
        GROUP BY first
    """).fetchall()
    return p_value([count for (count,) in counts], perm(table.num_rows, 3))


@pytest.mark.statistical
@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_every_order_is_equally_likely(rows: list[int]) -> None:
    assert p_of_order(rows, number_of_place("user_id, place", "key")) > MIN_P


@pytest.mark.statistical
@pytest.mark.parametrize("naive", ["xor(hash(user_id, place), key)", "hash(user_id, place, key)"])
@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_the_test_sees_an_unfair_order(rows: list[int], naive: str) -> None:
    assert p_of_order(rows, naive) < MIN_P


@pytest.mark.statistical
def test_sample_is_fair() -> None:
    users = np.repeat(["a", "b", "c"], [3, 5, 7])
    log = log_of_table(pa.table({"user": users, "query": [f"q{i:02}" for i in range(15)]}))
    keys = np.random.default_rng(8).integers(0, 1 << 64, 1000, dtype=np.uint64).tolist()
    ones = np.array([log.sample(1, key).ravel() for key in keys])
    pairs = np.array([log.sample(2, key) for key in keys])
    fours = np.array([log.sample(4, key) for key in keys])
    for user, (start, records) in enumerate([(0, 3), (3, 5), (8, 7)]):
        for ids, cells in ((ones[:, user], records), (fours[:, user, 3], records)):
            assert set(ids) == set(range(start, start + records))
            assert p_value(np.unique(ids, return_counts=True)[1].tolist(), cells) > MIN_P
        orders = np.unique(pairs[:, user], axis=0, return_counts=True)[1]
        assert p_value(orders.tolist(), perm(records, 2)) > MIN_P


@pytest.mark.statistical
@pytest.mark.parametrize("names", [["a", "b", "c", "d", "e"], ["1", "2", "10", "11", "100"], ["", " ", "u" * 100, "é"]])
def test_everybody_is_as_likely_to_come_first(names: list[str]) -> None:
    assert p_of_firsts(pa.table({"name": names}), "name", number_of_place("name", "key")) > MIN_P


@pytest.mark.statistical
def test_a_share_of_the_people_is_exact_and_uniform(tmp_path: Path) -> None:
    names = [f"u{i:02}" for i in range(20)]
    pq.write_table(pa.table({"user": names * 2, "query": names * 2}), tmp_path / "log.parquet")
    opting = Counter[str]()
    for key in range(80):
        people = LogPeople.of(open_log(tmp_path / "log.parquet"), Parameters(opt_in_records="many"), 0.1, KnownKey(key))
        assert people.sizes.opt_in == 2
        who = np.concatenate([people.groups.head_list, people.groups.estimate])
        opting.update(query for query, _ in people.texts(people.drawn.records[who, 0]))
    assert p_value(list(opting.values()), len(names)) > MIN_P


@pytest.mark.parametrize("per_user", [1, 3])
def test_what_a_person_contributes_depends_on_their_own_records_alone(per_user: int) -> None:
    """Change, add or remove records of one person: everybody else contributes the same under the same key."""
    generator = np.random.default_rng(4)
    users = generator.integers(0, 50, 600)
    queries = generator.integers(0, 30, 600)

    def contributed(first: list[int]) -> list[list[tuple[str, str | None]]]:
        others = users != 0
        who = [0] * len(first) + users[others].tolist()
        what = first + queries[others].tolist()
        log = log_of_table(pa.table({"user": [f"{u:02}" for u in who], "query": [f"q{q:02}" for q in what]}))
        return [log.texts(row) for row in log.sample(per_user, key=99)]

    one, other = contributed([1]), contributed([40, 41, 42, 43, 44])
    assert one[0] != other[0]
    assert one[1:] == other[1:]
