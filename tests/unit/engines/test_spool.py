"""Spooled reports: counted at most once, whatever the order of rows and files, and only if they are possible."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.client import make_report, make_reports
from blendp.engines import spool
from blendp.engines.spool import (
    REASONS,
    SCHEMA,
    CountedReports,
    count_reports,
    spool_of_cells,
    spool_of_reports,
    spool_of_subsets,
    write_spool,
)
from blendp.errors import LogError, OutputExistsError, ParameterError
from blendp.estimate import client_estimate, split_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.reports import QUESTIONS, ListQuestions, Report, subset_randomisers
from tests.support import KnownKey

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "*")])
FORM = ListQuestions(LIST, 0.5)
Row = tuple[bytes | None, str | None, str | None, Sequence[int | None] | None]

_IDS = [bytes([i]) * 16 for i in range(5)] + [bytes(15) + b"\x01", b"\xff" * 16]


def subsets(question: str) -> st.SearchStrategy[list[int]]:
    size, items = FORM.questions[question].size, FORM.questions[question].items
    return st.sets(st.integers(0, items - 1), min_size=size, max_size=size).map(sorted)


def rows_about(question: str) -> st.SearchStrategy[Row]:
    return st.tuples(st.sampled_from(_IDS), st.just(LIST.sha256), st.just(question), subsets(question))


GOOD = st.one_of(*(rows_about(question) for question in QUESTIONS))
ANY: st.SearchStrategy[Row] = st.tuples(
    st.sampled_from([*_IDS, None, b"", b"short", bytes(17)]),
    st.sampled_from([LIST.sha256] * 6 + [LIST.sha256.upper(), "0" * 64, "", None]),
    st.sampled_from([*QUESTIONS * 3, "Query", "query ", "", "wörter", None]),
    st.none()
    | st.lists(st.sampled_from([*range(-1, 9), None, -(2**31), 2**31 - 1]), max_size=5)
    | st.one_of(*(subsets(question) for question in QUESTIONS)),
)
ROWS = st.lists(GOOD | ANY, max_size=40)


def spool_files(rows: Sequence[Row], cuts: Sequence[int], folder: Path) -> list[Path]:
    """The rows, in files that end at the cuts."""
    ends = sorted({min(cut, len(rows)) for cut in cuts} | {len(rows)})
    files: list[Path] = []
    for start, end in zip([0, *ends], ends, strict=False):
        files.append(folder / f"{len(files)}.parquet")
        columns = [[row[column] for row in rows[start:end]] for column in range(4)]
        pq.write_table(pa.table(columns, schema=SCHEMA), files[-1])
    return files


def reason(row: Row) -> str | None:
    report_id, name, question, items = row
    if report_id is None or len(report_id) != 16:
        return REASONS[0]
    if name != LIST.sha256:
        return REASONS[1]
    if question not in QUESTIONS:
        return REASONS[2]
    possible = items is not None and len(items) == FORM.questions[question].size and None not in items
    known = set(range(FORM.questions[question].items))
    return None if possible and items == sorted(set(items) & known) else REASONS[3]  # type: ignore[arg-type,type-var]


def reference(rows: Sequence[Row]) -> dict[str, Any]:
    """The rule, one row at a time."""
    different: dict[bytes, set[tuple[str, tuple[int, ...]]]] = defaultdict(set)
    refused = Counter(why for why in map(reason, rows) if why)
    for row in rows:
        if reason(row) is None:
            different[row[0]].add((row[2], tuple(row[3])))  # type: ignore[index,arg-type]
    kept = [min(reports_of_id) for reports_of_id in different.values()]
    supports = {name: [0] * FORM.questions[name].items for name in QUESTIONS}
    for question, items in kept:
        for item in items:
            supports[question][item] += 1
    reports = {name: sum(question == name for question, _ in kept) for name in QUESTIONS}
    return {
        "rows": len(rows),
        "counted": len(kept),
        "duplicates": len(rows) - len(kept) - refused.total(),
        "conflicts": sum(len(reports_of_id) > 1 for reports_of_id in different.values()),
        "refused": dict(refused),
        "reports": reports,
        "supports": {name: sums for name, sums in supports.items() if reports[name]},
    }


@settings(max_examples=80)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=2), data=st.data())
def test_each_possible_report_counts_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], cuts: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    counted = count_reports(spool_files(rows, cuts, folder), FORM)
    assert counted.to_dict() == reference(rows)
    shuffled = data.draw(st.permutations(rows))
    with pytest.MonkeyPatch.context() as forged:  # few marks, in several parts: ids that differ share them
        forged.setattr(spool, "_MARK", "hash(report_id) % 3")
        forged.setattr(spool, "_MARKS_IN_MEMORY", 8)
        assert count_reports(spool_files(shuffled, [], folder), FORM).to_dict() == counted.to_dict()


def every_short_list() -> list[Row]:
    """Every list of up to four items at and beyond both ends of the domain, about every question, each with its id."""
    edges = [None, -(2**31), -1, 0, 1, 3, 4, 7, 8, 2**31 - 1]
    lists = [None, *(list(items) for length in range(5) for items in product(edges, repeat=length))]
    asked = list(product(QUESTIONS, lists))
    return [(number.to_bytes(16, "big"), LIST.sha256, *asked[number]) for number in range(len(asked))]


def test_a_report_is_possible_or_refused_whatever_its_items(tmp_path: Path) -> None:
    rows = every_short_list()
    counted = count_reports(spool_files(rows, [], tmp_path), FORM)
    assert counted.to_dict() == reference(rows)
    assert counted.reports == {name: comb(5 if name != "query" else 3, FORM.questions[name].size) for name in QUESTIONS}


def test_a_refused_row_shadows_no_report(tmp_path: Path) -> None:
    good: Row = (_IDS[0], LIST.sha256, "record", [0, 3, 5])
    bad: list[Row] = [
        (_IDS[0], "0" * 64, "cell", [0]),
        (_IDS[0], LIST.sha256, "a", [0]),
        (_IDS[0], LIST.sha256, "cell", [8]),
        (_IDS[0], LIST.sha256, "query", [0, 0]),
    ]
    counted = count_reports(spool_files([*bad, good, *bad, good], [3], tmp_path), FORM)
    assert counted.counted == counted.duplicates == 1
    assert counted.conflicts == 0
    assert counted.refused == {"other list": 2, "unknown question": 2, "impossible report": 4}
    assert counted.supports["record"].tolist() == [1, 0, 0, 1, 0, 1, 0, 0]
    assert str(counted) == (
        "10 rows, 1 report counted, 1 duplicate\n8 refused: impossible report 4, other list 2, unknown question 2"
    )


def test_of_different_reports_with_one_id_the_smallest_counts(tmp_path: Path) -> None:
    rows: list[Row] = [(_IDS[1], LIST.sha256, "record", list(items)) for items in ([1, 2, 7], [0, 6, 7], [0, 5, 6])]
    counted = count_reports(spool_files(rows, [1, 2], tmp_path), FORM)
    assert (counted.counted, counted.duplicates, counted.conflicts) == (1, 2, 1)
    assert np.flatnonzero(counted.supports["record"]).tolist() == [0, 5, 6]
    rows.append((_IDS[1], LIST.sha256, "query", [2, 3][: FORM.questions["query"].size]))
    first = count_reports(spool_files(rows, [], tmp_path), FORM)
    assert first.reports == {"query": 1, "record": 0, "cell": 0}


def drawn_ids(count: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, 16), dtype=np.uint8)


@pytest.mark.statistical
def test_replayed_reports_of_many_clients_estimate_the_truth(tmp_path: Path) -> None:
    """20 000 clients, every report sent at least twice: estimates are as good as those of their reports sent once."""
    people, form = 20_000, ListQuestions(LIST, 2.0)
    queries, records = subset_randomisers(2.0, LIST)
    truth = np.array([0.3, 0.1, 0.05, 0.2, 0.05, 0.1, 0.05, 0.15])
    generator, random = np.random.default_rng(5), KnownKey(6)
    own_items = generator.choice(8, people, p=truth)
    of_query = random.coins(1 << 51, people)
    released = {
        "query": queries.release(LIST.query_of_cell[own_items[of_query]], random),
        "record": records.release(own_items[~of_query], random),
    }
    ids = drawn_ids(people)
    tables = [
        spool_of_subsets(own, question, subsets, LIST)
        for (question, subsets), own in zip(released.items(), (ids[of_query], ids[~of_query]), strict=True)
    ]
    sent = pa.concat_tables(tables)
    replayed = pa.concat_tables([sent, sent.take(generator.integers(0, people, 7_000))])
    write_spool(tmp_path / "1.parquet", sent)
    write_spool(tmp_path / "2.parquet", replayed.take(generator.permutation(len(replayed))))
    counted = count_reports([tmp_path / "1.parquet", tmp_path / "2.parquet"], form)
    assert (counted.rows, counted.duplicates, counted.conflicts) == (47_000, 27_000, 0)
    for question, subsets in released.items():
        assert counted.reports[question] == len(subsets)
        assert (counted.supports[question] == subsets.sum(axis=0)).all()
    estimate = split_estimate(counted.split())
    z = (estimate.cells.probability - truth) / np.sqrt(estimate.cells.variance)
    assert np.abs(z).max() < 4
    assert 0.3 < np.mean(z**2) < 2.5
    doubled = estimate.cells.variance / 2
    assert np.mean((estimate.cells.probability - truth) ** 2 / doubled) > np.mean(z**2)


@pytest.mark.statistical
def test_cells_of_the_published_method(tmp_path: Path) -> None:
    people, budget = 20_000, Budget(2.0, 1e-6)
    truth = np.array([0.3, 0.1, 0.05, 0.2, 0.05, 0.1, 0.05, 0.15])
    randomiser = TwoStage(budget, LIST.cells_per_query)
    cells = randomiser.release(np.random.default_rng(8).choice(8, people, p=truth), KnownKey(7))
    table = spool_of_cells(drawn_ids(people), cells, LIST)
    write_spool(tmp_path / "once.parquet", table)
    write_spool(tmp_path / "again.parquet", table)
    counted = count_reports(sorted(tmp_path.iterdir()), ListQuestions(LIST, 2.0))
    assert (counted.supports["cell"] == np.bincount(cells, minlength=8)).all()
    assert counted.by_cell
    estimate = client_estimate(counted.tally(), randomiser)
    z = (estimate.cells.probability - truth) / np.sqrt(estimate.cells.variance)
    assert np.abs(z).max() < 4
    with pytest.raises(LogError, match="not of the blendp method"):
        counted.split()


def test_reports_as_devices_send_them(tmp_path: Path) -> None:
    random = KnownKey(3)
    sent = [make_report([("a", "2")], LIST, 0.5, 0.5, random) for _ in range(40)]
    pairs = [(bytes(identity), report) for identity, report in zip(drawn_ids(40), sent, strict=True)]
    write_spool(tmp_path / "spool.parquet", spool_of_reports(pairs, FORM))
    counted = count_reports([tmp_path / "spool.parquet"], FORM)
    expected = {name: np.zeros(FORM.questions[name].items, dtype=np.int64) for name in ("query", "record")}
    for report in sent:
        (items,) = FORM.questions[report.question].decode(report.data)
        np.add.at(expected[report.question], list(items), 1)
    for name, supports in expected.items():
        assert (counted.supports[name] == supports).all()
    (cell,) = make_reports([("a", "2")], LIST, Budget(1.0, 1e-6), random)
    assert spool_of_reports([(bytes(16), cell)], FORM).to_pylist()[0]["items"] == [int.from_bytes(cell.data)]
    assert spool_of_reports([], FORM).num_rows == 0


def test_both_methods_about_one_list_are_refused(tmp_path: Path) -> None:
    rows: list[Row] = [(_IDS[0], LIST.sha256, "cell", [1]), (_IDS[1], LIST.sha256, "record", [0, 3, 5])]
    counted = count_reports(spool_files(rows, [], tmp_path), FORM)
    for convert in (counted.split, counted.tally):
        with pytest.raises(LogError, match=r"1 report of the published method \(cell\) and 1 of the blendp"):
            convert()
    of_blendp = count_reports(spool_files(rows[1:], [], tmp_path), FORM)
    with pytest.raises(LogError, match="not of the published method"):
        of_blendp.tally()
    assert of_blendp.split().users == 1


def test_nothing_was_sent(tmp_path: Path) -> None:
    counted = count_reports(spool_files([], [], tmp_path), FORM)
    assert (counted.rows, counted.counted) == (0, 0)
    assert counted.split().users == counted.tally().users == 0
    empty = HeadList((), 2)
    only = count_reports(
        spool_files([(_IDS[0], empty.sha256, "record", [0]), (_IDS[0], empty.sha256, "record", [1])], [], tmp_path),
        ListQuestions(empty, 1.0),
    )
    assert only.reports["record"] == 1
    assert only.refused == {"impossible report": 1}


def test_other_columns_their_order_and_odd_names_do_not_matter(tmp_path: Path) -> None:
    rows: list[Row] = [(bytes([i]) * 16, LIST.sha256, "cell", [i % 8]) for i in range(20)]
    (plain,) = spool_files(rows, [], tmp_path)
    folder = tmp_path / "question=cell"
    folder.mkdir()
    table = pq.read_table(plain)
    fixed = table.set_column(0, "report_id", table["report_id"].cast(pa.binary(16)))
    more = fixed.append_column("received", pa.array(range(20))).select([4, 3, 2, 1, 0])
    pq.write_table(more, folder / "odd [1]*?'.parquet")
    pq.write_table(table.slice(0, 3), folder / "odd 1xx'.parquet")
    expected = count_reports([plain], FORM).to_dict()
    assert count_reports([folder / "odd [1]*?'.parquet"], FORM).to_dict() == expected
    both = count_reports([plain, folder / "odd [1]*?'.parquet"], FORM)
    assert (both.counted, both.duplicates) == (20, 20)


def test_files_that_are_no_spool_are_told_in_one_sentence(tmp_path: Path) -> None:
    (good,) = spool_files([(_IDS[0], LIST.sha256, "cell", [1])], [], tmp_path)
    table = pq.read_table(good)
    lacking, wide, text, numbers, page = (tmp_path / f"{name}.parquet" for name in ("lack", "wide", "id", "no", "page"))
    pq.write_table(table.drop_columns(["items"]), lacking)
    pq.write_table(table.set_column(3, "items", table["items"].cast(pa.list_(pa.int64()))), wide)
    pq.write_table(table.set_column(0, "report_id", pa.array(["x" * 16])), text)
    numbers.write_text("no Parquet")
    whole = good.read_bytes()
    page.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    (tmp_path / "zero.parquet").touch()
    for path, says in [
        (lacking, "has no column 'items': a spool has report_id"),
        (wide, r"The column 'items' of .* holds BIGINT\[\]: a spool has INTEGER\[\] there"),
        (text, "The column 'report_id' of .* holds VARCHAR"),
        (numbers, "is no readable Parquet file"),
        (page, "Reading the spool failed"),
        (tmp_path / "zero.parquet", "is no readable Parquet file"),
        (tmp_path / "nowhere.parquet", "does not exist"),
        (tmp_path, "does not exist"),
    ]:
        with pytest.raises(LogError, match=says) as caught:
            count_reports([good, path], FORM)
        assert "\n" not in str(caught.value)
    with pytest.raises(LogError, match="no files"):
        count_reports([], FORM)
    with pytest.raises(ParameterError, match="memory_limit"):
        count_reports([good], FORM, memory_limit="4")


def test_what_cannot_be_spooled_is_refused(tmp_path: Path) -> None:
    ids = drawn_ids(2)
    with pytest.raises(ParameterError, match="report_ids"):
        spool_of_cells(ids[:1], np.array([1, 2]), LIST)
    with pytest.raises(ParameterError, match="question"):
        spool_of_subsets(ids, "cell", np.zeros((2, 8), dtype=bool), LIST)
    with pytest.raises(ParameterError, match="subsets"):
        spool_of_subsets(ids, "query", np.zeros((2, 8), dtype=bool), LIST)
    with pytest.raises(ParameterError, match="list_sha256"):
        spool_of_reports([(bytes(16), Report("0" * 64, "cell", b"\1"))], FORM)
    with pytest.raises(ParameterError, match="report_id"):
        spool_of_reports([(bytes(15), Report(LIST.sha256, "cell", b"\1"))], FORM)
    with pytest.raises(ParameterError, match="report = "):
        spool_of_reports([(bytes(16), Report(LIST.sha256, "record", b"too long"))], FORM)
    with pytest.raises(ParameterError, match="question"):
        spool_of_reports([(bytes(16), Report(LIST.sha256, "both", b"\x00"))], FORM)
    with pytest.raises(ParameterError, match="reports"):
        write_spool(tmp_path / "a.parquet", pa.table({"a": [1]}))
    write_spool(tmp_path / "a.parquet", spool_of_cells(ids, np.array([1, 2]), LIST))
    with pytest.raises(OutputExistsError):
        write_spool(tmp_path / "a.parquet", spool_of_cells(ids, np.array([1, 2]), LIST))
    with pytest.raises(ParameterError, match="epsilon"):
        ListQuestions(LIST, 0.0)


def test_sums_that_no_reports_have_are_refused() -> None:
    supports = {name: np.zeros(FORM.questions[name].items, dtype=np.int64) for name in QUESTIONS}
    none = dict.fromkeys(QUESTIONS, 0)
    CountedReports(FORM, 0, 0, 0, {}, none, supports)
    with pytest.raises(LogError, match="do not add up"):
        CountedReports(FORM, 1, 0, 0, {}, none, supports)
    with pytest.raises(ParameterError, match="supports"):
        CountedReports(FORM, 1, 0, 0, {}, {**none, "cell": 1}, supports)


def test_replays_of_a_long_list_in_little_memory(tmp_path: Path) -> None:
    long = HeadList.of_records([(f"{i:04}", None) for i in range(1_000)], 1)
    form, people = ListQuestions(long, 4.0), 100_000
    subsets = subset_randomisers(4.0, long)[1].release(np.arange(people) % 1_001, KnownKey(1))
    table = spool_of_subsets(drawn_ids(people), "record", subsets, long)
    for name in range(4):
        write_spool(tmp_path / f"{name}.parquet", table)
    counted = count_reports(sorted(tmp_path.iterdir()), form, memory_limit="256MB")
    assert (counted.counted, counted.duplicates) == (people, 3 * people)
    assert (counted.supports["record"] == subsets.sum(axis=0)).all()
