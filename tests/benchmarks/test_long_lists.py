"""The benchmark of long lists: it runs, and its exponent is that of its times."""

import pytest

from benchmarks.long_lists import LengthRow, exponent, main


def test_it_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    assert "exponent" in capsys.readouterr().out


def test_exponent_and_ratio() -> None:
    rows = [LengthRow(items, 1, 2.0 * items**1.5, float(items), 3.0) for items in (10, 30, 100)]
    assert exponent(rows, "encode") == pytest.approx(1.5)
    assert exponent(rows, "decode") == pytest.approx(1)
    assert exponent(rows, "count") == pytest.approx(0)
    assert rows[2].ratio == pytest.approx(20)
