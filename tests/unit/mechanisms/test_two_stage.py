"""The client's randomiser: its exact channel, cell by cell, and what a report reveals."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget, hockey_stick, worst_log_ratio
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, branches, goodness

LISTS = [[2, 1], [1, 1], [2, 3, 4, 1], [5, 5, 5, 1], [20, 2, 7, 13, 3, 1], [1, 4, 1, 2, 1], list(range(1, 21))]


def closed_form(epsilon: float, share: float, cells: list[int]) -> float:
    """The exact pure loss for delta = 0."""
    if max(cells) == 1:
        return epsilon
    on_query, on_url = share * epsilon, (1 - share) * epsilon
    answers = [on_url] if max(cells) > 1 else []
    for k_q in cells:
        keep = math.log(math.exp(on_url) + k_q - 1) - math.log(k_q)
        answers.append(on_query + on_url - keep if k_q > 1 else on_query)
        if k_q > 1:
            answers.append(keep - on_query)
    return max(answers)


@pytest.mark.parametrize("cells", LISTS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta", "share"), [(4.0, 1e-5, 0.85), (1.0, 0.0, 0.5), (0.3, 1e-3, 0.1)])
def test_the_code_draws_exactly_the_channel_it_states(
    cells: list[int], epsilon: float, delta: float, share: float
) -> None:
    """Follow every path of decisions through the code, with exact fractions: no sampling, no rounding."""
    randomiser = TwoStage(Budget(epsilon, delta), np.array(cells), share)
    stated = randomiser.cell_probabilities()
    rows = np.repeat(np.arange(len(cells)), cells)
    few = {0, cells[0] - 1, len(rows) - 1, len(rows) // 2}
    for own_cell in range(len(rows)) if len(rows) < 40 else few:
        drawn = [Fraction(0)] * len(rows)

        def draw(random: Random, own_cell: int = own_cell) -> int:
            return int(randomiser.draw(np.array([own_cell]), random)[0])

        for report, probability in branches(draw):
            drawn[report] += probability
        for report in range(len(rows)):
            own, sibling, stranger = stated[rows[report]]
            right = own if report == own_cell else sibling if rows[report] == rows[own_cell] else stranger
            assert drawn[report] == right
        assert sum(drawn) == 1
    channel = randomiser.channel()
    assert np.allclose(channel.sum(axis=1), 1, atol=1e-14)


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
def test_both_sources_draw_the_same_channel(source: Callable[[int], Random]) -> None:
    """Every cell of every row, with enough draws to tell it from the channel of an epsilon 3 % away."""
    random = source(2)
    cells = np.array([2, 3, 4, 1])
    randomiser = TwoStage(Budget(4, 1e-5), cells)
    other = TwoStage(Budget(4 * 1.03, 1e-5), cells)
    each = 300_000
    told_apart = []
    for own_cell in range(int(cells.sum())):
        counts = np.bincount(randomiser.draw(np.full(each, own_cell), random), minlength=int(cells.sum()))
        assert goodness(counts, randomiser.channel()[own_cell]) > 1e-4
        told_apart.append(goodness(counts, other.channel()[own_cell]))
    assert max(told_apart) < 1e-20


@pytest.mark.parametrize("cells", LISTS, ids=str)
@pytest.mark.parametrize(("epsilon", "share"), [(4.0, 0.85), (4.0, 0.5), (1.0, 0.85), (1.0, 0.05)])
def test_worst_likelihood_ratio_is_the_closed_form(cells: list[int], epsilon: float, share: float) -> None:
    randomiser = TwoStage(Budget(epsilon), np.array(cells), share)
    expected = closed_form(epsilon, share, cells)
    assert worst_log_ratio(randomiser.channel()) == pytest.approx(expected, abs=1e-12)
    assert randomiser.loss() == pytest.approx(expected, abs=1e-12)
    assert randomiser.loss() <= epsilon
    assert randomiser.delta_at(epsilon) == 0


def test_losses_of_the_usual_lists() -> None:
    for k_q, loss in [(2, 3.656), (3, 3.758), (20, 3.96)]:
        assert TwoStage(Budget(4), np.array([k_q, k_q, 1])).loss() == pytest.approx(loss, abs=1e-3)
    assert TwoStage(Budget(4), np.array([3, 3, 1]), 0.5).loss() == pytest.approx(2.86, abs=5e-3)


@settings(max_examples=60)
@given(
    cells=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    epsilon=st.floats(0.05, 8),
    delta=st.sampled_from([0.0, 1e-5, 1e-2]),
    share=st.floats(0.05, 0.95),
)
def test_any_list_keeps_the_promise(cells: list[int], epsilon: float, delta: float, share: float) -> None:
    randomiser = TwoStage(Budget(epsilon, delta), np.array([*cells, 1]), share)
    channel = randomiser.channel()
    worst = max(hockey_stick(x, y, epsilon) for x in channel for y in channel)
    assert worst == pytest.approx(randomiser.delta_at(epsilon), abs=1e-12)
    assert worst <= delta / 2 + 1e-12
    smaller = max(hockey_stick(x, y, epsilon / 3) for x in channel for y in channel)
    assert smaller == pytest.approx(randomiser.delta_at(epsilon / 3), abs=1e-12)
    assert worst_log_ratio(channel) == pytest.approx(randomiser.loss(), abs=1e-9)
    if delta == 0:
        assert randomiser.loss() <= epsilon + 1e-12


def test_coins_are_the_published_formulas_rounded_down() -> None:
    randomiser = TwoStage(Budget(4, 1e-5), np.array([3, 2, 1]), 0.85)
    e = math.exp(3.4)
    assert randomiser.query_truth == pytest.approx((e + 0.85e-5 / 2 * 2) / (e + 2), abs=1e-14)
    e = math.exp(0.15 * 4)
    for q, k_q in ((0, 3), (1, 2)):
        assert randomiser.url_truth[q] == pytest.approx((e + 0.15e-5 / 2 * (k_q - 1)) / (e + k_q - 1), abs=1e-14)
    assert randomiser.url_truth[2] == 1


def test_a_list_without_urls_spends_the_whole_budget_on_the_query() -> None:
    randomiser = TwoStage(Budget(2), np.array([1, 1, 1, 1]), 0.85)
    assert randomiser.query_truth == pytest.approx(math.exp(2) / (math.exp(2) + 3), abs=1e-14)
    assert randomiser.loss() == pytest.approx(2, abs=1e-12)


def test_an_empty_list_reveals_nothing() -> None:
    randomiser = TwoStage(Budget(4, 1e-5), np.array([1]))
    assert randomiser.draw(np.zeros(5, dtype=np.int64), KnownKey(1)).tolist() == [0] * 5
    assert randomiser.loss() == 0
    assert randomiser.delta_at(4) == 0
    assert randomiser.channel().tolist() == [[1.0]]


def test_inputs_are_left_alone_and_blocks_join_up() -> None:
    cells = np.tile(np.arange(6), 20_000)
    before = cells.copy()
    reports = TwoStage(Budget(40), np.array([2, 3, 1])).draw(cells, SimulationRandom(1))
    assert np.array_equal(cells, before)
    assert (reports == cells).mean() > 0.99


@pytest.mark.parametrize("cells", [[], [0], [[1]]])
def test_impossible_lists_are_refused(cells: list[int]) -> None:
    with pytest.raises(ParameterError, match="cells_per_query"):
        TwoStage(Budget(1), np.array(cells, dtype=np.int64))


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, math.nan])
def test_budget_splits_out_of_range_are_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="query_share"):
        TwoStage(Budget(1), np.array([2, 1]), share)
