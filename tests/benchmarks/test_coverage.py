"""The benchmark of coverage: it runs small, tells the kinds of cells apart, and knows real people of a CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import KINDS, Measured, Run, Setting, main, one_run
from benchmarks.real_people import RealPeople
from blendp.randomness import SimulationRandom

SETTING = Setting("some", 4_000, 0.5, "one", 4.0, 1e-5, 0, 1)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Query a has one URL; b has one and a rest of rare ones; c has rare ones alone; one person's query is rare."""
    path = tmp_path_factory.mktemp("rows") / "people.csv"
    records = [("a", "x")] * 40 + [("b", "x")] * 30 + [("b", f"rare{i}") for i in range(6)]
    records += [("c", f"rare{i}") for i in range(23)] + [("own", "x")]
    lines = "".join(f"{user},{query},{url}\n" for user, (query, url) in enumerate(records))
    path.write_text(f"user,query,url\n{lines}")
    return path


def test_rare_records_stay_with_their_query_and_are_not_copied(rows: Path) -> None:
    drawn = RealPeople.read(rows).draw(4_000, 0.5, SimulationRandom(3))
    law, holders = drawn.law, np.bincount(drawn.holdings.record, minlength=drawn.law.log.distinct_records)
    truth, texts = law.truth, law.texts(np.arange(law.log.distinct_records))
    common = {text: i for i, text in enumerate(texts) if text in {("a", "x"), ("b", "x")}}
    assert truth.record[list(common.values())] == pytest.approx([0.4, 0.3])
    assert sorted(set(range(len(texts))) - set(np.flatnonzero(holders <= 1).tolist())) == sorted(common.values())
    assert truth.query[:3] == pytest.approx([0.4, 0.36, 0.23])
    assert truth.query[3:].max() == 0
    people = {query: sum(holders[i] for i, text in enumerate(texts) if text[0] == query) for query in "abc"}
    assert list(people.values()) == pytest.approx([800, 720, 460], abs=90)
    assert len(set(texts)) == len(texts)
    assert (np.diff(truth.query_id) >= 0).all()


def test_every_kind_of_cell_is_counted_where_it_belongs(rows: Path) -> None:
    run = one_run(RealPeople.read(rows).draw(4_000, 0.5, SimulationRandom(3)), SETTING, SimulationRandom(4))
    assert dict(zip(KINDS, run.stated, strict=True)) == {
        "records": 2,
        "queries": 3,
        "<q,*> > 0": 1,
        "<q,*> = 0": 1,
        "<q,*> alone": 1,
        "<*,*>": 1,
    }
    assert run.errors[0] < 0.1
    assert abs(run.errors[2]) <= run.errors[1] < 0.1


def test_coverage_weighs_intervals_and_its_error_is_by_run() -> None:
    counts = [(10, 9), (30, 30), (20, 15), (20, 20)]
    runs = tuple(Run((stated,) * 6, (holding,) * 6, (0.1, 0.2, 0.3)) for stated, holding in counts)
    share, error = Measured(SETTING, runs).coverage(0)
    assert share == pytest.approx(100 * 74 / 80)
    residuals = [100 * holding - share * stated for stated, holding in counts]
    assert error == pytest.approx(np.std(residuals, ddof=1) / np.sqrt(4) / 20)


def test_it_runs_stores_and_pairs(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = str(tmp_path / "stored.json")
    small = ["--quick", "--pages", str(rows), "--like", "aol", "--users", "6000", "--opt-in", "0.4", "--epsilon", "4"]
    main([*small, "--store", stored])
    text = capsys.readouterr().out
    assert "40 % opt in, δ 1e-05, M all, 2 runs from seed 3200" in text
    assert [line.split(" | ")[:3] for line in text.splitlines()[5:]] == [
        ["| people, 6,000 people", "one", "4"],
        ["| people, 6,000 people", "many", "4"],
        ["| aol, mean 12, 6,000 people", "one", "4"],
        ["| aol, mean 12, 6,000 people", "many", "4"],
    ]
    main([*small, "--ways", "one", "--against", stored])
    assert all(line.count("1.000 |") >= 1 for line in capsys.readouterr().out.splitlines()[5:])
