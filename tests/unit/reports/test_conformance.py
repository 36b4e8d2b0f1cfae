"""What every report scheme has to keep, whatever it asks and however it randomises: one suite for all of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from blendp.errors import ParameterError, RandomnessError
from blendp.headlist import HeadList
from blendp.privacy import Budget
from blendp.randomness import Random, SimulationRandom
from blendp.reports import ORACLES, Report, ReportScheme, ReportSums, SubsetScheme, TwoStageScheme, report_scheme
from blendp.survey.choose import Promise
from blendp.survey.designs import design
from blendp.survey.models.any_law import AnyLaw
from blendp.survey.scheme import SurveyScheme
from tests.support import KnownKey, branches

SMALL = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1")])
MIXED = HeadList.of_records([("a", None), ("b", "1"), ("b", "2"), ("c", None)])
FLAT = HeadList.of_records([("a", None), ("b", None)], levels=1)
EMPTY = HeadList(())
LONG = HeadList.of_records([(f"{i:03}", f"{j}") for i in range(90) for j in range(3)])


@dataclass(frozen=True)
class Case:
    """A scheme, what somebody holds who is in each of its cells, and its promise."""

    scheme: ReportScheme[Any]
    holdings: list[Any]
    epsilon: float
    delta: float = 0.0


def holdings_of(head_list: HeadList) -> list[list[tuple[str, str | None]]]:
    def records(query: str | None, url: str | None) -> list[tuple[str, str | None]]:
        unlisted = "unlisted" if url is None and head_list.levels == 2 else url
        return [] if query is None else [(query, unlisted)]

    return [records(*label) for label in head_list.labels]


def list_cases() -> Iterator[tuple[str, Case]]:
    for name, head_list in {
        "two levels": SMALL,
        "queries without URLs": MIXED,
        "one level": FLAT,
        "empty": EMPTY,
    }.items():
        own = holdings_of(head_list)
        for share, epsilon in ((0.3, 1.0), (0.0, 4.0), (1.0, 0.1)):
            for oracle in ORACLES:
                scheme = SubsetScheme(head_list, epsilon, share, oracle)
                yield f"{oracle}, {name}, {share}", Case(scheme, own, epsilon)
        for delta in (0.0, 1e-3):
            two_stage = TwoStageScheme(head_list, Budget(2.0, delta), 0.7)
            yield f"two-stage, {name}, {delta}", Case(two_stage, own, 2.0, delta)
        yield f"tight, {name}", Case(TwoStageScheme(head_list, Budget(1.5), 0.6, tight=True), own, 1.5)


def survey_cases() -> Iterator[tuple[str, Case]]:
    sizes = (3, 2, 2)
    own = list(product(*map(range, sizes)))
    for method in ("cbps", "cbp", "sample", "rsfd"):
        chosen = design(AnyLaw(sizes), 12, Promise(1.5), method=method)
        yield f"survey, {method}", Case(SurveyScheme(chosen), own, 1.5)
    wide = design(AnyLaw((5, 2)), 3, Promise(0.3), method="split")
    assert max(width for group in wide.groups for width in group.widths) > 1
    yield "survey, split, several values", Case(SurveyScheme(wide), list(product(range(5), range(2))), 0.3)
    two = design(AnyLaw(sizes), 12, Promise(1.5), method="cbps", group=2)
    assert sorted(len(group.attributes) for group in two.groups) == [1, 2]
    yield "survey, cbps, two groups", Case(SurveyScheme(two), own, 1.5)


CASES = dict(list_cases()) | dict(survey_cases())
LARGE = {
    "subset": SubsetScheme(LONG, 1.0, 0.4),
    "apart": SubsetScheme(LONG, 1.0, 0.4, "apart"),
    "two-stage": TwoStageScheme(LONG, Budget(4.0, 1e-6)),
    "tight": TwoStageScheme(LONG, Budget(4.0), tight=True),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let devices draw along every path of decisions."""
    for module in (
        "reports.scheme",
        "reports.list_scheme",
        "mechanisms.subset_selection.subset_selection",
        "mechanisms.wildcard_apart.wildcard_apart",
        "mechanisms.two_stage.two_stage",
        "mechanisms.hidden_sampling.hidden_sampling",
    ):
        monkeypatch.setattr(f"blendp.{module}.require_release", lambda _: None)


def every_report(scheme: ReportScheme[Any]) -> list[Report]:
    """All reports that the scheme calls possible about questions that it asks."""
    reports = []
    for name, question in scheme.questions.items():
        if scheme.chance(name):
            ranks = product(*(range(answer.subsets) for answer in question.answers))
            widths = [answer.report_bytes for answer in question.answers]
            for numbers in ranks:
                data = b"".join(n.to_bytes(width, "big") for n, width in zip(numbers, widths, strict=True))
                reports.append(Report(scheme.list_sha256, name, data))
    return reports


