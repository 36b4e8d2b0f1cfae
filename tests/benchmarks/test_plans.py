"""The benchmark of plans runs, and compares what it says."""

import pytest

from benchmarks.plans import compare, main
from blendp.logs.synthetic import Population
from blendp.methods import Parameters


def test_it_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    assert "planned" in capsys.readouterr().out


def test_how_far_a_plan_is_off_is_a_share_of_what_is_simulated() -> None:
    compared = compare(
        Population("aol", 20_000, 20.0, habits=True), 0.1, Parameters(records_per_person=20, delta=1e-5), 3, 1
    )
    assert compared.off == pytest.approx((compared.planned - compared.simulated) / compared.simulated)
    assert (compared.error >= 0).all()
