"""The benchmark of unlike groups: its other people are as far apart as said, and a short run prints every case."""

import numpy as np
import pytest

from benchmarks.unlike_groups import HEAD, OtherRecords, main
from blendp.evaluation.law_records import LawRecords
from blendp.logs.synthetic import law


def test_other_people_have_other_probabilities() -> None:
    records = LawRecords.of_ranks(law("aol-sparse"), np.empty(0, dtype=np.int64))
    own = records.truth()
    other = OtherRecords(records, np.linspace(0.5, 1.5, records.distinct_records)).truth()
    assert other.record / own.record == pytest.approx(np.linspace(0.5, 1.5, records.distinct_records))
    assert other.query.sum() == pytest.approx(other.record.sum())


def test_a_short_run_prints_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick", "--apart", "0", "0.6", "--epsilon", "4"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.count(" | ") == len(HEAD) - 1
    assert [row.split(" | ")[2] for row in rows] == ["0 %", "60 %"]
