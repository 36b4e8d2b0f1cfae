"""Opt-in estimates: noisy counts, trimming, and their variances."""

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.curator import NoisyCounts, OptInCounts, add_noise, trim
from blendp.errors import ParameterError
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


def test_the_stated_formulas_with_several_records_and_folded_cells() -> None:
    """v = (p(1-p) + n d s^2/(nm)^2)/(n-1), d noises folded together; and the printed one, which knows no folding."""
    n, m, b, noise = 20, 2, NOISE.scale, NOISE.variance
    counts, terms = np.array([50, 3, 1, 2, 5, 9, 30, 1, 4, -100]), np.array([1, 1, 2, 1, 3, 1, 1, 1, 1, 0])
    released = NoisyCounts(LIST, counts, terms, n, m, NOISE)
    rows = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3])
    for edition in ("mended", "journal"):
        estimate = opt_in_estimate(released, edition)
        for level, z, d in (
            (estimate.cells, counts[:-1], terms[:-1]),
            (estimate.queries, np.bincount(rows, weights=counts)[:-1], np.bincount(rows, weights=terms)[:-1]),
        ):
            p = z / 40
            stated = (p * (1 - p) + n * d * noise / 1_600) / 19
            printed = p * (1 - p) / 39 + 2 * b**2 / (40 * 39)
            assert level.probability[:-1] == pytest.approx(p)
            assert level.floor[:-1] == pytest.approx(d * noise / 1_600)
            assert level.variance[:-1] == pytest.approx(stated if edition == "mended" else printed)
            # nothing was counted for the last
            assert np.isnan(level.probability[-1])
            assert (level.variance[-1], level.floor[-1]) == (np.inf, np.inf)


def test_unknown_formulas_are_refused() -> None:
    with pytest.raises(ParameterError, match="variance"):
        opt_in_estimate(noisy([1] * 10), "typo")


def test_two_people_know_an_error() -> None:
    two = opt_in_estimate(NoisyCounts(LIST, np.array([1] + [0] * 8 + [1]), np.ones(10, dtype=np.int64), 2, 1, NOISE))
    assert two.cells.variance[0] == pytest.approx(0.25 + 2 * NOISE.variance / 4)


def test_counts_as_they_stand_are_estimates_with_their_dispersion() -> None:
    """p = z/n, v = phi p(1-p)/n + s^2/n^2; p counts as 0 or 1 there where noise carried it beyond."""
    people = np.array([30.0, -2.0, 4.0, 8.0, 1.0, 70.0, 20.0, 6.0, 3.0, -40.0])
    noise = np.array([1.0, 2.0, 3.0, 1.0, 3.0, 1.0, 1.0, 1.0, 3.0, 16.0])
    estimate = counts_estimate(OptInCounts(LIST, 100, people, noise, 0.5, 0.8))
    assert estimate.users == 100
    of_queries, of_noise = np.array([32.0, 9.0, 99.0, -40.0]), np.array([6.0, 4.0, 6.0, 16.0])
    for level, z, s, phi in ((estimate.cells, people, noise, 0.5), (estimate.queries, of_queries, of_noise, 0.8)):
        p = np.clip(z / 100, 0, 1)
        assert level.probability == pytest.approx(z / 100)
        assert level.floor == pytest.approx(s / 10_000)
        assert level.variance == pytest.approx(phi * p * (1 - p) / 100 + s / 10_000)
    over = counts_estimate(OptInCounts(LIST, 100, np.append(200.0, np.zeros(9)), np.ones(10)))
    assert over.cells.variance[0] == pytest.approx(1e-4)
    nobody = counts_estimate(OptInCounts(LIST, 0, np.zeros(10), np.ones(10)))
    assert np.isnan(nobody.queries.probability).all()
    assert np.isinf(nobody.cells.variance).all()


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