def law_of(scheme: ReportScheme[Any], holding: Any) -> dict[Report, Fraction]:
    """The exact probability of every report, along every path of the device's decisions."""
    numbers: dict[Report, int] = {}

    def draw(random: Random) -> int:
        return numbers.setdefault(scheme.randomise(holding, random), len(numbers))  # type: ignore[arg-type]

    row: defaultdict[int, Fraction] = defaultdict(Fraction)
    for number, probability in branches(draw):
        row[number] += probability
    return {report: row[number] for report, number in numbers.items()}


def some_reports(scheme: ReportScheme[Any], holdings: list[Any], count: int) -> list[Report]:
    random = KnownKey(11)
    return [scheme.randomise(holdings[i % len(holdings)], random) for i in range(count)]


def equal(one: ReportSums, other: ReportSums) -> bool:
    return one.to_bytes() == other.to_bytes() and one.users == other.users


@pytest.mark.usefixtures("no_release")
def test_the_law_of_randomise_is_what_likelihoods_say(case: Case) -> None:
    """Cell by cell: possible, sums to 1, and within the promise, exactly."""
    laws = [law_of(case.scheme, holding) for holding in case.holdings]
    reports = every_report(case.scheme)
    assert len(laws) == case.scheme.cells
    worst = Fraction(1)
    for law in laws:
        assert sum(law.values()) == 1
        assert set(law) <= set(reports)
    for report in reports:
        likelihood_of_cell = [Fraction(-1)] * case.scheme.cells
        groups = case.scheme.likelihoods(report)
        for group in groups:
            for cell in group.cells.tolist():
                assert likelihood_of_cell[cell] == -1, "a cell is in two groups"
                likelihood_of_cell[cell] = group.probability
        assert likelihood_of_cell == [law.get(report, Fraction(0)) for law in laws]
        assert list(groups) == sorted(groups, key=lambda group: -group.probability)
        worst = max(worst, max(likelihood_of_cell) / min(likelihood_of_cell))
    assert worst == case.scheme.ratio()
    assert case.scheme.loss() == pytest.approx(math.log(worst), rel=1e-12, abs=1e-15)
    if not case.delta:
        assert case.scheme.loss() <= case.epsilon
        assert worst <= Fraction(math.nextafter(math.exp(case.epsilon), math.inf))


@pytest.mark.usefixtures("no_release")
def test_delta_is_the_largest_divergence_of_two_cells(case: Case) -> None:
    laws = [law_of(case.scheme, holding) for holding in case.holdings]
    grow = Fraction(math.exp(case.epsilon))
    worst = Fraction(0)
    for one, other in product(laws, laws):
        worst = max(worst, sum((max(Fraction(0), p - grow * other[r]) for r, p in one.items()), Fraction(0)))
    assert case.scheme.delta() == pytest.approx(float(worst), abs=1e-12)
    assert case.scheme.delta() <= case.delta


def test_only_what_the_scheme_can_make_is_possible(case: Case) -> None:
    reports = every_report(case.scheme)
    assert all(case.scheme.possible(report.question, report.data) for report in reports)
    for report in some_reports(case.scheme, case.holdings, 50):
        assert report in reports
        assert report.list_sha256 == case.scheme.list_sha256
    for name, question in case.scheme.questions.items():
        width = case.scheme.questions[name].report_bytes
        right = bytes(width)
        assert case.scheme.possible(name, right) is (case.scheme.chance(name) > 0)
        assert ("not " + name in case.scheme.expectation(name, b"")) is (case.scheme.chance(name) == 0)
        for wrong in (b"", right + b"\0", b"\0" + right, right[1:]):
            assert not case.scheme.possible(name, wrong)
        start = 0
        for answer in question.answers:
            if answer.subsets < 256**answer.report_bytes:
                beyond = answer.subsets.to_bytes(answer.report_bytes, "big")
                data = right[:start] + beyond + right[start + answer.report_bytes :]
                assert not case.scheme.possible(name, data)
                with pytest.raises(ParameterError, match="report"):
                    case.scheme.count([Report(case.scheme.list_sha256, name, data)])
            start += answer.report_bytes
    assert not case.scheme.possible("another", b"\0")
    assert case.scheme.chance("another") == 0


def test_a_report_takes_as_many_bytes_as_said(case: Case) -> None:
    widths = {name: case.scheme.questions[name].report_bytes for name in case.scheme.questions}
    assert case.scheme.report_bytes == max(widths.values())
    for name, question in case.scheme.questions.items():
        due = sum(max(1, math.ceil(math.log2(answer.subsets) / 8)) for answer in question.answers)
        assert widths[name] == due


def test_many_are_counted_as_one_by_one(case: Case) -> None:
    reports = some_reports(case.scheme, case.holdings, 60)
    sums = case.scheme.count(reports)
    by_hand = {name: np.zeros(question.items, dtype=np.int64) for name, question in case.scheme.questions.items()}
    single = case.scheme.nothing()
    for report in reports:
        start = 0
        question = case.scheme.questions[report.question]
        for answer, items in zip(question.answers, question.decode(report.data), strict=True):
            by_hand[report.question][[start + item for item in items]] += 1
            start += answer.items
        single = single.add(case.scheme.count([report]))
    assert equal(sums, single)
    assert sums.users == len(reports)
    for name, supports in by_hand.items():
        assert sums.supports[name].tolist() == supports.tolist()
        assert sums.reports[name] == sum(report.question == name for report in reports)


