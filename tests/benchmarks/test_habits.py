"""The benchmark of habits runs, and the people with habits are as concentrated as real ones, or gain as little."""

import numpy as np
import pytest

from benchmarks.habits import main, measure, one_and_all
from blendp.logs.synthetic import USERS, Population


def test_it_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    assert "dispersi" in capsys.readouterr().out
    main(["--gain", "--quick", "--delta", "1e-5"])
    assert "all / one" in capsys.readouterr().out


@pytest.mark.statistical
def test_the_calibration_holds() -> None:
    """What was measured of real AOL users: dispersion .43, errors after clipping .15, .076 and .030."""
    row = measure(Population("aol", 60_000, 20.0, habits=True), 100, seed=3)
    assert row.dispersion == pytest.approx(0.43, abs=0.02)
    assert row.clipped == pytest.approx((0.15, 0.076, 0.03), abs=0.02)
    plain = measure(Population("aol", 60_000, 20.0), 100, seed=3)
    assert plain.dispersion == pytest.approx(0.275, abs=0.02)
    assert plain.clipped[0] < 0.04


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "list_gain", "l1_gain"), [("aol", 2.0, 0.77), ("aol-sparse", 1.55, 1.06)])
def test_what_all_records_are_worth(name: str, list_gain: float, l1_gain: float) -> None:
    """On real AOL people all records list 1.55 times as many as one record each, and the L1 of the top is no better."""
    one, every = one_and_all(Population(name, USERS[name], 19.0, habits=True), 4.0, 1e-5, 8, 60)
    ratios = np.mean(every, axis=1) / np.mean(one, axis=1)
    assert ratios[0] == pytest.approx(list_gain, abs=0.15)
    assert ratios[2] == pytest.approx(l1_gain, abs=0.15)


@pytest.mark.statistical
def test_clipping_steady_people_leaves_the_error_of_real_ones() -> None:
    """Their dispersion is far above that of real AOL users, .43."""
    row = measure(Population("aol-sparse", 60_000, 20.0, habits=True), 100, seed=3)
    assert row.clipped == pytest.approx((0.15, 0.076, 0.03), abs=0.02)
    assert row.dispersion == pytest.approx(0.77, abs=0.03)
