"""The rests <q,*>: empty or not, how large, with hyperparameters integrated over; and sums of what is trimmed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from blendp.arrays import Array
from blendp.curator import OptInCounts
from blendp.estimate import Posterior, opt_in_posterior
from blendp.estimate.rests import EMPTY, rest_weights
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricList
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom

USERS = 26_000


def released(behind: Array, rests: Array, epsilon: float, seed: int) -> OptInCounts:
    """A list of one record a query: so many people behind it, and so many in its rest, on average."""
    maker, generator, random = (
        AsymmetricList(Budget(epsilon, 1e-6)),
        np.random.default_rng(seed),
        SimulationRandom(seed),
    )
    noise = maker.wildcard_noise
    assert noise is not None
    head_list = HeadList.of_records((f"q{i:04}", "u") for i in range(len(behind)))
    people = np.zeros(head_list.cells)
    spread = np.zeros(head_list.cells)
    records, of_rests = head_list.record_cells, head_list.rest_cells
    people[records] = generator.poisson(behind) + maker.noise.draw(len(behind), random) - maker.noise.mean
    people[of_rests] = generator.poisson(rests) + noise.draw(len(rests), random) - noise.mean
    spread[records], spread[of_rests] = maker.noise.variance, noise.variance
    people[-1], spread[-1] = USERS - people.sum(), spread.sum()
    return OptInCounts(
        head_list,
        USERS,
        people,
        spread,
        selected_above=8.0,
        record_noise=maker.noise,
        list_noise=maker.list_noise,
        rest_noise=noise,
    )


def test_the_prior_of_rests_against_quadrature() -> None:
    """Three rests with normal likelihoods; every integral by SciPy, on the same hyperparameters."""
    z, noise, behind = np.array([0.5, 6.0, 40.0]), 9.0, np.array([30.0, 60.0, 50.0])
    grid = 1e-3 * (200 / 1e-3) ** np.linspace(0, 1, 600) * np.ones((3, 1))
    log_likelihood = stats.norm.logpdf(z[:, None], grid, np.sqrt(grid + noise))
    log_at_zero = stats.norm.logpdf(z, 0, math.sqrt(noise))
    posterior = Posterior(1, grid, *rest_weights(grid, behind, log_likelihood, log_at_zero))

    locations, scales = -1.5 + 2 * np.linspace(-2.5, 2.5, 15), 1.4 * np.exp(0.6 * np.linspace(-2, 2, 7))
    weight, zero, first = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))
    for m in locations:
        for s in scales:
            prior = math.exp(-(((m + 1.5) / 2) ** 2) / 2 - (math.log(s / 1.4) / 0.6) ** 2 / 2)
            slab, moment = np.zeros(3), np.zeros(3)
            for q in range(3):

                def density(x: float, q: int = q, m: float = m, s: float = s) -> float:
                    people = math.exp(x)
                    of_prior = stats.norm._pdf((x - math.log(behind[q]) - m) / s) / s
                    deviation = math.sqrt(people + noise)
                    return float(of_prior * stats.norm._pdf((z[q] - people) / deviation) / deviation)

                x = np.linspace(math.log(1e-3), math.log(200), 2_001)
                values = np.array([density(point) for point in x])
                slab[q], moment[q] = integrate.simpson(values, x=x), integrate.simpson(values * np.exp(x), x=x)
            for empty in EMPTY:
                each = empty * np.exp(log_at_zero) + (1 - empty) * slab
                weight = np.append(weight, prior * each.prod())
                zero = np.vstack([zero, empty * np.exp(log_at_zero) / each])
                first = np.vstack([first, (1 - empty) * moment / each])
    weight /= weight.sum()
    assert posterior.zero == pytest.approx(weight @ zero, rel=1e-3)
    assert posterior.mean == pytest.approx(weight @ first, rel=2e-3)


def test_an_interval_begins_at_zero_where_zero_is_likely() -> None:
    grid = np.geomspace(0.1, 10, 400) * np.ones((3, 1))
    normal = -((grid - 5) ** 2) / 2 + np.log(grid)
    slab = np.log(np.exp(normal).sum(axis=1))
    share = np.array([0.0, 0.02, 0.5])
    with np.errstate(divide="ignore"):
        posterior = Posterior(1, grid, normal, slab + np.log(share / (1 - share)))
    assert posterior.zero == pytest.approx(share)
    low, high = posterior.interval(0.95)
    assert low == pytest.approx([5 - 1.96, 5 + stats.norm.ppf(0.005 / 0.98), 0], abs=0.02)
    assert high == pytest.approx([5 + 1.96, 5 + stats.norm.ppf(0.955 / 0.98), 5 + 1.645], abs=0.02)
    assert posterior.mean == pytest.approx(5 * (1 - share), rel=1e-3)
    assert posterior.variance == pytest.approx((1 - share) * (1 + 25 * share), rel=2e-3)
    assert posterior.quantile(np.full(3, 0.4))[2] == 0


def test_zero_keeps_its_weight_where_grids_are_made_anew() -> None:
    """By Bayes: odds of 0 times the ratio of the observation's density at 0 and that of the slab."""
    grid = np.geomspace(0.5, 40, 900) * np.ones((1, 1))
    log_weight = -((grid - 5) ** 2) / 2 + np.log(grid)
    own = Posterior(1, grid, log_weight, np.log(np.exp(log_weight).sum(axis=1)))  # one half
    for x, variance in ((3.0, 1.0), (1.0, 0.05), (2.0, 4.0)):
        posterior = own.times_normal(np.array([x]), np.array([variance]))
        at_zero, of_slab = stats.norm.pdf(x, 0, variance**0.5), stats.norm.pdf(x, 5, (1 + variance) ** 0.5)
        assert posterior.zero == pytest.approx([at_zero / (at_zero + of_slab)], rel=0.02)
    assert own.flattened(np.array([0.05])).zero == pytest.approx([0.5], rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "queries"), [(4.0, 120), (1.0, 25)])
