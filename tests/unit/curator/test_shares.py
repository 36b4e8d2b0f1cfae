"""Shares on two scales as numbers of people: no bias for people with habits, and honest variances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.arrays import Bools, Ids
from blendp.curator import counts_of_shares
from blendp.curator.by_weight import people_by_weight
from blendp.curator.mean_records import MAX_COUNTED, mean_noise, noisy_mean_records
from blendp.curator.shares import with_excess
from blendp.estimate.opt_in import counts_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import FilteredUnion, Holdings
from blendp.mechanisms.filtered_union.holdings import GRID, MAX_DIFFERENT
from blendp.methods.parameters import Parameters
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom
from tests.support import KnownKey

UNION = FilteredUnion(Budget(50, 1e-5))


def holdings_of(people: list[dict[int, int]]) -> Holdings:
    rows = [(i, record, times) for i, one in enumerate(people) for record, times in sorted(one.items())]
    owner, record, occurrences = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Holdings(len(people), owner, record, occurrences, np.ones(len(rows), dtype=bool))


def test_people_count_by_their_shares() -> None:
    """Two thousand people: half with one record alone, half with a quarter of theirs in each of four cells."""
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("c", "1")])
    holdings = holdings_of([{0: 3}, {0: 2, 1: 2, 3: 2, 5: 2}] * 1_000)
    cell_of_row = np.array([0, 1, 2, 3, 4, 5])[holdings.record]
    random = SimulationRandom(2)
    released = UNION.counts.draw(holdings, cell_of_row, head_list.query_of_cell, random)
    weights = np.array([900, 500, 500]) * GRID
    counts = counts_of_shares(head_list, holdings.people, released, weights, UNION)
    assert counts.people == pytest.approx([1_250, 250, 0, 250, 0, 250], abs=8)
    assert counts.people.sum() == pytest.approx(2_000)
    assert (counts.noise_variance > 0).all()
    assert counts.dispersion == pytest.approx((1 + 3 / 16) / 1.75, abs=0.02)
    assert counts.query_dispersion == pytest.approx((1 + 5 / 16) / 1.75, abs=0.02)
    assert counts.selected_above is None
    assert counts.prediction is not None
    assert np.flatnonzero(np.isnan(counts.prediction.people)).tolist() == [2, 4, 5]


def test_large_cells_have_their_own_ratio_and_small_ones_that_of_their_like() -> None:
    """The common ratio is that of the cells which take it: large ones, with what is theirs, have no part in it."""
    z = np.concatenate([np.full(4, 1000.0), np.full(40, 10.0)])
    x = np.concatenate([[300.0, 500, 400, 600], np.full(40, 1.0)])
    people, variance, common = with_excess(z, x, 1.0, 4.0)
    assert people[:4] == pytest.approx((z + x)[:4], rel=0.02)
    assert people[4:] == pytest.approx(np.full(40, 11.0), rel=0.02)
    assert (variance >= 1.0).all()
    assert (common[4:] ** 2 < variance[4:]).all()
    alike, narrow, _ = with_excess(np.full(30, 50.0), np.full(30, 10.0), 1.0, 4.0)
    assert alike == pytest.approx(np.full(30, 60.0))
    assert (narrow < 1.2**2 + 4).all()


@given(st.lists(st.tuples(st.floats(-5, 2000), st.floats(-5, 2000)), max_size=12), st.floats(1e-6, 100))
def test_whatever_comes_out_of_noise_is_a_number(cells: list[tuple[float, float]], noise: float) -> None:
    z, x = (np.array(column) for column in zip(*cells, strict=True)) if cells else (np.zeros(0), np.zeros(0))
    people, variance, common = with_excess(z, x, noise, 2 * noise)
    assert np.isfinite(people).all()
    assert np.isfinite(common).all()
    assert (np.isfinite(variance) & (variance > 0)).all()
    assert (common**2 <= variance).all()


@pytest.mark.statistical
def test_noise_and_habits_are_in_the_variance() -> None:
    """Cells that differ in what is clipped: the sums are hit without a bias, and the stated noise covers them."""
    generator = np.random.default_rng(3)
    size = np.concatenate([generator.uniform(20, 400, 60), generator.uniform(1, 8, 140)])
    errors, stated = [], []
    for _ in range(300):
        ratio = np.abs(generator.normal(0.4, 0.15, len(size)))
        z, x = size / (1 + ratio), size * ratio / (1 + ratio)
        people, variance, _ = with_excess(
            z + generator.normal(0, 1.5, len(size)), x + generator.normal(0, 2.5, len(size)), 1.5**2, 2.5**2
        )
        errors.append(people - size)
        stated.append(variance)
    error, variance = np.array(errors), np.array(stated)
    assert np.abs(error.mean(axis=0))[:60].max() < 0.6
    assert np.abs(error.mean(axis=0))[60:].max() < 0.5
    covered = np.abs(error) < 1.96 * np.sqrt(variance)
    assert 0.93 < covered[:, :60].mean() < 0.98
    assert 0.93 < covered[:, 60:].mean() < 0.99


@pytest.mark.statistical
def test_the_common_ratio_is_not_known_exactly() -> None:
    """One popular cell among a few small ones, none of which tells its own ratio: what all share is in the variance of
    the popular one, in which it is largest, and in that of the sum, which is not biased though little is clipped in
    small cells.
    """
    generator = np.random.default_rng(8)
    z, x = np.array([130.0, *[20.0] * 9, *[4.0] * 10]), np.array([33.0, *[4.0] * 9, *[0.2] * 10])
    errors, stated, sums = [], [], []
    for _ in range(3_000):
        noisy_z, noisy_x = z + generator.normal(0, 4.7, 20), x + generator.normal(0, 7.3, 20)
        people, variance, common = with_excess(noisy_z, noisy_x, 4.7**2, 7.3**2)
        errors.append(people - z - x)
        stated.append(variance)
        sums.append((variance - common**2).sum() + common.sum() ** 2)
    error, variance, total = np.array(errors), np.array(stated), np.array(errors).sum(axis=1)
    covered = np.abs(error) < 1.96 * np.sqrt(variance)
    assert 0.93 < covered[:, 0].mean() < 0.99
    assert 0.93 < covered.mean() < 0.99
    assert abs(total.mean()) < 0.2 * total.std()
    assert np.mean(sums) == pytest.approx(total.var(), rel=0.12)
    assert np.mean(sums) == pytest.approx(20 * (4.7**2 + 7.3**2), rel=0.02)


@pytest.mark.statistical
def test_the_variance_with_many_records_of_a_person_is_the_stated_one() -> None:
    """People with records that are alike: the claimed variance of a count is that of simulation, also of queries.

    phi p (1 - p) is a little more than the exact p (phi - p), which one phi for all cells could make negative.
    """
    head_list = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1")])
    m, users, random, generator = 3, 2_000, SimulationRandom(4), np.random.default_rng(4)
    union = FilteredUnion(Budget(8, 1e-5))
    taste = np.array([0.1, 0.05, 0.02, 0.03, 0.01, 0.04, 0.02, 0.73])
    owner, weights = np.repeat(np.arange(users), m), np.full(4, 100 * GRID)
    cells, queries, claimed, claimed_queries = [], [], [], []
    for _ in range(400):
        first, others = generator.choice(8, users, p=taste), generator.choice(8, (users, m), p=taste)
        rows = np.where(generator.random((users, m)) < 0.5, first[:, None], others).ravel()
        pairs, times = np.unique(owner * 8 + rows, return_counts=True)
        kept = np.ones(len(pairs), dtype=bool)
        holdings = Holdings(users, pairs // 8, pairs % 8, times.astype(np.int64), kept)
        released = union.counts.draw(holdings, holdings.record, head_list.query_of_cell, random)
        estimate = counts_estimate(counts_of_shares(head_list, users, released, weights, union))
        cells.append(estimate.cells.probability)
        queries.append(estimate.queries.probability)
        claimed.append(estimate.cells.variance)
        claimed_queries.append(estimate.queries.variance)
    truth = np.bincount(head_list.query_of_cell, weights=taste)
    for drawn, said, true in ((cells, claimed, taste), (queries, claimed_queries, truth)):
        spread = np.var(drawn, axis=0)
        bias = np.abs(np.mean(drawn, axis=0) - true) / np.sqrt(spread)
        assert bias.max() < 0.3, "of a standard deviation"
        ratio = np.mean(said, axis=0)[:-1] / spread[:-1]
        assert 0.75 < ratio.min() < ratio.max() < 1.5


@pytest.mark.statistical
@pytest.mark.parametrize("heterogeneity", [0.1, 0.6])
def test_weights_predict_as_well_as_they_say(heterogeneity: float) -> None:
    """How far records are from what their weight predicts is learnt from the list, whether that is near or far."""
    generator = np.random.default_rng(5)
    gaps, spreads = [], []
    for _ in range(60):
        people = 3 * generator.pareto(1.2, 150) + 3
        rate = 0.08 * np.exp(generator.normal(0, heterogeneity, 150))
        holders = generator.poisson(people / rate)
        weights = 0.7 * holders + generator.normal(0, 3.0, 150)
        z = people + generator.normal(0, np.sqrt(0.4 * people + 4))
        listed = weights > 15
        alike = np.ones(listed.sum())
        prediction = people_by_weight(z[listed], 4 * alike, 0.4, weights[listed], 3.0, alike)
        gaps.append(np.log(people[listed] / prediction.people))
        spreads.append(prediction.spread)
    gap, spread = np.concatenate(gaps), np.concatenate(spreads)
    assert abs(gap.mean()) < 0.15
    ratio = gap.std() / np.sqrt((spread**2).mean())
    assert 0.3 < ratio < 1.0
    assert np.median(spread) < 2.5 * heterogeneity + 0.3


@pytest.mark.parametrize("records", [0, 1, 5])
def test_short_lists_learn_nothing(records: int) -> None:
    people = np.linspace(2, 9, records)
    prediction = people_by_weight(people, np.ones(records), 0.5, 10 * people, 3.0, np.ones(records))
    assert all(len(each) == records for each in prediction)
    assert np.isfinite(prediction.people).all()
    assert (prediction.spread > 0.3).all()


def rows_of(different: list[int]) -> tuple[Ids, Ids, Bools]:
    """Records, occurrences and kept rows of people with so many different records."""
    record = np.concatenate([np.arange(d, dtype=np.int64) for d in different] or [np.empty(0, dtype=np.int64)])
    return record, np.ones_like(record), record < MAX_DIFFERENT


def test_the_mean_counts_a_bounded_part_of_everybody() -> None:
    epsilon = Parameters().mean_epsilon
    assert float(epsilon) == pytest.approx(0.08)
    assert float(mean_noise(epsilon).rate * MAX_COUNTED) == pytest.approx(0.08)
    records = [0, 1, 5, 20, 21, 10**3]
    many, few, nobody = (
        Holdings(times * 6, np.repeat(np.arange(times * 6), records * times), *rows_of(records * times))
        for times in (5_000, 1, 0)
    )
    assert noisy_mean_records(many, epsilon, KnownKey(1)) == pytest.approx((0 + 1 + 5 + 20 * 3) / 6, abs=0.02)
    drawn = [noisy_mean_records(few, epsilon, KnownKey(i)) * 6 - 66 for i in range(300)]
    assert np.std(drawn) == pytest.approx(np.sqrt(mean_noise(epsilon).variance), rel=0.25)
    assert noisy_mean_records(nobody, epsilon, KnownKey(1)) != 0
    one = Holdings(1, np.zeros(5, dtype=np.int64), *rows_of([5]))
    for key in range(3):
        noise = int(mean_noise(epsilon).draw(1, KnownKey(key))[0])
        assert noisy_mean_records(one, epsilon, KnownKey(key)) == 5 + noise
        assert noisy_mean_records(nobody, epsilon, KnownKey(key)) == noise
