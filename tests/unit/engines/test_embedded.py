"""The verbs of a log: sample, texts, locate, truth."""

from __future__ import annotations

import gc
import gzip
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.engines import EmbeddedLog, Truth
from blendp.engines.choice import MAX_PER_USER
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.logs import log_of_table, open_log, read_log

Row = tuple[str, str, str]


def log_of(rows: list[Row], **options: Any) -> EmbeddedLog:
    user, query, url = ([row[i] for row in rows] for i in range(3))
    return log_of_table(pa.table({"user": user, "query": query, "url": url}), **options)


def records(log: EmbeddedLog) -> list[tuple[str, str | None]]:
    return log.texts(np.arange(log.distinct_records))


TEXT = st.text(st.sampled_from("ab*é\uffff\U0001f600"), min_size=1, max_size=2)
ROWS = st.lists(st.tuples(st.sampled_from("uvwxyz"), TEXT, TEXT), min_size=1, max_size=30)


def test_who_has_one_record_contributes_it_whatever_the_key() -> None:
    log = log_of([("u", "b", "x"), ("v", "", "x"), ("w", "a", "x")], max_broken=0.5)
    assert log._only is not None
    for per_user, key in ((1, 1), (1, 2), (3, 3)):
        sample = log.sample(per_user, key)
        assert sample.tolist() == [[record] * per_user for record in log._only.tolist()]
        sample[:] = 7  # the caller's own
    assert log._only.max() < 7
    for rows in ([("u", "a", "x")] * 2, [("u", "a", "x"), ("u", "b", "x"), ("v", "", "x")]):
        assert log_of(rows, max_broken=0.5)._only is None


@given(rows=ROWS)
@settings(max_examples=30)
def test_against_plain_python(rows: list[Row]) -> None:
    log = log_of(rows, normalise="none")
    users = sorted({user for user, _, _ in rows})
    own = {user: [(query, url) for who, query, url in rows if who == user] for user in users}
    distinct = sorted({(query, url) for _, query, url in rows})
    assert records(log) == distinct
    assert (log.users, log.distinct_records, log.levels) == (len(users), len(distinct), 2)

    for per_user in (1, 2, 5):
        for user, ids in zip(users, log.sample(per_user, key=9).tolist(), strict=True):
            taken = Counter(log.texts(ids))
            rounds, more = divmod(per_user, len(own[user]))
            assert sum(taken.values()) == per_user
            for record, times in Counter(own[user]).items():
                assert rounds * times <= taken[record] <= rounds * times + min(more, times)

    truth = log.truth()
    expected = [np.mean([own[user].count(record) / len(own[user]) for user in users]) for record in distinct]
    np.testing.assert_allclose(truth.record, expected, rtol=1e-12)
    queries = sorted({query for query, _ in distinct})
    assert [queries[i] for i in truth.query_id] == [query for query, _ in distinct]
    np.testing.assert_allclose(truth.query, np.bincount(truth.query_id, expected), rtol=1e-12)

    for listed in (distinct[::2], distinct[:1], [], [("nowhere", "*")]):
        head_list = HeadList.of_records(listed)
        located = log.locate(head_list)
        assert located.tolist() == [head_list.cell_of(*record) for record in distinct] + [head_list.cells - 1]


def test_order_of_rows_does_not_matter_for_numbers() -> None:
    rows = [("b", "q2", "u"), ("a", "q1", "v"), ("a", "q1", "u"), ("c", "q2", "u")]
    one, other = log_of(rows), log_of(rows[::-1])
    assert records(one) == records(other) == [("q1", "u"), ("q1", "v"), ("q2", "u")]
    np.testing.assert_array_equal(one.truth().record, other.truth().record)


def test_locate_in_one_level() -> None:
    log = log_of_table(pa.table({"user": ["a", "b", "c"], "query": ["*", "q", "r"]}))
    head_list = HeadList.of_records([("q", None), ("s", None)], levels=1)
    assert log.locate(head_list).tolist() == [2, 0, 2, 2]
    assert log.locate(HeadList.of_records([("q", "u")])).tolist() == [2, 1, 2, 2]
    again = log.locate(HeadList.of_records([("q", "u")]))
    assert again is log.locate(HeadList.of_records([("q", "u")])), "an equal list is not looked up again"
    assert not again.flags.writeable


def test_wildcard_cannot_be_forged() -> None:
    log = log_of([("a", "*", "*"), ("b", "q", "*"), ("c", "q", "u")])
    head_list = HeadList.of_records([("q", "u")])
    assert log.locate(head_list).tolist() == [2, 1, 0, 2]
    head_list = HeadList.of_records([("*", "*"), ("q", "u")])
    assert [head_list.labels[cell] for cell in log.locate(head_list)] == [
        ("*", "*"),
        ("q", None),
        ("q", "u"),
        (None, None),
    ]


