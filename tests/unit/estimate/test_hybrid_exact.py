"""The blend against formulas of its own: dense integration, least squares by matrices, and the cap to the digit."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from blendp.arrays import Array
from blendp.estimate import Arm, Blend, InfluenceGuard, Posterior, Split, hybrid_blend
from blendp.mechanisms import SubsetSelection
from tests.unit.estimate.test_split import by_matrix

ROWS = np.array([0, 0, 0, 1, 1, 2, 3])
"""The query of every cell; the last is <*,*>."""
LISTED = ROWS[:-1]
MEANS = np.array([0.05, 0.02, 0.03, 0.08, 0.04, 0.06])
USERS = 10_000


def normal(deviation: Array, users: int = USERS) -> Posterior:
    """Cells with these means and normal densities."""
    grid = MEANS[:, None] + deviation[:, None] * np.linspace(-9, 9, 3_000)
    grid = grid[:, :1] * (grid[:, -1:] / grid[:, :1]) ** np.linspace(0, 1, 3_000)
    log_density = -((grid - MEANS[:, None]) ** 2) / (2 * deviation[:, None] ** 2)
    return Posterior(users, grid, log_density + np.log(grid))


def lopsided(shape: Array) -> Posterior:
    """Cells with these means and the densities of gamma laws."""
    scale = (MEANS / shape)[:, None]
    low, high = (stats.gamma.ppf(level, shape)[:, None] * scale for level in (1e-9, 1 - 1e-12))
    grid = low * (high / low) ** np.linspace(0, 1, 3_000)
    return Posterior(USERS, grid, stats.gamma.logpdf(grid / scale, shape[:, None]) + np.log(grid))


def saying(cells: Array | None, queries: Array | None, users: int, epsilon: float = 2.0) -> Split:
    """Clients whose estimates are these, up to rounding to whole people; None: nobody is asked."""
    arms = []
    for values, items in ((queries, ROWS[-1] + 1), (cells, len(ROWS))):
        randomiser, asked = SubsetSelection(epsilon, int(items)), users if values is not None else 0
        share = np.zeros(items) if values is None else np.append(values, 1 - values.sum())
        supports = asked * (randomiser.stray + share * (randomiser.hit - randomiser.stray))
        arms.append(Arm(randomiser, asked, np.rint(supports).astype(np.int64)))
    return Split(arms[0], arms[1], ROWS)


def sums(values: Array) -> Array:
    return np.asarray([values[row == LISTED].sum() for row in range(ROWS[-1])])


def observed(posterior: Posterior, split: Split) -> tuple[Array, Array, Array, Array]:
    """What the clients say, and the variances of that; a huge one where nobody is asked."""
    (x, v), (y, v_y) = split.cells.observe(posterior.mean), split.queries.observe(sums(posterior.mean))
    return x, np.minimum(v, 1e9), y, np.minimum(v_y, 1e9)


def moved(estimate: Array, centre: Array, variance: Array, cap: float | None) -> Array:
    """To at most c standard errors of the difference."""
    reach = np.inf if cap is None else cap
    return np.asarray(centre + np.sqrt(variance) * np.clip((estimate - centre) / np.sqrt(variance), -reach, reach))


def agree(blend: tuple[Blend, Blend], p: Array, variance: Array, p_q: Array, v_q: Array) -> None:
    """To a thousandth of a standard error, and a half percent of a variance."""
    cells, queries = blend
    assert (cells.probability[:-1] - p) / np.sqrt(variance) == pytest.approx(np.zeros(6), abs=4e-3)
    assert cells.variance[:-1] == pytest.approx(variance, rel=6e-3)
    assert (queries.probability[:-1] - p_q) / np.sqrt(v_q) == pytest.approx(np.zeros(3), abs=4e-3)
    assert queries.variance[:-1] == pytest.approx(v_q, rel=6e-3)
    for level in blend:
        assert level.probability[-1] == blend[0].probability[-1]


def rest_of(own: Array, split: Split, psi: float, kappa: float, cap: float | None) -> tuple[float, float, float]:
    """<*,*> by hand: both questions weighed by precision, capped, then with 1 less the opt-in group's sum."""
    expected, between = 1 - MEANS.sum(), ((kappa * MEANS) ** 2).sum()
    said = [
        (arm.randomiser.estimate(arm.supports, arm.users)[-1], arm.randomiser.rest_variance(expected, arm.users))
        for arm in (split.cells, split.queries)
        if arm.users
    ]
    precision = sum(1 / v for _, v in said)
    v_o, v_c = own.sum() + (1 - psi) * between, 1 / precision + psi * between
    x = sum(p / v for p, v in said) / precision
    x = float(moved(np.array([x]), np.array([expected]), np.array([v_o + v_c]), cap)[0])
    weight = v_c / (v_o + v_c)
    return weight * expected + (1 - weight) * x, v_o * v_c / (v_o + v_c), weight