@pytest.mark.parametrize(("empty", "share"), [(0.43, 0.018), (0.0, 0.135)])
def test_rests_are_held_whether_empty_or_not(epsilon: float, queries: int, empty: float, share: float) -> None:
    """Sparse rests, as real logs have them, and large ones. Jeffreys prior makes sparse ones far too large in sum."""
    inside_positive, inside_zero, error, plain_error, total = [], [], [], [], []
    for run in range(24):
        generator = np.random.default_rng([run, queries])
        behind = 60 * generator.random(queries) ** -0.8
        rests = behind * share * np.exp(1.3 * generator.standard_normal(queries))
        rests[generator.random(queries) < empty] = 0
        counts = released(behind, rests, epsilon, run)
        posterior, plain = (opt_in_posterior(counts, counts, prior) for prior in ("power-law", "none"))
        cells = counts.head_list.rest_cells
        low, high = (ends[cells] * USERS for ends in posterior.interval(0.95))
        inside = (low <= rests) & (rests <= high)
        inside_positive.append(inside[rests > 0])
        inside_zero.append(inside[rests == 0])
        error.append((posterior.mean[cells] * USERS - rests).sum())
        plain_error.append((plain.mean[cells] * USERS - rests).sum())
        total.append(rests.sum())
    assert 0.925 < np.concatenate(inside_positive).mean() < 0.985
    if empty:
        assert np.concatenate(inside_zero).mean() > 0.97
        assert np.mean(plain_error) > 0.15 * np.mean(total)
    assert abs(np.mean(error)) < 0.12 * np.mean(total) + 3 * np.std(error) / math.sqrt(len(error))


def test_a_trimmed_record_is_part_of_the_rest() -> None:
    """The rest is then the sum of two: its mean and variance are theirs, and it is not empty."""
    generator = np.random.default_rng(3)
    counts = released(np.array([90.0, 40.0]), np.array([0.0, 12.0]), 4.0, 5)
    two = HeadList.of_records([("q0000", "u"), ("q0000", "v"), ("q0001", "u")])
    cells = [two.cell_of(*label) for label in counts.head_list.labels]
    people, spread = np.zeros(two.cells), np.zeros(two.cells)
    people[cells], spread[cells] = counts.people, counts.noise_variance
    other = two.cell_of("q0000", "v")
    people[other], spread[other] = 20 + generator.random(), spread[two.cell_of("q0000", "u")]
    whole = replace(counts, head_list=two, people=people, noise_variance=spread)
    kept = np.array([two.cell_of("q0000", "u"), two.cell_of("q0001", "u")])
    every, trimmed = opt_in_posterior(whole, whole), opt_in_posterior(whole.only(kept), whole)
    parts = [two.cell_of("q0000", None), other]
    assert every.zero[parts[0]] > 0.1
    assert trimmed.zero[1] == 0
    assert trimmed.mean[1] == pytest.approx(every.mean[parts].sum(), rel=1e-3)
    assert trimmed.variance[1] == pytest.approx(every.variance[parts].sum(), rel=1e-2)
    others = [*kept.tolist(), two.cell_of("q0001", None)]
    assert trimmed.mean[[0, 2, 3]] == pytest.approx(every.mean[others])
