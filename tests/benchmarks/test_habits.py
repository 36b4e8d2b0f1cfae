"""The benchmark of habits runs, and the people with habits are as concentrated as real ones."""

import pytest

from benchmarks.habits import main, measure
from blendp.logs.synthetic import Population


def test_it_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    assert "dispersi" in capsys.readouterr().out


@pytest.mark.statistical
def test_the_calibration_holds() -> None:
    """What was measured of real AOL users: dispersion .43, errors after clipping .15, .076 and .030."""
    row = measure(Population("aol", 60_000, 20.0, habits=True), 100, seed=3)
    assert row.dispersion == pytest.approx(0.43, abs=0.02)
    assert row.clipped == pytest.approx((0.15, 0.076, 0.03), abs=0.02)
    plain = measure(Population("aol", 60_000, 20.0), 100, seed=3)
    assert plain.dispersion == pytest.approx(0.275, abs=0.02)
    assert plain.clipped[0] < 0.04
