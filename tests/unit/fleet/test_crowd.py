"""Most clients are honest; liars keep to the rules; misfits break one each, and what was not meant is an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from blendp.fleet import Fleet
from blendp.fleet.crowd import LIAR_EVERY, MISFIT_EVERY, Crowd
from blendp.fleet.fleet import FleetError
from blendp.fleet.misfits import MISFITS, lie
from blendp.headlist import HeadList
from blendp.reports import SubsetScheme
from blendp.wire import UploadedReport
from blendp.wire.reports import Binding
from tests.support import KnownKey

RECORDS = [(f"query {number}", "http://a.example") for number in range(12)]
SCHEME = SubsetScheme(HeadList.of_records(RECORDS), 4.0, 0.5)


class Notebook(Fleet):
    """A fleet whose uploads are written down, and answered with what comes next in a list, or as if all was well."""

    def __init__(self, *answers: str) -> None:
        super().__init__("http://127.0.0.1:1", "c1")
        self.scheme, self.binding = SCHEME, Binding("ab" * 32, "cd" * 8)
        self.answers = list(answers)
        self.alone: list[bytes] = []
        self.relayed: list[UploadedReport] = []

    def send_bytes(self, report_id: bytes, body: bytes) -> str:
        assert len(report_id) == 16
        self.alone.append(body)
        return self.answers.pop(0) if self.answers else "accepted"

    def send_batch(self, reports: Sequence[UploadedReport]) -> list[str]:
        self.relayed += reports
        return ["accepted"] * len(reports)


def test_a_liar_names_the_last_record_and_could_have_been_honest() -> None:
    target = SCHEME.head_list.record_cells[-1]
    reports = [lie(SCHEME, KnownKey(seed)) for seed in range(50)]
    assert all(SCHEME.possible(report.question, report.data) for report in reports)
    assert all(target in SCHEME.likelihoods(report)[0].cells for report in reports)
    assert {report.question for report in reports} == {"query", "record"}


def test_of_many_the_first_comes_alone_then_misfits_then_everybody_else() -> None:
    fleet = Notebook("accepted", *MISFITS)
    Crowd(fleet).come_all(RECORDS[:1] * (len(MISFITS) * MISFIT_EVERY))
    assert len(fleet.alone) == 1 + len(MISFITS)
    assert len(fleet.relayed) == len(MISFITS) * (MISFIT_EVERY - 1) - 1
    assert len({report.pseudonym for report in fleet.relayed}) == len(fleet.relayed)


def test_one_in_a_hundred_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = lie(SCHEME, KnownKey(0))
    monkeypatch.setattr("blendp.fleet.crowd.lie", lambda _scheme, _random: replace(marked, data=b"a lie"))
    fleet = Notebook("accepted", *MISFITS)
    Crowd(fleet).come_all(RECORDS[:1] * 240)
    assert [report.data for report in fleet.relayed].count(b"a lie") == 234 // LIAR_EVERY


def test_one_by_one_every_fortieth_is_a_misfit() -> None:
    fleet = Notebook(*["accepted"] * (MISFIT_EVERY - 1), "duplicate")
    crowd = Crowd(fleet)
    outcomes = [crowd.come(RECORDS[0]) for _ in range(MISFIT_EVERY)]
    assert outcomes == ["accepted"] * (MISFIT_EVERY - 1) + ["duplicate"]
    assert fleet.alone[-1] == fleet.alone[-2]


def test_a_campaign_that_is_over_is_no_error_and_anything_else_is() -> None:
    assert Crowd(Notebook("late")).come(RECORDS[0]) == "late"
    with pytest.raises(FleetError, match="should have been accepted and were impossible"):
        Crowd(Notebook("impossible")).come(RECORDS[0])
    with pytest.raises(FleetError, match="should have been duplicate and were accepted"):
        Crowd(Notebook()).come_all(RECORDS[:1] * MISFIT_EVERY)
