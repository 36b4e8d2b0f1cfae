"""The benchmark of many records: it runs small, pairs runs, stores what it measured, and knows real people."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.many_records import Compared, Figures, Setting, main, mean, ratio, shown
from benchmarks.real_people import RealPeople
from blendp.randomness import SimulationRandom

SMALL = ("--users", "6000", "--opt-in", "0.4", "--runs", "2", "--size", "8", "--epsilon", "4", "--mean", "6")


def test_it_runs_and_pairs_with_what_was_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = tmp_path / "stored.json"
    for more in ((), ("--plain",)):
        main([*SMALL, *more, "--store", str(stored)])
    compared = [Compared.of_dict(one) for one in json.loads(stored.read_text())]
    assert [one.setting.habits for one in compared] == [True, False]
    assert all(list(one.ways) == ["1 record", "many", "auto"] for one in compared)
    assert all(len(runs) == 2 for one in compared for runs in one.ways.values())
    capsys.readouterr()
    main([*SMALL, "--ways", "1 record", "--against", str(stored), "--store", str(stored)])
    text = capsys.readouterr().out
    assert "aol, 6,000 people, 40 % opt in, habits, mean 6, ε 4, δ 1e-05, M 8 records, 2 runs from seed 1900:" in text
    assert "| 1 record / 1 record, stored | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in text
    assert "| 1 record / best stored |" in text
    assert compared[0].markdown().count("| auto / better of both |") == 1
    assert [Compared.of_dict(one) for one in json.loads(stored.read_text())] == compared
    main(["--show", str(stored)])
    assert capsys.readouterr().out == "\n".join(one.markdown() for one in compared) + "\n"


def test_ratios_are_paired() -> None:
    theirs = np.array([1.0, 2.0, 4.0])
    assert ratio(2 * theirs, theirs) == pytest.approx((2, 0))
    assert ratio(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == pytest.approx((1, 0.5))
    assert ratio(np.array([1.0, math.nan, 3.0]), np.array([2.0, 5.0, 2.0])) == pytest.approx((1, 0.5))
    assert mean(np.array([1.0, math.nan, 3.0])) == pytest.approx((2, 1))
    assert [shown(value) for value in ((1.2345, 0.0123), (93.4, 1.5), (math.nan, math.nan), (1.0, 0.0))] == [
        "1.234 ± 0.012",
        "93.4 ± 1.5",
        "",
        "1.000",
    ]


def test_the_best_is_the_longest_list_and_the_smallest_error() -> None:
    ways = {
        name: tuple(Figures(passed + run, passed, l1, l1, 0.1, 0.9, math.nan) for run in range(2))
        for name, passed, l1 in (("a", 10, 0.1), ("b", 20, 0.2), ("c", 40, 0.05))
    }
    compared = Compared(Setting("aol", 10, 0.5, 2.0, True, 4.0, 1e-5, 5, 2, 0), ways)
    assert compared.against("c", ["a", "b"], "passed")[0] == pytest.approx(40.5 / 20.5)
    assert compared.against("c", ["a", "b"], "l1")[0] == pytest.approx(0.5)
    assert Compared.of_dict(json.loads(json.dumps(compared.to_dict()))).markdown() == compared.markdown()


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Page 7 of everybody, 1 of three people, the others of one; the third clicked 7 twice."""
    path = tmp_path / "pages.dat.gz"
    path.write_bytes(gzip.compress(b"1 7\n7 1 22\n7 7 1 9\n\n7\n"))
    return path


def test_real_people_are_drawn_with_their_records(pages: Path) -> None:
    people = RealPeople.read(pages)
    assert people.counts.tolist() == [2, 3, 4, 1]
    drawn = people.draw(2_000, 0.5, SimulationRandom(1))
    law, holdings = drawn.law, drawn.holdings
    assert (holdings.people, drawn.clients, law.log.levels) == (1_000, 1_000, 1)
    assert law.texts(np.array([0, 1])) == [("1", None), ("7", None)]
    assert law.truth.record[:2] == pytest.approx([(1 / 2 + 1 / 3 + 1 / 4) / 4, (1 / 2 + 1 / 3 + 2 / 4 + 1) / 4])
    assert np.bincount(holdings.record)[1] == 1_000
    rare = np.bincount(holdings.record)[2:]
    assert rare.tolist() == [1] * (law.log.distinct_records - 2)
    assert holdings.occurrences.max() == 2
    assert len(rare) == pytest.approx(500, abs=80)
    assert np.bincount(holdings.totals, minlength=5).tolist() == pytest.approx([0, 250, 250, 250, 250], abs=60)


def test_real_people_can_be_compared(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--pages", str(pages), "--users", "4000", "--epsilon", "2", "--runs", "2", "--size", "5"])
    assert "pages, 4,000 people, 5 % opt in, real people, ε 2" in capsys.readouterr().out
