"""Opt-in estimates: noisy counts, trimming, and their variances."""

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.curator import NoisyCounts, OptInCounts, add_noise, trim
from blendp.estimate import counts_estimate, opt_in_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import DiscreteLaplace
from blendp.randomness import SimulationRandom

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("c", "2"), ("c", "3")])
NOISE = DiscreteLaplace.for_counts(4, 1)


def noisy(counts: list[int], head_list: HeadList = LIST) -> NoisyCounts:
    return NoisyCounts(head_list, np.array(counts), np.ones(len(counts), dtype=np.int64), max(sum(counts), 0), 1, NOISE)


def own_cells(p: NDArray[np.float64], users: int, generator: np.random.Generator) -> NDArray[np.int64]:
    return generator.choice(len(p), size=(users, 1), p=p)


@pytest.mark.statistical
@pytest.mark.parametrize("users", [25, 1_298])
@pytest.mark.parametrize("size", [None, 3])
def test_unbiased_with_unbiased_variance(users: int, size: int | None) -> None:
    """Whatever is folded. The list is trimmed by fixed marks here, so that the cells keep their meaning."""
    p = np.array([0.3, 0.05, 0.02, 0.1, 0.02, 0.2, 0.06, 0.03, 0.02, 0.2])
    generator, random = np.random.default_rng(1), SimulationRandom(1)
    values, variances, target = [], [], None
    for _ in range(4_000):
        counts = add_noise(LIST, own_cells(p, users, generator), NOISE, random)
        if size is not None:
            marked = NoisyCounts(LIST, np.array([9, 0, 0, 8, 0, 7, 0, 0, 0, 0]), counts.terms, users, 1, NOISE)
            chosen = trim(marked, size).head_list
            target = np.array([chosen.cell_of(*label) for label in LIST.labels])
            counts = NoisyCounts(
                chosen,
                np.bincount(target, counts.counts).astype(np.int64),
                np.bincount(target, counts.terms).astype(np.int64),
                users,
                1,
                NOISE,
            )
        estimate = opt_in_estimate(counts)
        values.append(np.r_[estimate.cells.probability, estimate.queries.probability])
        variances.append(np.r_[estimate.cells.variance, estimate.queries.variance])
    final = counts.head_list
    cells = p if target is None else np.bincount(target, p)
    truth = np.r_[cells, np.bincount(final.query_of_cell, cells)]
    spread = np.var(values, axis=0, ddof=1)
    z = (np.mean(values, axis=0) - truth) / np.sqrt(spread / len(values))
    assert np.abs(z).max() < 4.5
    assert np.abs(np.mean(variances, axis=0) / spread - 1).max() < 0.12


@pytest.mark.statistical
def test_a_wrong_noise_variance_would_be_seen() -> None:
    """Power: the continuous Laplace variance 2 b^2 is 38 % above the discrete one at b = 1/2, and is rejected."""
    p, users = np.array([0.0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0]), 200
    generator, random = np.random.default_rng(1), SimulationRandom(2)
    estimates = [opt_in_estimate(add_noise(LIST, own_cells(p, users, generator), NOISE, random)) for _ in range(4_000)]
    spread = np.var([e.cells.probability[0] for e in estimates])
    assert spread == pytest.approx(NOISE.variance / users**2, rel=0.12)
    assert spread != pytest.approx(2 * NOISE.scale**2 / users**2, rel=0.12)


def test_several_records_of_a_person_are_never_trusted_too_much() -> None:
    """With m = 2 alike records of each person, the variance is that of people, not of records."""
    p = np.array([0.3, 0.05, 0.02, 0.1, 0.02, 0.2, 0.06, 0.03, 0.02, 0.2])
    generator, random, noise = np.random.default_rng(3), SimulationRandom(3), DiscreteLaplace.for_counts(4, 2)
    alike, unlike, claimed = [], [], []
    for _ in range(2_500):
        one, two = own_cells(p, 100, generator), own_cells(p, 100, generator)
        estimate = opt_in_estimate(add_noise(LIST, np.hstack([one, one]), noise, random))
        alike.append(estimate.cells.probability)
        claimed.append(estimate.cells.variance)
        unlike.append(opt_in_estimate(add_noise(LIST, np.hstack([one, two]), noise, random)).cells.probability)
    ratio = np.mean(claimed, axis=0) / np.var(alike, axis=0)
    assert np.abs(ratio - 1).max() < 0.15
    assert (np.mean(claimed, axis=0) / np.var(unlike, axis=0)).min() > 1.2


def test_printed_formula_is_theorem_4_5() -> None:
    counts = noisy([50, 3, 1, 2, 5, 9, 30, 1, 4, 100])
    estimate = opt_in_estimate(counts, "journal")
    n, b = 205, 0.5
    p = counts.counts / n
    assert np.allclose(estimate.cells.variance, n / (n - 1) * (p * (1 - p) / n + 2 * (b / n) ** 2))


@pytest.mark.parametrize("variance", ["mended", "journal"])
def test_fewer_than_two_people_know_no_error(variance: str) -> None:
    random = SimulationRandom(0)
    one = opt_in_estimate(add_noise(LIST, np.array([[3]]), NOISE, random), variance)
    assert np.isfinite(one.cells.probability).all()
    assert np.isinf(one.cells.variance).all()
    none = opt_in_estimate(add_noise(LIST, np.zeros((0, 1), dtype=np.int64), NOISE, random), variance)
    assert np.isnan(none.cells.probability).all()
    assert np.isinf(none.queries.variance).all()


def test_what_noises_share_is_in_the_variance_of_a_query() -> None:
    """(sum c)^2 of its cells."""
    people, noise = np.array([30.0, 20, 10, 5, 5, 5, 5, 5, 5, 910]), np.full(10, 4.0)
    common = np.array([1.0, 0.5, 1.5, 0, 0, 1, 1, 0, 0, -5])
    alone, together = (
        counts_estimate(OptInCounts(LIST, 1_000, people, noise, common_noise=c)).queries.floor * 1_000**2
        for c in (None, common)
    )
    assert alone.tolist() == pytest.approx([12, 8, 16, 4])
    assert together.tolist() == pytest.approx([12 - 3.5 + 9, 8, 16 - 2 + 4, 4])
