"""What the opt-in counts say about each cell: the density itself, its operations, and selection undone."""

import math

import numpy as np
import pytest
from scipy import stats

from blendp.arrays import Array
from blendp.curator import OptInCounts
from blendp.curator.by_weight import Prediction
from blendp.estimate import Posterior, counts_estimate, opt_in_posterior
from blendp.estimate.posterior import power_law_exponent, prior_exponent
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricList
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom

MAKER = AsymmetricList(Budget(4, 1e-5))
USERS = 10_000
TAILS = np.array([0.025, 0.25, 0.5, 0.975])


def counts_of(
    people: list[float], noise: float, wild: tuple[float, float] = (100.0, 1.0), users: int = USERS, **more: object
) -> OptInCounts:
    """One query with these records, and its wildcard."""
    head_list = HeadList.of_records(("q", f"u{i:04}") for i in range(len(people)))
    cells = np.array([*people, wild[0], users - sum(people) - wild[0]])
    spread = np.array([*([noise] * len(people)), wild[1], len(people) * noise + wild[1]])
    return OptInCounts(head_list, users, cells, spread, **more)  # type: ignore[arg-type]


def of_totals(totals: list[int]) -> OptInCounts:
    """As the list maker releases them."""
    people = [total - MAKER.noise.mean for total in totals]
    above = MAKER.min_total - MAKER.noise.mean
    return counts_of(
        people, MAKER.noise.variance, selected_above=above, record_noise=MAKER.noise, list_noise=MAKER.list_noise
    )


def normal(mean: list[float], deviation: list[float]) -> Posterior:
    """Cells with normal densities, from many people."""
    users, m, sd = 1_000, np.array(mean), np.array(deviation)
    low, high = np.maximum(m - 9 * sd, 1e-6), m + 9 * sd
    grid = low[:, None] * (high / low)[:, None] ** np.linspace(0, 1, 400)
    return Posterior(users, grid, np.log(grid) - (grid - m[:, None]) ** 2 / (2 * sd[:, None] ** 2))


def integrated(log_density: Array, x: Array) -> tuple[float, float, Array]:
    """Mean, variance and quantiles of a density on a fine even grid."""
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = float(weight @ x)
    return mean, float(weight @ (x - mean) ** 2), np.interp(TAILS, np.cumsum(weight), x)


def agrees(posterior: Posterior, cell: int, log_density: Array, people: Array) -> None:
    mean, variance, quantiles = integrated(log_density, people)
    scale = posterior.users
    assert posterior.mean[cell] * scale == pytest.approx(mean, rel=4e-3)
    assert posterior.variance[cell] * scale**2 == pytest.approx(variance, rel=5e-3)
    computed = [posterior.quantile(np.full(len(posterior.grid), level))[cell] * scale for level in TAILS]
    assert computed == pytest.approx(quantiles, rel=0.01, abs=0.02 * math.sqrt(variance))


@pytest.mark.parametrize("total", [MAKER.min_total, MAKER.min_total + 1, 12, 25, 79])
@pytest.mark.parametrize("prior", ["power-law", "none"])
def test_small_counts_against_direct_integration(total: int, prior: str) -> None:
    """sum over n >= 1 of Poisson(n; L) P(X = z - n), times L^-alpha, by brute force with SciPy."""
    counts = of_totals([total, 40, 200])
    posterior = opt_in_posterior(counts, counts, prior)
    people = np.linspace(0.02, 250, 60_000)
    n = np.arange(1, 300)
    noise = MAKER.noise.probability(total - n)
    likelihood = sum(stats.poisson.pmf(i, people) * p for i, p in zip(n, noise, strict=True) if p > 1e-30)
    alpha = power_law_exponent(counts) if prior == "power-law" else 0.0
    agrees(posterior, 0, np.log(likelihood) - alpha * np.log(people), people)