@pytest.mark.parametrize("asked", ["cells", "queries", "both"])
@pytest.mark.parametrize("cap", [None, 3.0, 1.5])
@pytest.mark.parametrize("kappa", [0.0, 0.3])
def test_normal_densities_are_blended_by_precision_and_least_squares(
    asked: str, cap: float | None, kappa: float
) -> None:
    """The clients stand 1 to 12 standard errors away, on both sides, and know about as much as the opt-in group: so
    an estimate that is capped by either group's error alone ends elsewhere.
    """
    deviation = np.array([0.004, 0.002, 0.003, 0.005, 0.003, 0.004])
    posterior = normal(deviation)
    theirs = MEANS + np.array([0.02, -0.001, 0.001, -0.03, 0.002, 0.04])
    of_queries = sums(MEANS) + np.array([0.04, -0.03, 0.002])
    split = saying(theirs if asked != "queries" else None, of_queries if asked != "cells" else None, 20_000)
    x, v, y, v_y = observed(posterior, split)
    psi, between = USERS / (USERS + split.users), (kappa * MEANS) ** 2
    own, v, v_y = deviation**2 + (1 - psi) * between, v + psi * between, v_y + psi * sums(between)

    variance = 1 / (1 / own + 1 / v)
    mean = variance * (MEANS / own + moved(x, MEANS, own + v, cap) / v)
    p, covariance = by_matrix(mean, variance, moved(y, sums(mean), sums(variance) + v_y, cap), v_y, LISTED)
    members = (np.arange(3)[:, None] == LISTED).astype(np.float64)
    v_q = np.diag(members @ covariance @ members.T)
    cells, queries = hybrid_blend(posterior, split, InfluenceGuard(cap, kappa))
    agree((cells, queries), p, np.diag(covariance), members @ p, v_q)

    for ends, z in ((cells.low, -1.959964), (cells.high, 1.959964)):
        assert (ends[:-1] - p) / np.sqrt(np.diag(covariance)) == pytest.approx(np.full(6, z), abs=0.02)
    for ends, z in ((queries.low, -1.959964), (queries.high, 1.959964)):
        assert (ends[:-1] - members @ p) / np.sqrt(v_q) == pytest.approx(np.full(3, z), abs=0.01)
    weight = v / (v + own)
    of_own = sums(own * weight) / sums(own)
    assert cells.weight_opt_in[:-1] == pytest.approx(weight * np.diag(covariance) / variance, rel=0.01)
    assert queries.weight_opt_in[:-1] == pytest.approx(of_own * v_q / sums(variance), rel=0.01)
    p_rest, v_rest, weight_rest = rest_of(deviation**2, split, psi, kappa, cap)
    assert cells.probability[-1] == pytest.approx(p_rest, abs=1e-5)
    assert cells.variance[-1] == pytest.approx(v_rest, rel=0.01)
    assert cells.weight_opt_in[-1] == pytest.approx(weight_rest, rel=0.01)


@pytest.mark.parametrize(("cap", "reach"), [(3.0, 3.0), (2.0, 2.0), (None, 10.0)])
def test_the_cap_counts_standard_errors_of_the_difference(cap: float | None, reach: float) -> None:
    """Clients who are as sure as the opt-in group and ten standard errors of the difference away, first of cells and
    then of queries: the blend rises by half of c of them, no more.
    """
    split = saying(MEANS, sums(MEANS), 200_000)
    deviation = np.sqrt(split.cells.observe(MEANS)[1])
    difference = deviation * np.sqrt(2)
    cells, _ = hybrid_blend(normal(deviation), saying(MEANS + 10 * difference, None, 200_000), InfluenceGuard(cap))
    assert (cells.probability[:-1] - MEANS) / difference == pytest.approx(np.full(6, reach / 2), rel=0.01)

    v_y = split.queries.observe(sums(MEANS))[1]
    deviation = np.sqrt(v_y / np.bincount(LISTED))[LISTED]
    far = saying(None, sums(MEANS) + 10 * np.sqrt(2 * v_y), 200_000)
    _, queries = hybrid_blend(normal(deviation), far, InfluenceGuard(cap))
    assert (queries.probability[:-1] - sums(MEANS)) / np.sqrt(2 * v_y) == pytest.approx(np.full(3, reach / 2), rel=0.01)


def test_of_a_list_without_records_nothing_is_uncertain() -> None:
    empty = Posterior(9, np.empty((0, 5)), np.empty((0, 5)))
    one = Arm(SubsetSelection(4.0, 1), 5, np.array([5]))
    for level in hybrid_blend(empty, Split(one, one, np.zeros(1, dtype=np.int64)), InfluenceGuard(3.0)):
        assert (level.probability[0], level.variance[0], level.weight_opt_in[0]) == (1, 0, 0)
        assert (level.low[0], level.high[0]) == (1, 1)


