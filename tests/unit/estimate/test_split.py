"""Reports by some about the query and by others about the record: each arm, and both put together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.estimate import Arm, GroupEstimate, Split, reconcile, split_estimate
from blendp.mechanisms import SubsetSelection
from blendp.reports import frequency_oracle

CELLS = np.array([3, 2, 5, 2, 1])
"""Cells per query, <*,*> last."""
ROWS = np.repeat(np.arange(len(CELLS)), CELLS)


def by_matrix(x: Array, v: Array, y: Array, v_y: Array, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    """Generalised least squares: cells and query sums observed together; the estimates and their covariance."""
    design = np.vstack([np.eye(len(x)), (np.arange(len(y))[:, None] == rows).astype(np.float64)])
    weights = np.diag(1 / np.concatenate([v, v_y]))
    covariance = np.linalg.inv(design.T @ weights @ design)
    return covariance @ design.T @ weights @ np.concatenate([x, y]), covariance


@settings(max_examples=80)
@given(blocks=st.lists(st.integers(1, 6), min_size=1, max_size=5), seed=st.integers(0, 10_000))
def test_it_is_generalised_least_squares(blocks: list[int], seed: int) -> None:
    rows = np.repeat(np.arange(len(blocks)), blocks)
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=len(rows)), generator.normal(size=len(blocks))
    v, v_y = (10 ** generator.uniform(-3, 3, len(z)) for z in (x, y))
    p, variance, query, query_variance = reconcile(x, v, y, v_y, rows)
    best, covariance = by_matrix(x, v, y, v_y, rows)
    members = (np.arange(len(blocks))[:, None] == rows).astype(np.float64)
    assert p == pytest.approx(best, rel=1e-6, abs=1e-8)
    assert variance == pytest.approx(np.diag(covariance), rel=1e-6)
    assert query == pytest.approx(members @ best, rel=1e-6, abs=1e-7)
    assert query_variance == pytest.approx(np.diag(members @ covariance @ members.T), rel=1e-6)
    assert np.bincount(rows, weights=p) == pytest.approx(query, rel=1e-12, abs=1e-12 * np.abs(p).max())
    assert (variance <= v * (1 + 1e-12)).all()
    assert (query_variance <= np.minimum(v_y, np.bincount(rows, weights=v)) * (1 + 1e-12)).all()


def test_where_one_side_is_unknown_the_other_stands_alone() -> None:
    x, v, y = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.1])
    rows = np.array([0, 0, 1])
    p, variance, query, query_variance = reconcile(x, v, np.array([np.nan, 0.1]), np.array([np.inf, 3.0]), rows)
    assert p[:2].tolist() == [0.1, 0.2]
    assert variance[:2].tolist() == [1, 2]
    assert query == pytest.approx([0.3, 0.2])
    assert query_variance.tolist() == [3, 1.5]
    p, variance, query, query_variance = reconcile(x, np.full(3, np.inf), y, np.ones(2), rows)
    assert np.isnan(p).all()
    assert np.isinf(variance).all()
    assert query.tolist() == y.tolist()
    assert query_variance.tolist() == [1, 1]


def test_what_is_certain_stays_and_what_is_uncertain_takes_the_gap() -> None:
    rows = np.array([0, 0])
    p, variance, query, query_variance = reconcile(
        np.array([0.1, 0.2]), np.array([0.0, 1.0]), np.array([0.7]), np.array([0.0]), rows
    )
    assert p.tolist() == pytest.approx([0.1, 0.6])
    assert variance.tolist() == [0, 0]
    assert (query[0], query_variance[0]) == (pytest.approx(0.7), 0)
    sure = reconcile(np.array([0.1, 0.2]), np.zeros(2), np.array([0.7]), np.ones(1), rows)
    assert sure[0].tolist() == [0.1, 0.2]
    assert sure[2].tolist() == pytest.approx([0.3])


def test_many_at_once_are_each_as_alone() -> None:
    generator = np.random.default_rng(1)
    x, y = generator.normal(size=(4, 12)), generator.normal(size=(4, 4))
    v, v_y = generator.random((4, 12)), generator.random((4, 4))
    together = reconcile(x, v, y, v_y, ROWS[:-1])
    for i in range(4):
        for whole, alone in zip(together, reconcile(x[i], v[i], y[i], v_y[i], ROWS[:-1]), strict=True):
            assert np.array_equal(whole[i], alone)


def drawn(
    p: Array, clients: int, share: float, epsilon: float, generator: np.random.Generator, oracle: str = "split"
) -> Split:
    """The reports of clients with these probabilities, added up."""
    queries, cells = (frequency_oracle(oracle, epsilon, len(items)) for items in (CELLS, ROWS))
    asked = round(share * clients)
    of_query = generator.multinomial(asked, np.bincount(ROWS, weights=p))
    of_cell = generator.multinomial(clients - asked, p)
    return Split(
        Arm(queries, asked, queries.supports_of_counts(of_query, generator)),
        Arm(cells, clients - asked, cells.supports_of_counts(of_cell, generator)),
        ROWS,
    )


def unbiased(values: list[Array], claimed: list[Array], truth: Array, within: float) -> None:
    spread = np.var(values, axis=0, ddof=1)
    assert np.abs((np.mean(values, axis=0) - truth) / np.sqrt(spread / len(values))).max() < 4.5
    assert np.abs(np.mean(claimed, axis=0) / spread - 1).max() < within


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "share", "oracle"), [(1.0, 0.5, "split"), (4.0, 0.8, "split"), (1.0, 0.5, "apart")]
)
def test_both_arms_and_their_union_are_unbiased_with_the_stated_variance(
    epsilon: float, share: float, oracle: str
) -> None:
    generator = np.random.default_rng(2)
    p = generator.dirichlet(np.full(len(ROWS), 0.7))
    p_q: Array = np.bincount(ROWS, weights=p).astype(np.float64)
    splits = [drawn(p, 6_000, share, epsilon, generator, oracle) for _ in range(1_500)]
    for name, truth in (("cells", p), ("queries", p_q)):
        levels = [getattr(split, name).level for split in splits]
        unbiased([one.probability for one in levels], [one.variance for one in levels], truth, 0.18)
        # clients' items sum to 1 in every arm
        assert np.abs([one.probability.sum() - 1 for one in levels]).max() < 1e-9
        seen = [getattr(split, name).observe(truth[:-1]) for split in splits]
        unbiased([x for x, _ in seen], [v for _, v in seen], truth[:-1], 0.18)
        arm, rest = getattr(splits[0], name), float(np.clip(levels[0].probability[-1], 0, 1))
        floor = [*arm.randomiser.variance(np.zeros(len(truth) - 1), arm.users, rest)]
        assert levels[0].floor == pytest.approx([*floor, arm.randomiser.rest_variance(0.0, arm.users)])
    estimates = [split_estimate(split) for split in splits]
    # arms are taken as independent cell by cell, so the variance of the union is on the wide side by a little
    for name, truth in (("cells", p), ("queries", p_q)):
        levels = [getattr(one, name) for one in estimates]
        unbiased([one.probability for one in levels], [one.variance for one in levels], truth, 0.3)
        assert (
            np.mean([one.variance for one in levels], axis=0).max()
            <= np.mean([getattr(split, name).level.variance for split in splits], axis=0).max()
        )
    for one in estimates[:50]:
        assert np.abs(np.bincount(ROWS, weights=one.cells.probability) - one.queries.probability).max() < 1e-12


@pytest.mark.statistical
def test_another_epsilon_would_be_seen() -> None:
    """Power: supports read with an epsilon 3 % off are far from the truth in as many runs."""
    generator = np.random.default_rng(2)
    p = generator.dirichlet(np.full(len(ROWS), 0.7))
    wrong, values = SubsetSelection(4.12, len(ROWS)), []
    for _ in range(1_500):
        arm = drawn(p, 6_000, 0.2, 4.0, generator).cells
        values.append(Arm(wrong, arm.users, arm.supports.copy()).level.probability)
    assert np.abs((np.mean(values, axis=0) - p) / np.sqrt(np.var(values, axis=0) / len(values))).max() > 8


def test_an_arm_without_clients_says_nothing() -> None:
    p, generator = np.full(len(ROWS), 1 / len(ROWS)), np.random.default_rng(3)
    alone = split_estimate(drawn(p, 500, 0.0, 2.0, generator))
    assert np.isfinite(alone.cells.probability).all()
    assert np.isfinite(alone.queries.variance).all()
    assert np.bincount(ROWS, weights=alone.cells.probability) == pytest.approx(alone.queries.probability)
    only_queries = drawn(p, 500, 1.0, 2.0, generator)
    estimate = split_estimate(only_queries)
    assert np.isnan(estimate.cells.probability).all()
    assert np.array_equal(estimate.queries.probability, only_queries.queries.level.probability)
    x, v = only_queries.cells.observe(p[:-1])
    assert np.isfinite(x).all()
    assert np.isinf(v).all()
    nobody: GroupEstimate = split_estimate(drawn(p, 0, 0.5, 2.0, generator))
    assert nobody.users == 0
    assert np.isnan(nobody.cells.probability).all()
    assert np.isinf(nobody.queries.variance).all()


def coins(f: Array, arm: Arm) -> Array:
    """The variance of (s/n - q)/(p - q), s the number of reports that name an item of frequency f."""
    assert isinstance(arm.randomiser, SubsetSelection)
    hit, stray = arm.randomiser.hit, arm.randomiser.stray
    share = stray + f * (hit - stray)
    return np.asarray(share * (1 - share) / (arm.users * (hit - stray) ** 2))


def test_frequencies_beyond_their_range_have_the_variance_of_its_end() -> None:
    """The estimates themselves stay where they are, so that they keep no bias."""
    randomiser = SubsetSelection(2.0, 5)
    arm = Arm(randomiser, 100, np.array([100, 0, 0, 40, 100 * randomiser.size - 140]))
    level = arm.level
    assert level.probability[0] > 1
    assert level.probability[1] < 0
    assert level.probability == pytest.approx(
        (arm.supports / 100 - randomiser.stray) / (randomiser.hit - randomiser.stray)
    )
    assert level.variance == pytest.approx(coins(np.clip(level.probability, 0, 1), arm))
    assert level.floor == pytest.approx(coins(np.zeros(5), arm))
    expected = np.array([1.3, -0.2, 0.1, 0.2])
    x, variance = arm.observe(expected)
    assert x.tolist() == level.probability[:-1].tolist()
    assert variance == pytest.approx(coins(np.clip(expected, 0, 1), arm))
    with pytest.raises(ValueError, match="read-only"):
        arm.supports[0] = 1


@pytest.mark.parametrize(("expected", "rest"), [([0.1, 0.2], 0.7), ([0.8, 0.4], 0.0), ([-0.2, 0.1], 1.0)])
def test_what_is_expected_of_the_others_leaves_the_rest(expected: list[float], rest: float) -> None:
    """Where the wildcard is apart the variance of a listed item depends on how many hold none."""
    randomiser = frequency_oracle("apart", 2.0, 3)
    arm = Arm(randomiser, 200, np.array([60, 75, 70]))
    values = np.array(expected)
    assert arm.rest_variance(values) == pytest.approx(float(randomiser.rest_variance(rest, 200)))
    _, variance = arm.observe(values)
    assert variance == pytest.approx(randomiser.variance(np.clip(values, 0, 1), 200, rest))
    level = arm.level
    *listed, last = np.clip(level.probability, 0, 1)
    variances = [*randomiser.variance(np.array(listed), 200, last), randomiser.rest_variance(last, 200)]
    assert level.variance == pytest.approx(variances)


def test_one_client_and_two_arms_are_added() -> None:
    split = drawn(np.full(len(ROWS), 1 / len(ROWS)), 7, 0.4, 2.0, np.random.default_rng(4))
    assert (split.queries.users, split.cells.users, split.users) == (3, 4, 7)
    estimate = split_estimate(split)
    assert estimate.users == 7
    cells, queries = split.cells.level, split.queries.level
    p, variance = by_matrix(cells.probability, cells.variance, queries.probability, queries.variance, ROWS)
    assert estimate.cells.probability == pytest.approx(p)
    assert estimate.cells.variance == pytest.approx(np.diag(variance))
    assert estimate.queries.probability == pytest.approx(np.bincount(ROWS, weights=p))
    _, floor = by_matrix(cells.probability, cells.floor, queries.probability, queries.floor, ROWS)
    assert estimate.cells.floor == pytest.approx(np.diag(floor))


def test_supports_of_other_items_are_refused() -> None:
    with pytest.raises(ParameterError, match="supports"):
        Arm(SubsetSelection(1.0, 4), 9, np.zeros(3, dtype=np.int64))