@pytest.mark.parametrize(("people", "noise", "dispersion"), [(300.0, 4.0, 1.0), (40.0, 30.0, 0.3), (1.0, 9.0, 0.5)])
def test_all_others_are_normal_with_the_prior(people: float, noise: float, dispersion: float) -> None:
    counts = counts_of([people, 90.0], noise, dispersion=dispersion, min_people=0.5)
    posterior = opt_in_posterior(counts, counts)
    x = np.linspace(0.5, people + 20 * math.sqrt(dispersion * people + noise), 200_000)
    variance = dispersion * x + noise
    agrees(posterior, 0, -np.log(x) - (people - x) ** 2 / (2 * variance) - np.log(variance) / 2, x)
    assert prior_exponent(counts) == 1


@pytest.mark.parametrize("people", [-6.0, 0.0, 3.0, 60.0])
def test_rests_have_the_prior_of_jeffreys(people: float) -> None:
    """Without a prior of rests. Also where the noisy number is below 0: then little is left but what is above."""
    counts = counts_of([40.0], 2.0, wild=(people, 5.0), selected_above=8.0)
    posterior = opt_in_posterior(counts, counts, "none")
    x = np.linspace(0.001, max(people, 0) + 80, 400_000)
    agrees(posterior, 1, -((people - x) ** 2) / (2 * (x + 5)) - np.log(x + 5) / 2 - np.log(x) / 2, x)
    assert posterior.mean[1] > 0


def test_large_counts_are_nearly_normal_around_the_count() -> None:
    counts = of_totals([4_000])
    posterior = opt_in_posterior(counts, counts, "none")
    assert posterior.mean[0] * USERS == pytest.approx(4_000, rel=1e-3)
    assert posterior.variance[0] * USERS**2 == pytest.approx(4_000 + MAKER.noise.variance, rel=5e-3)
    quantiles = posterior.quantile(np.array([[0.025, 0.025], [0.975, 0.975]]))[:, 0]
    assert (quantiles - posterior.mean[0]) / math.sqrt(posterior.variance[0]) == pytest.approx([-1.96, 1.96], abs=0.05)


def test_exact_and_normal_likelihoods_meet_where_they_change() -> None:
    """From 80 to 81 people the likelihood changes; mean and deviation must not jump."""
    counts = of_totals([80, 81, 82])
    posterior = opt_in_posterior(counts, counts)
    assert np.diff(posterior.mean[:3]) * USERS == pytest.approx([1, 1], abs=0.15)
    assert np.diff(np.sqrt(posterior.variance[:3])) * USERS == pytest.approx([0.05, 0.05], abs=0.1)


def test_weights_need_no_scale() -> None:
    posterior = opt_in_posterior(of_totals([10, 30]), of_totals([10, 30]))
    shifted = Posterior(posterior.users, posterior.grid, posterior.log_weight + np.array([[700.0], [-700.0], [3.0]]))
    assert np.allclose(posterior.mean, shifted.mean, rtol=1e-12)
    assert np.allclose(posterior.variance, shifted.variance, rtol=1e-12)
    assert posterior.grid.shape == (3, posterior.grid.shape[1])
    assert (np.diff(posterior.grid, axis=1) > 0).all()
    # the ends of the grid hold next to nothing
    ends = np.exp(posterior.log_weight[:, [0, -1]] - posterior.log_weight.max(axis=1, keepdims=True))
    assert (ends[:, 1] < 1e-6).all()


def test_quantiles_are_those_of_the_normal_law_row_by_row() -> None:
    posterior = normal([0.5, 0.1], [0.02, 0.01])
    levels = np.array([[0.025, 0.5], [0.5, 0.975], [0.8, 0.1]])
    expected = stats.norm.ppf(levels, [0.5, 0.1], [0.02, 0.01])
    assert posterior.quantile(levels) == pytest.approx(expected, abs=2e-4)
    assert posterior.quantile(levels[1]).tolist() == posterior.quantile(levels)[1].tolist()
    rising = posterior.quantile(np.linspace(0.001, 0.999, 50)[:, None] * np.ones(2))
    assert (np.diff(rising, axis=0) > 0).all()


