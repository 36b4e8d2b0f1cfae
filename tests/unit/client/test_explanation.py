"""What a report tells: equal to the randomiser's whole channel, cell by cell."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from blendp.client import exact_odds, explain, make_report, promised_odds
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.mechanisms import TwoStage
from blendp.randomness import Random
from blendp.reports import QUESTION_NUMBER
from blendp.wire import Manifest, UploadedReport
from tests.support import branches
from tests.unit.client.fake_collector import CAMPAIGN, RECORDS, TERMS, Clock, FakeCollector

SMALL = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1")])
FLAT = HeadList.of_records([("a", None), ("b", None)], levels=1)
EMPTY = HeadList(())


def manifest(head_list: HeadList, share: float = 0.3, **terms: object) -> Manifest:
    changed_terms = dataclasses.replace(TERMS, levels=head_list.levels, **terms)  # type: ignore[arg-type]
    return Manifest(changed_terms, head_list.sha256, head_list.records, 200, share, "2026-11-05")


def report(question: int, data: bytes) -> UploadedReport:
    return UploadedReport(bytes(16), bytes(16), question, data)


def every_report(document: Manifest, head_list: HeadList) -> list[UploadedReport]:
    asked = [(QUESTION_NUMBER[name], one) for name, one in document.scheme(head_list).questions.items()]
    return [report(q, n.to_bytes(one.report_bytes, "big")) for q, one in asked for n in range(one.possible_reports)]


def number(uploaded: UploadedReport) -> int:
    """A report as one number."""
    return uploaded.question << 64 | int.from_bytes(uploaded.data, "big")


@pytest.fixture
def no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let devices draw along every path of decisions."""
    for module in ("reports.scheme", "reports.list_scheme"):
        monkeypatch.setattr(f"blendp.{module}.require_release", lambda _: None)


