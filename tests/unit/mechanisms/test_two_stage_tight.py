"""The tight version of the client's randomiser: its exact channel, and that it spends all of epsilon and no more."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.estimate import Tally, client_estimate
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget, worst_log_ratio
from blendp.randomness import Random
from tests.support import branches

LISTS = [[2, 1], [2, 3, 4, 1], [5, 5, 5, 1], [20, 2, 7, 13, 3, 1], [1, 4, 1, 2, 1]]


def tight(epsilon: float, cells: list[int], share: float = 0.85) -> TwoStage:
    return TwoStage(Budget(epsilon), np.array(cells), share, tight=True)


def exact_odds(epsilon: float) -> Fraction:
    """e^epsilon to 60 digits."""
    return Fraction(Decimal(epsilon).exp(Context(prec=60)))


def worst_ratio(randomiser: TwoStage) -> Fraction:
    """The largest ratio of the probabilities of a report, from the channel's exact fractions."""
    rows = [[p for p in row if p] for row in randomiser.cell_probabilities()]
    return max(max(row) / min(row) for row in rows)


@pytest.mark.parametrize("cells", LISTS, ids=str)
@pytest.mark.parametrize(("epsilon", "share"), [(4.0, 0.85), (1.0, 0.5), (0.3, 0.1)])
def test_the_code_draws_exactly_the_channel_it_states(cells: list[int], epsilon: float, share: float) -> None:
    randomiser = tight(epsilon, cells, share)
    stated, rows = randomiser.cell_probabilities(), np.repeat(np.arange(len(cells)), cells)
    few = {0, cells[0] - 1, len(rows) - 1, len(rows) // 2}
    for own_cell in range(len(rows)) if len(rows) < 16 else few:
        drawn = [Fraction(0)] * len(rows)

        def draw(random: Random, own_cell: int = own_cell) -> int:
            return int(randomiser.draw(np.array([own_cell]), random)[0])

        for report, probability in branches(draw):
            drawn[report] += probability
        for report in range(len(rows)):
            own, sibling, stranger = stated[rows[report]]
            assert drawn[report] == (
                own if report == own_cell else sibling if rows[report] == rows[own_cell] else stranger
            )
        assert sum(drawn) == 1


@settings(max_examples=80)
@given(
    cells=st.lists(st.integers(1, 30), min_size=1, max_size=6), epsilon=st.floats(0.01, 12), share=st.floats(0.05, 0.95)
)
def test_the_whole_epsilon_is_spent_and_no_more(cells: list[int], epsilon: float, share: float) -> None:
    """No ratio exceeds e^epsilon, in exact fractions; the worst reaches it wherever a query has a URL to hide."""
    randomiser = tight(epsilon, [*cells, 1], share)
    bound = exact_odds(epsilon)
    assert worst_ratio(randomiser) <= bound
    assert worst_ratio(randomiser) >= bound * (1 - Fraction(len(cells) + 30, 1 << 20))
    assert randomiser.loss() == pytest.approx(epsilon, rel=1e-9)
    assert randomiser.delta_at(epsilon) == 0
    assert randomiser.delta_at(epsilon * 0.9) > 0
    assert worst_log_ratio(randomiser.channel()) == pytest.approx(epsilon, rel=1e-9)


def test_its_loss_is_never_said_to_be_above_epsilon() -> None:
    """Rounding of the logarithm must not turn a promise that is kept into one that is not."""
    for epsilon in np.random.default_rng(1).uniform(0.01, 1, 400).tolist():
        for cells in ([3, 3, 1], [2, 2, 1]):
            assert tight(epsilon, cells).loss() <= epsilon
            assert tight(epsilon, cells).delta_at(epsilon) == 0


def test_the_url_coin_is_the_formula_rounded_down() -> None:
    for epsilon, share, k_q in [(4.0, 0.85, 3), (4.0, 0.85, 2), (4.0, 0.3, 2), (1.0, 0.5, 20)]:
        randomiser = tight(epsilon, [k_q, 1, 1], share)
        by_query = math.exp(epsilon * (1 - share)) / k_q
        by_url = math.exp(epsilon) / (math.exp(epsilon) + k_q - 1)
        assert randomiser.url_truth[0] == pytest.approx(min(by_query, by_url), rel=1e-14)
        assert randomiser.url_truth[1] == 1
        assert randomiser.query_truth == TwoStage(Budget(epsilon), np.array([k_q, 1, 1]), share).query_truth
        assert randomiser.url_truth[0] > TwoStage(Budget(epsilon), np.array([k_q, 1, 1]), share).url_truth[0]
    # both sides of the minimum were met
    assert math.exp(4 * 0.15) / 3 < math.exp(4) / (math.exp(4) + 2)
    assert math.exp(4 * 0.7) / 2 > math.exp(4) / (math.exp(4) + 1)


def test_a_larger_coin_would_break_the_promise() -> None:
    """Power: one part in a million more, and the exact ratio is above e^epsilon."""
    randomiser = tight(4.0, [3, 2, 1])
    more = (randomiser.url_coins[:2] + (randomiser.url_coins[:2] // 10**6)).astype(np.uint64)
    object.__setattr__(randomiser, "url_coins", np.append(more, randomiser.url_coins[2:]))
    assert worst_ratio(randomiser) > exact_odds(4.0)


def test_a_list_without_urls_is_the_same_with_and_without() -> None:
    plain, other = TwoStage(Budget(2), np.array([1, 1, 1, 1])), tight(2, [1, 1, 1, 1])
    assert np.array_equal(plain.channel(), other.channel())


def test_a_delta_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta"):
        TwoStage(Budget(4, 1e-5), np.array([2, 1]), tight=True)


@pytest.mark.statistical
def test_estimates_are_unbiased_with_unbiased_variance_and_smaller_than_the_published() -> None:
    cells = np.array([2, 3, 4, 1, 12, 1])
    rows = np.repeat(np.arange(len(cells)), cells)
    generator = np.random.default_rng(3)
    p = generator.dirichlet(np.full(len(rows), 0.5))
    spreads = []
    for randomiser in (tight(4.0, cells.tolist()), TwoStage(Budget(4), cells)):
        drawn = generator.multinomial(5_000, p @ randomiser.channel(), size=4_000)
        estimates = [client_estimate(Tally.of_counts(counts, cells), randomiser) for counts in drawn]
        for level, truth in (("cells", p), ("queries", np.bincount(rows, weights=p))):
            values = np.array([getattr(e, level).probability for e in estimates])
            claimed = np.mean([getattr(e, level).variance for e in estimates], axis=0)
            spread = values.var(axis=0, ddof=1)
            assert np.abs((values.mean(axis=0) - truth) / np.sqrt(spread / len(estimates))).max() < 4.5
            assert np.abs(claimed / spread - 1).max() < 0.11
        spreads.append(np.mean([e.cells.variance for e in estimates], axis=0))
    several = cells[rows] > 1
    assert (spreads[0][several] < spreads[1][several]).all()
