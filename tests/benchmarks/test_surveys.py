"""The survey benchmark: what is revealed is recomputed in two ways that share nothing with the library's, and its
claims hold on a small grid."""

import json
import math
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks import surveys
from benchmarks.survey_plot import draw
from blendp.mechanisms import HiddenSampling
from blendp.survey import METHODS, Promise, Tree, design
from examples.fair_survey import fair_answers

Law = dict[tuple[int, ...], float]
Likelihood = dict[tuple[tuple[int, ...], tuple[int, ...]], float]


@pytest.fixture(scope="module")
def measured() -> surveys.Measured:
    return list(surveys.measure(quickly=True))[-1]


def plain_law(attributes: int, correlation: float) -> Law:
    """Each attribute copies a fair coin with the probability sqrt(correlation), or is one of its own."""
    like = (1 + math.sqrt(correlation)) / 2
    return {
        record: sum(0.5 * math.prod(like if value == cause else 1 - like for value in record) for cause in (0, 1))
        for record in product((0, 1), repeat=attributes)
    }


def plain_loss(law: Law, likelihood: Likelihood) -> float:
    """max over i, s, s', B of ln P(B | b_i = s)/P(B | b_i = s'), by plain sums; likelihood[record, report]."""
    worst = 0.0
    for report in {report for _, report in likelihood}:
        for i in range(len(next(iter(law)))):
            given = [
                sum(share * likelihood[record, report] for record, share in law.items() if record[i] == s)
                / sum(share for record, share in law.items() if record[i] == s)
                for s in (0, 1)
            ]
            worst = max(worst, abs(math.log(given[0] / given[1])))
    return worst


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.4, 0.8])
def test_every_design_keeps_its_promise_by_plain_sums(method: str, epsilon: float, correlation: float) -> None:
    attributes = 4
    tree = Tree.equicorrelated(attributes, correlation)
    law = plain_law(attributes, correlation)
    for record, share in law.items():
        assert tree.joint().probabilities[record] == pytest.approx(share, abs=1e-15)
    chosen = design(tree, 1000, Promise(epsilon), method=method)
    losses = []
    for group in chosen.groups:
        likelihood: Likelihood = {}
        for record, report in product(law, repeat=2):
            if chosen.hidden is not None:
                truth = [coin / 2**53 for coin in chosen.hidden.coins]
                chances = [p if a == b else 1 - p for p, a, b in zip(truth, record, report, strict=True)]
                likelihood[record, report] = sum(chances)
                continue
            chance = 1.0
            for j, randomiser in zip(group.attributes, group.randomisers, strict=True):
                chance *= randomiser.hit if record[j] == report[j] else randomiser.stray
            likelihood[record, report] = chance
        losses.append(plain_loss(law, likelihood))
    assert max(losses) <= epsilon * (1 + 1e-12)
    assert max(losses) == pytest.approx(chosen.losses.worst, abs=1e-9)
    assert max(losses) == pytest.approx(
        surveys.enumerated_loss(surveys.equicorrelated_law(attributes, correlation), chosen), abs=1e-9
    )


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_what_the_published_hidden_samplings_reveal_by_plain_sums(epsilon: float, correlation: float) -> None:
    attributes = 3
    law = plain_law(attributes, correlation)
    hidden = HiddenSampling.published(epsilon, (2,) * attributes)
    truth = hidden.coins[0] / 2**53
    grr: Likelihood = {
        (record, report): sum(truth if a == b else 1 - truth for a, b in zip(record, report, strict=True))
        for record, report in product(law, repeat=2)
    }
    own_law = surveys.equicorrelated_law(attributes, correlation)
    assert surveys.hidden_losses_by_enumeration(own_law, hidden).max() == pytest.approx(plain_loss(law, grr), abs=1e-12)

    inner = math.log(attributes * (math.exp(epsilon) - 1) + 1)
    q = 1 / (math.exp(inner) + 1)
    bits = list(product((0, 1), repeat=2))

    def sent(pair: tuple[int, ...], value: int | None) -> float:
        chances = [0.5 if position == value else q for position in (0, 1)]
        return math.prod(chance if bit else 1 - chance for bit, chance in zip(pair, chances, strict=True))

    zero: Likelihood = {}
    for record in law:
        for pairs in product(bits, repeat=attributes):
            report = tuple(bit for pair in pairs for bit in pair)
            zero[record, report] = sum(
                math.prod(sent(pairs[k], record[k] if k == j else None) for k in range(attributes))
                for j in range(attributes)
            )
    loss = surveys.zero_encoding_loss(epsilon, attributes, correlation)
    assert loss == pytest.approx(plain_loss(law, zero), abs=1e-12)


@pytest.mark.statistical
def test_the_claims_hold_on_a_small_grid(measured: surveys.Measured) -> None:
    claims = surveys.claims(measured.rows)
    assert [claim.statement[:3] for claim in claims] == ["(a)", "(b)", "(c)", "(d)", "(e)"]
    assert not [str(claim) for claim in claims if not claim.passed]
    assert surveys.hybrid_claims(measured.hybrid)[0].passed  # a table; these people are no tree


@pytest.mark.statistical
def test_claims_that_do_not_hold_are_seen(measured: surveys.Measured) -> None:
    def spoilt(row: surveys.Row) -> surveys.Row:
        if row.method != "cbps" or row.error is None:
            return row
        error, deviation = row.error
        predicted = None if row.predicted is None else 2 * row.predicted
        return replace(row, error=(300 * error, deviation), predicted=predicted, loss=row.epsilon * 1.000001)

    assert not any(claim.passed for claim in surveys.claims([spoilt(row) for row in measured.rows]))


@pytest.mark.statistical
def test_what_was_measured_is_shown_and_read_back(measured: surveys.Measured, tmp_path: Path) -> None:
    read = surveys.Measured.of_json(json.dumps(asdict(measured)))
    assert read == measured
    page = surveys.page(read)
    assert page.count("- PASS: ") >= 6
    assert "**not kept**" in page  # RS+FD as published, at a high correlation
    draw(read.rows, tmp_path / "surveys.png")
    assert (tmp_path / "surveys.png").stat().st_size > 10_000


def test_a_ratio_has_the_error_of_both() -> None:
    assert surveys.ratio((6.0, 0.6), (2.0, 0.2)) == pytest.approx((3.0, 3 * math.hypot(0.1, 0.1)))
    assert surveys.with_error([1.0, 3.0]) == pytest.approx((2.0, 1.0))


def test_the_real_answers_are_read(tmp_path: Path) -> None:
    assert list(surveys.real_answers(tmp_path)) == ["fair, yes/no"]
    answers = fair_answers()
    assert answers.people > 6000
    assert answers.sizes == (2,) * 8
    assert all(0.1 < share[1] < 0.9 for share in answers.frequencies())
    assert np.array_equal(fair_answers(50, 3).codes, fair_answers(50, 3).codes)