@pytest.mark.parametrize("ratio", [1e-8, 1e-4, 0.01, 0.2, 0.3, 1.0, 4.0, 100.0, 1e6])
def test_one_more_observation_is_the_conjugate_formula_for_a_normal(ratio: float) -> None:
    """However precise the observation is: a grid that is too coarse for the product is made anew."""
    m, sd = np.array([0.5, 0.3]), np.array([0.02, 0.01])
    v = ratio * sd**2
    x = m + np.array([2.0, -1.5]) * np.sqrt(sd**2 + v)
    posterior = normal(m.tolist(), sd.tolist()).times_normal(x, v)
    precision = 1 / sd**2 + 1 / v
    assert posterior.mean == pytest.approx(
        (m / sd**2 + x / v) / precision, rel=1e-4, abs=0.01 / math.sqrt(precision.max())
    )
    assert posterior.variance * precision == pytest.approx([1, 1], rel=5e-3)
    ends = posterior.quantile(np.array([[0.025, 0.025], [0.975, 0.975]]))
    assert (ends - posterior.mean) * np.sqrt(precision) == pytest.approx(np.array([[-1.96] * 2, [1.96] * 2]), abs=0.02)


def test_an_observation_far_away_is_reached() -> None:
    posterior = normal([0.5], [0.01]).times_normal(np.array([0.9]), np.array([0.01**2]))
    assert posterior.mean == pytest.approx([0.7], abs=1e-3)
    assert posterior.variance == pytest.approx([0.01**2 / 2], rel=0.02)


@pytest.mark.parametrize("deviation", [1e-2, 1e-4, 1e-6])
def test_a_precise_observation_below_zero_leaves_what_is_least(deviation: float) -> None:
    counts = of_totals([10])
    own = opt_in_posterior(counts, counts)
    posterior = own.times_normal(np.full(2, -3 * deviation), np.full(2, deviation**2))
    assert np.isfinite(posterior.mean).all()
    assert (posterior.mean >= own.grid[:, 0]).all()
    assert (posterior.mean <= np.maximum(own.mean, own.grid[:, 0] + deviation)).all()
    assert (posterior.variance > 0).all()


def test_an_unknown_observation_says_nothing() -> None:
    own = normal([0.5, 0.3], [0.02, 0.01])
    posterior = own.times_normal(np.array([0.0, np.nan]), np.full(2, np.inf))
    assert np.array_equal(posterior.mean, own.mean)
    assert np.array_equal(posterior.variance, own.variance)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01, 0.002])
def test_flattened_densities_keep_their_centre_and_get_their_variance(share: float) -> None:
    own = normal([0.5, 0.6], [0.002, 0.003])
    posterior = own.flattened(np.full(2, share))
    assert posterior.mean == pytest.approx(own.mean, rel=2e-3)
    assert posterior.variance == pytest.approx(own.variance / share, rel=0.01)


def test_a_flattened_density_stays_above_zero() -> None:
    own = opt_in_posterior(of_totals([10, 3_000]), of_totals([10, 3_000]))
    posterior = own.flattened(np.array([0.01, 0.0003, 0.01]))
    assert (posterior.grid > 0).all()
    assert np.isfinite(posterior.mean).all()
    assert (posterior.variance > 5 * own.variance).all()