def test_users_without_record_hold_the_wildcard() -> None:
    log = log_of([("a", "", "u"), ("b", "q", "u"), ("c", "q", ""), ("d", "q", "v")], max_broken=1)
    for per_user in (1, 3):
        ids = log.sample(per_user, key=5)
        assert ids.tolist() == [[-1] * per_user, [0] * per_user, [-1] * per_user, [1] * per_user]
    assert log.locate(HeadList.of_records([("q", "v")]))[log.sample(1, 5)].tolist() == [[2], [1], [2], [0]]
    assert log.truth().record.tolist() == [0.25, 0.25]
    assert log.truth().query.tolist() == [0.5]


def test_a_log_of_users_without_records() -> None:
    log = log_of([("a", "", "u"), ("b", "q", "")], max_broken=1)
    assert (log.users, log.distinct_records) == (2, 0)
    assert log.sample(1, 0).tolist() == [[-1], [-1]]
    assert log.sample(2, 0).tolist() == [[-1, -1], [-1, -1]]
    assert log.locate(HeadList.of_records([("q", "v")])).tolist() == [2]
    truth = log.truth()
    assert (len(truth.record), len(truth.query_id), len(truth.query), len(truth.head(5))) == (0, 0, 0, 0)
    assert log.texts(np.array([], dtype=np.int64)) == []


def test_sample_repeats_in_turn() -> None:
    log = log_of([("a", f"q{i}", "u") for i in range(3)])
    for key in range(20):
        first = log.sample(3, key)[0]
        assert sorted(first.tolist()) == [0, 1, 2]
        assert log.sample(8, key)[0].tolist() == [*first, *first, *first[:2]]
        assert log.sample(1, key)[0, 0] == first[0]


def test_texts_in_the_order_asked() -> None:
    log = log_of([("a", "q", "u"), ("a", "p", "v")])
    assert log.texts(np.array([1, 0, 1])) == [("q", "u"), ("p", "v"), ("q", "u")]
    for ids in ([-1], [2]):
        with pytest.raises(ParameterError, match="ids"):
            log.texts(np.array(ids))


@pytest.mark.parametrize(
    ("per_user", "key"), [(0, 1), (1.5, 1), (MAX_PER_USER + 1, 1), (1, -1), (1, 1 << 64), (1, "x")]
)
def test_sample_parameters(per_user: Any, key: Any) -> None:
    with pytest.raises(ParameterError):
        log_of([("a", "q", "u")]).sample(per_user, key)


def test_largest_key() -> None:
    assert log_of([("a", "q", "u")]).sample(MAX_PER_USER, (1 << 64) - 1).max() == 0


def test_head_breaks_ties_by_id() -> None:
    third = 1 / 2 + 1 / 3 + 1 / 6
    assert third != 1
    truth = Truth(np.array([0.1, third, 1.0, 1.5, 0.1]), np.arange(5), np.ones(5))
    assert truth.head(5).tolist() == [3, 1, 2, 0, 4]
    assert truth.head(2).tolist() == [3, 1]
    assert truth.head(0).tolist() == []
    assert len(truth.head(9)) == 5
    with pytest.raises(ParameterError):
        truth.head(-1)


def test_same_files_and_key_give_the_same_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    for number in range(3):
        rows = [
            f"u{user},query {query},http://a.com/{url}\n"
            for user, query, url in random.integers(0, [400, 90, 3], (4000, 3))
        ]
        (tmp_path / f"{number}.csv.gz").write_bytes(gzip.compress(("user,query,url\n" + "".join(rows)).encode()))
    logs = [read_log(tmp_path) for _ in range(3)]
    for log in logs:
        assert (log.users, log.quality.rows) == (400, 12000)
        for per_user in (1, 7):
            np.testing.assert_array_equal(log.sample(per_user, 11), logs[0].sample(per_user, 11))
        assert log.truth().record.tobytes() == logs[0].truth().record.tobytes()
    assert (logs[0].sample(1, 11) != logs[0].sample(1, 12)).mean() > 0.8


def test_a_log_is_freed() -> None:
    log = log_of([("a", "q", "u")])
    log.sample(2, 1)
    gone = weakref.ref(log)
    del log
    gc.collect()
    assert gone() is None


def test_labels_that_no_record_can_have_are_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,url\nu1,a,x\nu2,a,y\nu3,b,x\n")
    head_list = HeadList.of_records([("a", "x"), ("a", ""), ("a", "x\0y"), ("b\0", "x")])
    cells = open_log(path).draw(1, 5).cells(head_list)
    assert sorted(cells.ravel().tolist()) == sorted(
        head_list.cell_of(*label) for label in (("a", "x"), ("a", None), (None, None))
    )
    assert (open_log(path).draw(1, 5).cells(HeadList.of_records([])) == 0).all()