@pytest.mark.usefixtures("no_release")
@pytest.mark.parametrize("head_list", [SMALL, FLAT, EMPTY], ids=["two levels", "one level", "empty"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_blendp_equals_every_path_of_the_device(head_list: HeadList, epsilon: float) -> None:
    document = manifest(head_list, epsilon=epsilon)
    channel = []
    for query, url in head_list.labels:
        records = [] if query is None else [(query, "unlisted" if url is None and head_list.levels == 2 else url)]

        def draw(random: Random, records: list[tuple[str, str | None]] = records) -> int:
            drawn = make_report(records, head_list, epsilon, 0.3, random)  # type: ignore[arg-type]
            return number(report(QUESTION_NUMBER[drawn.question], drawn.data))

        row: defaultdict[int, Fraction] = defaultdict(Fraction)
        for outcome, probability in branches(draw):
            row[outcome] += probability
        channel.append(row)
    for one in every_report(document, head_list):
        explanation = explain(one, document, head_list)
        assert list(explanation.probabilities) == [row[number(one)] for row in channel]
        assert explanation.within_epsilon
        assert 1 <= explanation.ratio <= Fraction(np.exp(epsilon) * (1 + 1e-15))


@pytest.mark.parametrize(
    ("head_list", "delta", "beyond"), [(SMALL, 1e-3, False), (FLAT, 1e-6, True), (SMALL, 0.0, False), (EMPTY, 0, False)]
)
def test_published_equals_every_path_of_the_device(head_list: HeadList, delta: float, beyond: bool) -> None:
    """Two stages waste epsilon, so only a list of one level goes beyond it, as delta allows."""
    document = manifest(head_list, 0.85, method="published", epsilon=2.0, delta=delta)
    randomiser = TwoStage(document.terms.client_budget, head_list.cells_per_query, 0.85)
    channel = []
    for cell in range(head_list.cells):
        row: defaultdict[int, Fraction] = defaultdict(Fraction)
        for outcome, probability in branches(lambda r, cell=cell: int(randomiser.draw(np.array([cell]), r)[0])):  # type: ignore[misc]
            row[outcome] += probability
        channel.append(row)
    for one in every_report(document, head_list):
        explanation = explain(one, document, head_list)
        assert list(explanation.probabilities) == [row[int.from_bytes(one.data, "big")] for row in channel]
        assert explanation.within_epsilon != beyond


def test_each_cell_is_in_one_group_and_the_likeliest_come_first() -> None:
    for document in (manifest(SMALL), manifest(SMALL, 0.85, method="published")):
        for one in every_report(document, SMALL):
            explanation = explain(one, document, SMALL)
            cells = np.concatenate([group.cells for group in explanation.likelihoods])
            assert sorted(cells.tolist()) == list(range(SMALL.cells))
            assert explanation.likelihoods[0].probability == max(explanation.probabilities)


def test_beliefs_move_no_further_than_the_ratio_allows() -> None:
    document = manifest(SMALL, epsilon=1.0)
    explanation = explain(every_report(document, SMALL)[0], document, SMALL)
    for prior in (Fraction(0), Fraction(1, 100), Fraction(1, 2), Fraction(1)):
        after = explanation.posterior(prior)
        if prior not in (0, 1):
            assert after / (1 - after) == explanation.ratio * prior / (1 - prior)
        else:
            assert after == prior
    with pytest.raises(ParameterError, match="prior"):
        explanation.posterior(1.5)


@pytest.mark.parametrize("head_list", [SMALL, FLAT, EMPTY], ids=["two levels", "one level", "empty"])
@pytest.mark.parametrize(("method", "delta"), [("blendp", 1e-6), ("published", 1e-3), ("published", 1e-6)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_odds_before_are_the_worst_of_all_explanations_after(
    head_list: HeadList, method: str, delta: float, share: float
) -> None:
    if method == "published":
        share = 0.5 + share / 4
    terms = manifest(head_list, share, method=method, delta=delta)
    possible = []
    for one in every_report(terms, head_list):
        if method == "blendp" and share == (0.0 if one.question == 0 else 1.0):
            continue
        possible.append(explain(one, terms, head_list))
    odds = exact_odds(terms, head_list)
    assert odds.ratio == max(one.ratio for one in possible)
    assert odds.posterior(0.01) == max(one.posterior(0.01) for one in possible)


def test_the_odds_of_the_terms_alone_are_those_of_the_promise() -> None:
    odds = promised_odds(TERMS)
    assert float(odds.posterior(0.01)) == pytest.approx(0.3554609871366468, abs=1e-15)
    assert "with a probability of 1 %, your part in this can bring them to 35.5 % at most" in odds.sentence
    assert "slack" not in odds.sentence
    published = dataclasses.replace(TERMS, method="published", delta=1e-6)
    assert promised_odds(published).sentence.endswith("slack of δ = 1e-06.")
    exact = exact_odds(manifest(SMALL), SMALL)
    assert exact.ratio is not None
    assert exact.ratio <= exact.promised
    assert exact.posterior(0.01) <= odds.posterior(0.01)


def test_words_are_for_the_person() -> None:
    document = manifest(SMALL)
    query, *_, record = every_report(document, SMALL)
    assert "the query of one of your records" in explain(query, document, SMALL).sentences[0]
    text = " ".join(explain(record, document, SMALL).sentences)
    for phrase in ("sends exactly this report with a probability of", "times as likely", "e^4", "1 %", "never proves"):
        assert phrase in text
    lone = manifest(EMPTY)
    assert "tells nothing" in explain(every_report(lone, EMPTY)[0], lone, EMPTY).sentences[1]
    published = manifest(FLAT, 0.85, method="published", delta=1e-3)
    text = " ".join(explain(every_report(published, FLAT)[0], published, FLAT).sentences)
    assert "but for a probability of 0.001" in text


def test_reports_of_other_campaigns_are_refused() -> None:
    document, published = manifest(SMALL), manifest(SMALL, 0.85, method="published")
    with pytest.raises(ParameterError, match="head list"):
        explain(report(0, b"\0"), document, FLAT)
    for other, one in ((document, report(2, b"\0")), (published, report(0, b"\0")), (published, report(2, b"\xff"))):
        with pytest.raises(ParameterError):
            explain(one, other, SMALL)
    with pytest.raises(ParameterError, match="question that is asked"):
        explain(every_report(document, SMALL)[0], manifest(SMALL, 0.0), SMALL)


def test_a_device_explains_its_own_report(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        done = device.take_part(CAMPAIGN, RECORDS)
        fake.requests.clear()
        explanation = device.explain(CAMPAIGN)
        assert not fake.requests
        assert done.question is not None
        assert done.data is not None
        alone = explain(report(done.question, done.data), fake.manifest, fake.head_list)
        assert explanation.probabilities == alone.probabilities
        with pytest.raises(ParameterError, match="made none"):
            device.explain("unknown")
