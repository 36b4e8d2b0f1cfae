"""Client estimates: unbiased, with honest variances, at small and at full size; every edge case defined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.estimate import GroupEstimate, Level, Tally, client_estimate
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom

MIXED = np.array([2, 3, 4, 1, 20, 1])
AOL = np.r_[np.repeat([2, 3, 5], 12), 1]
"""36 queries with 84 records: the shape of the published list."""


def population(cells_per_query: NDArray[np.int64], head: float, seed: int) -> NDArray[np.float64]:
    p = np.random.default_rng(seed).dirichlet(np.full(int(cells_per_query.sum()), 0.5)) * head
    p[-1] += 1 - head
    return p


@settings(max_examples=60)
@given(
    cells=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    epsilon=st.floats(0.2, 8),
    users=st.integers(1, 40),
    per_user=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_the_records_of_a_query_sum_to_the_query(
    cells: list[int], epsilon: float, users: int, per_user: int, seed: int
) -> None:
    cells_per_query = np.array([*cells, 1])
    reports = SimulationRandom(seed).below(int(cells_per_query.sum()), users * per_user).reshape(users, per_user)
    estimate = client_estimate(
        Tally.of_reports(reports, cells_per_query), TwoStage(Budget(epsilon, 1e-5), cells_per_query)
    )
    rows = np.repeat(np.arange(len(cells_per_query)), cells_per_query)
    sums = np.bincount(rows, weights=estimate.cells.probability)
    scale = max(1.0, float(np.abs(estimate.cells.probability).max()))
    assert np.abs(sums - estimate.queries.probability).max() < 1e-12 * scale
    assert estimate.queries.probability.sum() == pytest.approx(1, abs=1e-9 * scale)
    assert (estimate.cells.variance >= 0).all()
    assert (estimate.cells.floor > 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("cells", "users"), [(MIXED, 30), (MIXED, 1_000), (AOL, 493_402)], ids=["30", "1000", "aol"])
def test_unbiased_with_unbiased_variance(cells: NDArray[np.int64], users: int) -> None:
    """Draw the aggregate of all reports from its exact law, many times."""
    randomiser = TwoStage(Budget(4, 1e-5), cells)
    p = population(cells, 0.09 if users > 10_000 else 0.6, seed=1)
    law, generator, runs = p @ randomiser.channel(), np.random.default_rng(2), 6_000
    drawn = generator.multinomial(users, law, size=runs)
    estimates = [client_estimate(Tally.of_counts(counts, cells), randomiser) for counts in drawn]
    rows = np.repeat(np.arange(len(cells)), cells)
    for level, truth in (("cells", p), ("queries", np.bincount(rows, weights=p))):
        values = np.array([getattr(e, level).probability for e in estimates])
        variances = np.array([getattr(e, level).variance for e in estimates])
        z = (values.mean(axis=0) - truth) / (values.std(axis=0) / np.sqrt(runs))
        assert np.abs(z).max() < 4.5
        ratio = variances.mean(axis=0) / values.var(axis=0, ddof=1)
        # the sample variance of 6000 draws is good to 1.8 % (kurtosis 3): 4.5 sigma
        assert np.abs(ratio - 1).max() < (0.25 if users == 30 else 0.085)
        assert np.median(np.abs(ratio - 1)) < 0.04


@pytest.mark.statistical
@pytest.mark.parametrize("cells", [MIXED, AOL], ids=["small", "aol"])
def test_the_floor_is_the_variance_of_what_nobody_holds(cells: NDArray[np.int64]) -> None:
    randomiser, users, runs = TwoStage(Budget(4, 1e-5), cells), 20_000, 6_000
    nobody = np.zeros(int(cells.sum()))
    nobody[-1] = 1
    drawn = np.random.default_rng(7).multinomial(users, nobody @ randomiser.channel(), size=runs)
    estimates = [client_estimate(Tally.of_counts(counts, cells), randomiser) for counts in drawn]
    for level in ("cells", "queries"):
        spread = np.var([getattr(e, level).probability[:-1] for e in estimates], axis=0)
        assert np.abs(getattr(estimates[0], level).floor[:-1] / spread - 1).max() < 0.1


@pytest.mark.statistical
def test_a_wrong_coin_would_be_seen() -> None:
    """Power: decoding with the coins of an epsilon 2 % off is far from the truth in the same number of runs."""
    right, wrong = TwoStage(Budget(4, 1e-5), AOL), TwoStage(Budget(4.08, 1e-5), AOL)
    p, generator, runs = population(AOL, 0.09, seed=1), np.random.default_rng(2), 6_000
    drawn = generator.multinomial(493_402, p @ right.channel(), size=runs)
    values = np.array([client_estimate(Tally.of_counts(counts, AOL), wrong).cells.probability for counts in drawn])
    assert np.abs((values.mean(axis=0) - p) / (values.std(axis=0) / np.sqrt(runs))).max() > 50


@pytest.mark.statistical
def test_reports_of_one_person_that_are_alike_widen_the_error() -> None:
    """Three reports about the same record: the clustered variance is right, that of independent reports is not."""
    cells, users, per_user = MIXED, 400, 3
    randomiser = TwoStage(Budget(8), cells)
    p, generator = population(MIXED, 0.8, seed=3), np.random.default_rng(4)
    values, clustered, naive = [], [], []
    for run in range(1_500):
        own_cells = generator.choice(len(p), size=users, p=p)
        reports = randomiser.draw(np.repeat(own_cells, per_user), SimulationRandom(run)).reshape(users, per_user)
        estimate = client_estimate(Tally.of_reports(reports, cells), randomiser)
        values.append(estimate.cells.probability)
        clustered.append(estimate.cells.variance)
        naive.append(client_estimate(Tally.of_reports(reports.reshape(-1, 1), cells), randomiser).cells.variance)
    truth = np.var(values, axis=0)
    z = (np.mean(values, axis=0) - p) / np.sqrt(truth / len(values))
    assert np.abs(z).max() < 4.5
    assert np.abs(np.mean(clustered, axis=0) / truth - 1).max() < 0.2
    assert (np.mean(naive, axis=0) / truth).min() < 0.5


def test_the_conference_variance_is_negative_at_full_size() -> None:
    randomiser = TwoStage(Budget(4, 1e-5), AOL)
    p = population(AOL, 0.09, seed=1)
    counts = np.random.default_rng(5).multinomial(493_402, p @ randomiser.channel())
    tally = Tally.of_counts(counts, AOL)
    mended, journal, conference = (
        client_estimate(tally, randomiser, edition).cells.variance[:-1]
        for edition in ("mended", "journal", "conference")
    )
    assert (conference < 0).all()
    assert -5e5 < np.mean(conference / mended) < -1e5
    assert np.abs(journal / mended - 1).max() < 1e-5


def test_the_journal_variance_divides_twice_by_n_minus_one() -> None:
    randomiser = TwoStage(Budget(4, 1e-5), MIXED)
    counts = np.random.default_rng(6).multinomial(30, population(MIXED, 0.6, 1) @ randomiser.channel())
    tally = Tally.of_counts(counts, MIXED)
    mended, journal = (client_estimate(tally, randomiser, v).cells.variance for v in ("mended", "journal"))
    real = MIXED[np.repeat(np.arange(len(MIXED)), MIXED)] > 1
    assert (journal[real] >= mended[real]).all()
    assert 1 < np.max(journal[real] / mended[real]) < 1.05


@pytest.mark.parametrize("per_user", [1, 3])
def test_the_estimate_is_the_channel_inverted_and_its_variance_that_of_single_clients(per_user: int) -> None:
    """Every client's reports are decoded by the inverse of the channel; their mean is the estimate, their sample
    variance is its variance, and the floor that of a client who holds another query's record.
    """
    randomiser, users = TwoStage(Budget(2), MIXED), 40
    reports = SimulationRandom(4).below(31, users * per_user).reshape(users, per_user)
    rows = np.repeat(np.arange(len(MIXED)), MIXED)
    channel = randomiser.channel()
    decoded = np.linalg.inv(channel)  # a row for every report: what it says about all cells
    decoded_queries = np.array([np.bincount(rows, weights=row) for row in decoded])
    estimate = client_estimate(Tally.of_reports(reports, MIXED), randomiser)
    for level, values, of_cell in (
        (estimate.cells, decoded, np.arange(31)),
        (estimate.queries, decoded_queries, np.searchsorted(rows, np.arange(6))),
    ):
        own = values[reports].mean(axis=1)
        assert level.probability == pytest.approx(own.mean(axis=0))
        assert level.variance == pytest.approx(own.var(axis=0, ddof=1) / users)
        others = channel[np.where(rows[of_cell] == 0, 30, 0)]
        assert level.floor == pytest.approx((others * values.T**2).sum(axis=1) / (users * per_user), rel=1e-6)


def test_printed_variances_are_theorem_4_6() -> None:
    """In both editions, term by term, for cells of queries with several."""
    randomiser, counts = TwoStage(Budget(2), MIXED), np.arange(1, 32)
    rows = np.repeat(np.arange(len(MIXED)), MIXED)
    n, k, t = int(counts.sum()), len(MIXED), randomiser.query_truth
    r = counts / n
    r_q = np.bincount(rows, weights=r)
    contrast = t - (1 - t) / (k - 1)
    journal, conference = (
        client_estimate(Tally.of_counts(counts, MIXED), randomiser, edition) for edition in ("journal", "conference")
    )
    of_queries = r_q * (1 - r_q) / (n - 1) / contrast**2
    assert journal.queries.variance == pytest.approx(of_queries)
    assert conference.queries.variance == pytest.approx(of_queries)
    for cell in range(9):
        k_q, t_q, of_query = MIXED[rows[cell]], randomiser.url_truth[rows[cell]], of_queries[rows[cell]]
        stranger, sibling = (1 - t) / ((k - 1) * k_q), t * (1 - t_q) / (k_q - 1)
        among, own, total = stranger - sibling, r[cell], r_q[rows[cell]]
        together = 2 * among * own * (1 - total) / (n * contrast)
        printed = n / (n - 1) * (own * (1 - own) / n + among**2 * of_query + together)
        assert journal.cells.variance[cell] == pytest.approx(printed / (t * t_q - sibling) ** 2)
        together = 2 * n / (n - 1) * among * (k - 2 + t) / (k * t - 1) * own
        printed = own * (1 - own) / (n - 1) + among**2 * of_query + together
        assert conference.cells.variance[cell] == pytest.approx(printed / (t * t_q - sibling) ** 2)


def test_a_variance_is_never_negative() -> None:
    """Where nearly all reports are of one query, what is subtracted can be larger by rounding."""
    randomiser = TwoStage(Budget(0.01), np.array([2, 1]))
    estimate = client_estimate(Tally.of_counts(np.array([0, 0, 9]), np.array([2, 1])), randomiser)
    assert (estimate.cells.variance >= 0).all()


def test_a_query_with_one_cell_has_the_estimate_of_its_query() -> None:
    randomiser = TwoStage(Budget(4, 1e-5), MIXED)
    tally = Tally.of_counts(np.arange(1, 32), MIXED)
    for edition in ("mended", "journal", "conference"):
        estimate = client_estimate(tally, randomiser, edition)
        for cell, query in ((9, 3), (30, 5)):
            assert estimate.cells.probability[cell] == estimate.queries.probability[query]
            assert estimate.cells.variance[cell] == estimate.queries.variance[query]


def test_an_empty_list_is_certain() -> None:
    cells = np.array([1])
    estimate = client_estimate(Tally.of_counts(np.array([7]), cells), TwoStage(Budget(4), cells))
    for level in (estimate.cells, estimate.queries):
        assert (level.probability.tolist(), level.variance.tolist(), level.floor.tolist()) == ([1], [0], [0])


def test_no_client_says_nothing_and_one_client_knows_no_error() -> None:
    randomiser = TwoStage(Budget(4), MIXED)
    nobody = client_estimate(Tally.of_reports(np.zeros((0, 1), dtype=np.int64), MIXED), randomiser)
    assert nobody.users == 0
    assert np.isnan(nobody.cells.probability).all()
    assert np.isinf(nobody.cells.variance).all()
    single = client_estimate(Tally.of_reports(np.array([[3]]), MIXED), randomiser)
    assert np.isfinite(single.cells.probability).all()
    assert np.isinf(single.cells.variance).all()


def test_tallies_of_counts_and_of_reports_agree() -> None:
    reports = SimulationRandom(3).below(31, 500).reshape(500, 1)
    by_counts = Tally.of_counts(np.bincount(reports.ravel(), minlength=31), MIXED)
    by_reports = Tally.of_reports(reports, MIXED)
    assert np.array_equal(by_counts.cell, by_reports.cell)
    assert np.array_equal(by_counts.query, by_reports.query)


def test_the_tally_of_several_reports_is_that_of_a_loop_over_people() -> None:
    reports = SimulationRandom(9).below(31, 120).reshape(40, 3)
    tally = Tally.of_reports(reports, MIXED)
    rows = np.repeat(np.arange(len(MIXED)), MIXED)
    x = np.array([np.bincount(row, minlength=31) / 3 for row in reports])
    x_q = np.array([np.bincount(rows, weights=row) for row in x])
    assert np.allclose(tally.cell, x.mean(axis=0))
    assert np.allclose(tally.cell_square, (x**2).mean(axis=0))
    assert np.allclose(tally.query_square, (x_q**2).mean(axis=0))
    assert np.allclose(tally.cross, (x * x_q[:, rows]).mean(axis=0))


def test_estimates_are_validated_frozen_and_printable() -> None:
    randomiser = TwoStage(Budget(4), MIXED)
    estimate = client_estimate(Tally.of_counts(np.arange(1, 32), MIXED), randomiser)
    assert str(estimate).startswith("496 people on 31 cells of 6 queries, typical error of a query ±0.0")
    with pytest.raises(ValueError, match="read-only"):
        estimate.cells.probability[0] = 1
    with pytest.raises(ParameterError, match="vectors of one length"):
        Level(np.zeros(2), np.zeros(3), np.zeros(2))
    with pytest.raises(ParameterError, match="users"):
        GroupEstimate(-1, estimate.cells, estimate.queries)
    with pytest.raises(ParameterError, match="variance"):
        client_estimate(Tally.of_counts(np.arange(1, 32), MIXED), randomiser, "typo")
