"""The benchmark of open consoles runs, and every poll is answered; how much it costs, no test asserts."""

import json

import pytest

from benchmarks.collector import ALONE
from benchmarks.console_polling import BESIDE, main


def test_it_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--reports", "50", "--consoles", "50", "--seconds", "0.6", "--repeat", "1", "--json"])
    cost = json.loads(capsys.readouterr().out)
    assert cost["status"]["reports"] == 50
    assert [row["paced"] for row in cost["rows"]] == [False, True]
    for row in cost["rows"]:
        assert [run["refused"] for side in (ALONE, BESIDE) for run in row["runs"][side]] == [0, 0]