def test_adding_and_taking_away_are_inverse(case: Case) -> None:
    reports = some_reports(case.scheme, case.holdings, 40)
    first, second = case.scheme.count(reports[:25]), case.scheme.count(reports[25:])
    both = first.add(second)
    assert equal(both, second.add(first))
    assert equal(both, case.scheme.count(reports[::-1]))
    assert equal(both.take_away(second), first)
    assert equal(both.take_away(first).take_away(second), case.scheme.nothing())
    with pytest.raises(ParameterError, match="supports"):
        case.scheme.nothing().take_away(first)


def test_reports_of_another_list_are_refused(case: Case) -> None:
    report = some_reports(case.scheme, case.holdings, 1)[0]
    other = Report("0" * 64, report.question, report.data)
    refused: list[Callable[[], object]] = [
        lambda: case.scheme.count([report, other]),
        lambda: case.scheme.likelihoods(other),
        lambda: case.scheme.count([Report(report.list_sha256, "another", report.data)]),
    ]
    for attempt in refused:
        with pytest.raises(ParameterError):
            attempt()
    foreign = ReportSums.nothing("0" * 64, case.scheme.questions)
    with pytest.raises(ParameterError, match="about this list"):
        case.scheme.nothing().add(foreign)


def test_devices_take_randomness_fit_for_release_alone(case: Case) -> None:
    with pytest.raises(RandomnessError):
        case.scheme.randomise(case.holdings[0], SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", LARGE)
def test_long_lists_keep_the_same(name: str) -> None:
    scheme = LARGE[name]
    holdings = holdings_of(LONG)
    reports = some_reports(scheme, holdings, 200)
    assert all(scheme.possible(report.question, report.data) for report in reports)
    sums = scheme.count(reports)
    assert equal(sums, scheme.count(reports[:90]).add(scheme.count(reports[90:])))
    for report in reports[:20]:
        groups = scheme.likelihoods(report)
        assert sorted(np.concatenate([group.cells for group in groups]).tolist()) == list(range(scheme.cells))
        assert groups[0].probability / groups[-1].probability <= scheme.ratio()
    drawn = scheme.draw(np.arange(1_000, dtype=np.int64)[:, None] % scheme.cells, KnownKey(3))
    assert (drawn.users, drawn.list_sha256) == (1_000, LONG.sha256)
    assert drawn.questions == scheme.questions


SEVERAL = TwoStageScheme(SMALL, Budget(3.0, 1e-3), records_per_user=3)


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("records_per_user", [1, 2, 5])
def test_all_reports_of_a_client_cost_the_budget_together(tight: bool, records_per_user: int) -> None:
    budget = Budget(2.0, 0.0 if tight else 1e-3)
    scheme = TwoStageScheme(SMALL, budget, tight=tight, records_per_user=records_per_user)
    assert records_per_user * scheme.report_budget.epsilon == pytest.approx(budget.epsilon)
    if tight:
        assert records_per_user * scheme.loss() <= budget.epsilon
    assert records_per_user * scheme.delta() <= budget.delta
    assert len(scheme.randomise_all([("a", "1")], KnownKey(1))) == records_per_user


def test_subset_selection_is_one_report_of_each_client() -> None:
    with pytest.raises(ParameterError, match="records_per_user"):
        report_scheme(SMALL, "split", Budget(2.0), 0.5, 3)


def test_several_reports_of_a_client_are_counted_together() -> None:
    random = KnownKey(7)
    people = [SEVERAL.randomise_all(records, random) for records in 8 * holdings_of(SMALL)]
    cells = np.array([[int.from_bytes(report.data, "big") for report in reports] for reports in people])
    sums = SEVERAL.count_clients(people)
    assert sums.to_bytes() == SEVERAL.sums_of_cells(cells).to_bytes()
    assert (sums.users, sums.per_user, sums.report_count) == (len(people), 3, 3 * len(people))
    mixed = cells.ravel()[np.random.default_rng(1).permutation(cells.size)].reshape(cells.shape)
    assert SEVERAL.sums_of_cells(mixed).to_bytes() != sums.to_bytes()
    flat = [report for reports in people for report in reports]
    refused: list[Callable[[], object]] = [
        lambda: SEVERAL.count(flat),
        lambda: SEVERAL.count_clients([flat[:2]]),
        lambda: SEVERAL.count_clients([[*flat[:2], Report("0" * 64, "cell", flat[0].data)]]),
        lambda: SEVERAL.draw_from_law(10, np.full(SMALL.cells, 1 / SMALL.cells), np.random.default_rng(1)),
    ]
    for attempt in refused:
        with pytest.raises(ParameterError):
            attempt()


@pytest.mark.parametrize("epsilon", [[4], "4", True, 0, 51, math.nan])
def test_an_epsilon_that_is_none_is_refused(epsilon: Any) -> None:
    SubsetScheme(SMALL, 1.0, 0.5)
    with pytest.raises(ParameterError, match="epsilon"):
        SubsetScheme(SMALL, epsilon, 0.5)
