"""What a device sends."""

import numpy as np
import pytest

from blendp.client import make_report, make_reports
from blendp.errors import ParameterError, RandomnessError
from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection, TwoStage
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom
from blendp.reports import SubsetScheme
from tests.support import KnownKey, goodness

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1")])


@pytest.mark.statistical
@pytest.mark.parametrize(("record", "cell"), [(("a", "2"), 1), (("a", "9"), 2), (("z", "1"), 5), (("*", "*"), 5)])
def test_a_device_draws_from_the_row_of_its_cell(record: tuple[str, str], cell: int) -> None:
    random = KnownKey(4)
    reports = [make_reports([record], LIST, Budget(4, 1e-5), random)[0] for _ in range(4_000)]
    counts = np.bincount([int.from_bytes(report.data) for report in reports], minlength=6)
    channel = TwoStage(Budget(4, 1e-5), LIST.cells_per_query).channel()
    assert goodness(counts, channel[cell]) > 1e-4
    assert goodness(counts, channel[(cell + 3) % 6]) < 1e-20
    assert {report.list_sha256 for report in reports} == {LIST.sha256}


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_the_number_of_reports_tells_nothing(count: int) -> None:
    records = [("a", "1")] * count
    assert len(make_reports(records, LIST, Budget(4), KnownKey(1), records_per_user=3)) == 3


def test_each_of_several_reports_has_its_part_of_the_budget() -> None:
    reports = [
        make_reports([("a", "1")], LIST, Budget(8), random, records_per_user=2)
        for random in map(KnownKey, range(3_000))
    ]
    counts = np.bincount([int.from_bytes(report.data) for pair in reports for report in pair], minlength=6)
    assert goodness(counts, TwoStage(Budget(4), LIST.cells_per_query).channel()[0]) > 1e-4


def test_simulated_randomness_and_wrong_numbers_are_refused() -> None:
    with pytest.raises(RandomnessError):
        make_reports([("a", "1")], LIST, Budget(4), SimulationRandom(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="records_per_user"):
        make_reports([("a", "1")], LIST, Budget(4), KnownKey(1), records_per_user=0)


@pytest.mark.parametrize("records", [("a", "1"), ["a"], "ab", [("a",)], [(1, "x")], [("a", 2)], [["a", "1"]]])
def test_what_is_not_a_list_of_pairs_is_refused(records: object) -> None:
    with pytest.raises(ParameterError, match="pairs"):
        make_reports(records, LIST, Budget(4), KnownKey(1))  # type: ignore[arg-type]


def test_a_person_with_many_records_has_them_drawn_fairly() -> None:
    """With a budget that hides nothing, the reports show which record was drawn."""
    random, records = KnownKey(8), [("a", "1"), ("a", "2"), ("b", "1")]
    drawn = [make_reports(records, LIST, Budget(50), random, query_share=0.5)[0].data for _ in range(1_500)]
    counts = np.bincount(list(map(int.from_bytes, drawn)), minlength=6)
    assert counts[[2, 4, 5]].sum() == 0
    assert goodness(counts[[0, 1, 3]], np.full(3, 1 / 3)) > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize(("record", "cell"), [(("a", "2"), 1), (("a", "9"), 2), (("z", "1"), 5)])
def test_a_subset_report_is_drawn_from_the_row_of_its_item(record: tuple[str, str], cell: int) -> None:
    """Both questions: the law of the sets that are sent, and how often each question is answered."""
    random = KnownKey(5)
    sent = [make_report([record], LIST, 1.0, 0.25, random) for _ in range(6_000)]
    about = np.array([report.question == "query" for report in sent])
    assert goodness(np.array([about.sum(), (~about).sum()]), np.array([0.25, 0.75])) > 1e-4
    for question, item, items in (("query", int(LIST.query_of_cell[cell]), 3), ("record", cell, 6)):
        randomiser = SubsetSelection(1.0, items)
        channel = randomiser.channel()
        drawn = [int.from_bytes(report.data) for report in sent if report.question == question]  # the column's number
        counts = np.bincount(drawn, minlength=channel.shape[1])
        assert goodness(counts, channel[item]) > 1e-4
        assert goodness(counts, channel[(item + 2) % items]) < 1e-10
    assert {(report.list_sha256, len(report.data)) for report in sent} == {(LIST.sha256, 1)}


def test_a_person_without_records_reports_about_everything_else() -> None:
    report = make_report([], LIST, 50.0, 0.0, KnownKey(1))
    assert SubsetSelection(50.0, LIST.cells).decode(report.data) == (5,)
    with pytest.raises(ParameterError, match="query_share"):
        make_report([], LIST, 4.0, 1.5, KnownKey(1))
    with pytest.raises(RandomnessError):
        make_report([], LIST, 4.0, 0.5, SimulationRandom(1))  # type: ignore[arg-type]


def test_a_report_may_have_the_wildcard_apart() -> None:
    head_list = HeadList.of_records([(f"q{i}", "u") for i in range(40)])
    scheme = SubsetScheme(head_list, 2.0, 0.0, "apart")
    reports = [make_report([], head_list, 2.0, 0.0, KnownKey(i), randomiser="apart") for i in range(40)]
    alone = scheme.questions["record"].encode([[head_list.cells - 1]])
    assert {report.data for report in reports} > {alone}
    assert scheme.count(reports).supports["record"][-1] == sum(report.data == alone for report in reports) > 10
    with pytest.raises(ParameterError, match="randomiser"):
        make_report([], head_list, 2.0, 0.0, KnownKey(1), randomiser="auto")
