"""The benchmark of local search: it runs small, and its table and picture hold what was measured."""

from pathlib import Path

import pytest

from benchmarks.search_value import EPSILONS, QUICK, Measured, draw, measure


@pytest.fixture(scope="module")
def measured() -> Measured:
    return measure(QUICK[0], repeat=2, seed=1)


def test_the_tables_hold_what_was_measured(measured: Measured, tmp_path: Path) -> None:
    text = measured.markdown()
    for epsilon, value in measured.released.items():
        row = value.rows[-1]
        assert f"| {epsilon:g} | {row.records:.1f} | {100 * row.released.answered.value:.2f} ± " in text
    assert "**AOL-like**: 10 000 people with 3 records each on average" in text
    assert max(map(len, text.splitlines())) < 200
    draw([measured], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_longer_lists_and_larger_epsilons_answer_more(measured: Measured) -> None:
    exact = [figures.answered.value for figures in measured.exact.values()]
    assert exact == sorted(exact)
    records = [measured.released[epsilon].rows[-1].records for epsilon in EPSILONS]
    assert records == sorted(records, reverse=True)


def test_exact_lists_are_searched_by_the_people_whom_the_method_did_not_ask(measured: Measured) -> None:
    rows = [row for value in measured.released.values() for row in value.rows[:-1]]
    assert rows
    for row in rows:
        assert row.exact.answered.value == measured.exact[int(row.records)].answered.value
