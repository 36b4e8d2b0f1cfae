"""The benchmark of rests runs, and beside listed URLs ``aol-sparse`` has what was seen of real people."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.rests import Rests, draw_list, main, rests_at
from blendp.evaluation.drawn_people import RecordLaw
from blendp.evaluation.law_records import LawRecords
from blendp.logs.synthetic import USERS, law
from blendp.methods import Parameters

REAL = {
    (0, 50): Rests(50, 0.34, 0.36, (0.005, 0.034, 0.14), 0.94, (1, 2, 8)),
    (50, 100): Rests(50, 0.42, 0.42, (0.008, 0.047, 0.24), 0.93, (1, 2, 5)),
    (100, 200): Rests(50, 0.54, 0.54, (0.0, 0.018, 0.04), 0.98, (1, 1, 3)),
}


def test_it_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    assert "aol-sparse" in capsys.readouterr().out


@pytest.mark.statistical
def test_rests_are_as_sparse_as_those_of_real_people() -> None:
    """Within the tolerances of docs/logs.md, by ten lists of the paper's size."""
    people = RecordLaw(LawRecords.of_ranks(law("aol-sparse"), np.array([], dtype=np.int64)))
    parameters = Parameters(epsilon=4, delta=1e-5, size=None, opt_in_records=1)
    lists = [draw_list(people, USERS["aol-sparse"], 0.05, parameters, 30 + run) for run in range(10)]
    assert 160 < np.mean([one.records for one in lists]) < 190
    for (first, stop), real in REAL.items():
        ours = rests_at(lists, first, stop)
        assert ours.one_url == pytest.approx(real.one_url, abs=0.05)
        assert ours.no_rest == pytest.approx(real.no_rest, abs=0.05)
        assert ours.rest == pytest.approx(real.rest, rel=0.4, abs=0.002)
        assert ours.main == pytest.approx(real.main, abs=0.025)
        assert ours.urls == pytest.approx(real.urls, abs=1)