@pytest.mark.parametrize("asked", ["cells", "both"])
def test_lopsided_densities_are_integrated_and_their_intervals_are_narrowed(asked: str) -> None:
    """Gamma laws times the clients' normal likelihood, on dense grids; then the query corrects its cells."""
    posterior = lopsided(np.array([3.0, 8.0, 20.0, 5.0, 40.0, 12.0]))
    theirs, of_queries = MEANS * np.array([1.2, 0.8, 1.1, 0.9, 1.3, 1.1]), sums(MEANS) * np.array([1.1, 0.9, 1.0])
    split = saying(theirs, of_queries if asked == "both" else None, 2_000)
    x, v, y, v_y = observed(posterior, split)
    mean, variance, densities = np.empty(6), np.empty(6), []
    dense = np.linspace(1e-6, 1.0, 400_000)
    for cell, shape in enumerate([3.0, 8.0, 20.0, 5.0, 40.0, 12.0]):
        weight = stats.gamma.pdf(dense, shape, scale=MEANS[cell] / shape)
        weight *= stats.norm.pdf(dense, x[cell], v[cell] ** 0.5)
        weight /= weight.sum()
        mean[cell] = weight @ dense
        variance[cell] = weight @ (dense - mean[cell]) ** 2
        densities.append(weight)
    p, covariance = by_matrix(mean, variance, y, v_y, LISTED)
    members = (np.arange(3)[:, None] == LISTED).astype(np.float64)
    cells, queries = hybrid_blend(posterior, split, InfluenceGuard())
    agree((cells, queries), p, np.diag(covariance), members @ p, np.diag(members @ covariance @ members.T))
    deviation = np.sqrt(np.diag(covariance))
    for cell, weight in enumerate(densities):  # what is said of the query, less what its other cells are
        row = LISTED[cell]
        left = y[row] - (sums(mean)[row] - mean[cell])
        narrower = weight * stats.norm.pdf(dense, left, np.sqrt(v_y[row] + sums(variance)[row] - variance[cell]))
        low, high = np.interp([0.025, 0.975], np.cumsum(narrower) / narrower.sum(), dense)
        assert [
            (cells.low[cell] - low) / deviation[cell],
            (cells.high[cell] - high) / deviation[cell],
        ] == pytest.approx([0, 0], abs=0.02)
    if asked == "both":
        assert (deviation < 0.95 * np.sqrt(variance)).any()


@pytest.mark.statistical
def test_intervals_are_as_wide_as_cells_spread_where_queries_are_known_well() -> None:
    """Nearly all clients name queries: what they say narrows a cell that is most of its query, and its interval."""
    generator, shares = np.random.default_rng(3), np.array([0.05, 0.001, 0.001, 0.08, 0.001, 0.06])
    spread = 0.1 * np.sqrt(shares)
    true = np.array([0.05, 0.01, 0.01, 0.08, 0.01, 0.06])
    covered: list[NDArray[np.bool_]] = []
    widths: list[Array] = []
    errors: list[Array] = []
    for _ in range(400):
        own = true + spread * generator.standard_normal(6)
        grid = np.maximum(own - 9 * spread, 1e-5)[:, None] ** np.linspace(1, 0, 400)
        grid *= (own + 9 * spread)[:, None] ** np.linspace(0, 1, 400)
        density = -((grid - own[:, None]) ** 2) / (2 * spread[:, None] ** 2)
        posterior = Posterior(USERS, grid, density + np.log(grid))
        of_queries = generator.multinomial(400_000, np.append(sums(true), 1 - true.sum()))
        oracle, none = SubsetSelection(4.0, 4), SubsetSelection(4.0, 7)
        said = Arm(oracle, 400_000, oracle.supports_of_counts(of_queries, generator))
        cells, _ = hybrid_blend(
            posterior, Split(said, Arm(none, 0, np.zeros(7, dtype=np.int64)), ROWS), InfluenceGuard()
        )
        covered.append((cells.low[:-1] <= true) & (true <= cells.high[:-1]))
        widths.append((cells.high - cells.low)[:-1])
        errors.append(cells.probability[:-1] - true)
    large = [0, 3, 5]
    assert np.mean(covered, axis=0)[large] == pytest.approx(np.full(3, 0.95), abs=0.035)
    assert np.mean(widths, axis=0)[large] == pytest.approx(3.92 * np.std(errors, axis=0)[large], rel=0.12)
    assert (np.mean(widths, axis=0)[large] < 0.7 * 3.92 * spread[large]).all()