def pareto(alpha: float, min_value: float, size: int, generator: np.random.Generator) -> Array:
    """Numbers of density L^-alpha above the least."""
    return np.asarray(min_value * generator.random(size) ** (-1 / (alpha - 1)))


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [1.6, 2.0, 2.6])
def test_the_exponent_of_a_known_power_law_is_found(alpha: float) -> None:
    """Records of Poisson counts with the list's noise and threshold: z_0 lies where selection hardly matters."""
    generator, random, exponents = np.random.default_rng(7), SimulationRandom(7), []
    for _ in range(30):
        counts = generator.poisson(pareto(alpha, 1.0, 12_000, generator)).astype(np.int64)
        _, totals = MAKER.draw(counts, random)
        exponents.append(power_law_exponent(of_totals(totals.tolist())))
    assert np.mean(exponents) == pytest.approx(alpha, abs=0.08)
    assert np.std(exponents) < 0.25


def test_the_exponent_of_short_lists_does_not_run_wild() -> None:
    empty = HeadList.of_records([])
    assert power_law_exponent(OptInCounts(empty, 9, np.array([9.0]), np.zeros(1), selected_above=8.0)) == 2
    for totals in ([9], [5_000], [9] * 4, [400] * 3):
        assert 1.2 < power_law_exponent(of_totals(totals)) < 3


@pytest.mark.statistical
@pytest.mark.parametrize(("alpha", "records"), [(1.8, 4_000), (2.3, 8_000)])
def test_selection_is_undone(alpha: float, records: int) -> None:
    """Records of a power law, of which those with large noisy totals are listed. Near the threshold their totals are
    too large; the posterior's means are not, and its intervals hold there as elsewhere. Without the prior they fail.
    """
    generator, random = np.random.default_rng(11), SimulationRandom(11)
    near, plain_near, raw_near, covered, covered_low, plain_low = [], [], [], [], [], []
    for _ in range(40):
        rates = pareto(alpha, 0.3, records, generator)
        listed, totals = MAKER.draw(generator.poisson(rates).astype(np.int64), random)
        counts, true = of_totals(totals.tolist()), rates[listed]
        cells = len(true)
        low = np.argsort(totals, kind="stable")[: cells // 4]
        posterior, plain = (opt_in_posterior(counts, counts, prior) for prior in ("power-law", "none"))
        levels = np.array([[0.025], [0.975]]) * np.ones(cells + 1)
        inside, inside_plain = (
            ((ends[0] <= true) & (true <= ends[1]))
            for ends in (one.quantile(levels)[:, :cells] * USERS for one in (posterior, plain))
        )
        near.append(posterior.mean[low] * USERS / true[low].mean())
        plain_near.append(plain.mean[low] * USERS / true[low].mean())
        raw_near.append(counts_estimate(counts).cells.probability[low] * USERS / true[low].mean())
        covered.append(inside)
        covered_low.append(inside[low])
        plain_low.append(inside_plain[low])
    excess, plain_excess, raw_excess = (np.concatenate(x).mean() - 1 for x in (near, plain_near, raw_near))
    assert abs(excess) < 0.06
    assert raw_excess > 0.12
    assert plain_excess > 0.2
    assert 0.93 < np.concatenate(covered).mean() < 0.97
    assert 0.93 < np.concatenate(covered_low).mean() < 0.97
    assert np.concatenate(plain_low).mean() < 0.92


@pytest.mark.statistical
@pytest.mark.parametrize("people", [8.0, 60.0])
def test_caution_about_predictions_does_not_pull_records_down(people: float) -> None:
    """Predictions are right on average, however wide they are taken to be."""
    generator, spread = np.random.default_rng(5), 0.3
    true = people * np.exp(generator.normal(-(spread**2) / 2, spread, 4_000))
    variance = 0.4 * true + 4.0
    numbers = generator.normal(true, np.sqrt(variance))
    prediction = Prediction(*(np.full(4_002, value) for value in (people, 2 * spread, spread, 0.0)))
    counts = counts_of(list(numbers), 4.0, users=10**6, dispersion=0.4, prediction=prediction)
    bias = (opt_in_posterior(counts, counts).mean[:4_000] * 10**6 - true).mean()
    assert abs(bias) < 0.05 * math.sqrt(variance.mean())
