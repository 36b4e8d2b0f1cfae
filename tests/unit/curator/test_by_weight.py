"""What weights predict, against the equations that a fit has to solve, and at the ends of what may be learnt."""

import numpy as np
import pytest
from scipy import optimize

from blendp.arrays import Array
from blendp.curator.by_weight import Prediction, people_by_weight

ADDED, USUAL = 0.7, 0.3
DISPERSION, WEIGHT_NOISE = 0.4, 3.0


def some_list(
    records: int, slope: float = 1.0, habits: float = 0.4, seed: int = 1, most: float = 600.0
) -> tuple[Array, Array]:
    """Noisy numbers of people and the weights of their records: L = W^b/3, apart from habits and noise."""
    generator = np.random.default_rng(seed)
    weights = np.geomspace(20, most, records)
    people = (weights**slope / 3) * np.exp(generator.normal(0, habits, records) - habits**2 / 2)
    return people + generator.normal(0, np.sqrt(DISPERSION * people + 4)), weights


def predict(people: Array, weights: Array, noise: float = 4.0, alike: Array | None = None) -> Prediction:
    same_query = np.ones(len(people)) if alike is None else alike
    return people_by_weight(people, np.full(len(people), noise), DISPERSION, weights, WEIGHT_NOISE, same_query)


def by_equations(z: Array, noise: float, w: Array, alike: Array) -> tuple[Array, Array, Array]:
    """a and b by weighted least squares and h^2 by moments, all three at once, solved by SciPy."""
    of_weight = (WEIGHT_NOISE / w) ** 2 + ADDED / w
    x = np.log(w)

    def parts(a: float, b: float, square: float) -> tuple[Array, Array, Array, Array]:
        expected = np.exp(a + b * x)
        common = np.minimum(ADDED * expected / w, DISPERSION / 2)
        own = (DISPERSION * expected - 2 * common * expected + noise) / expected**2
        # the covariance of a and b as the inverse of the information of the weighted regression on (1, x)
        design = np.column_stack([np.ones_like(x), x])
        covariance = np.linalg.inv(design.T @ (design / (own + square + of_weight)[:, None]))
        unknown = np.einsum("ij,jk,ik->i", design, covariance, design)
        return expected, common, own, unknown

    def equations(unknowns: Array) -> list[float]:
        a, b, square = unknowns
        expected, _, own, unknown = parts(a, b, square)
        gap, total = (z - expected) / expected, own + square + of_weight
        precision = np.append(1 / (2 * total**2), 2 / USUAL**4)
        evidence = np.append(gap**2 - own - of_weight + unknown, USUAL**2)
        moments = (precision * evidence).sum() / precision.sum() - square
        return [float((gap / total).sum()), float((x * gap / total).sum()), float(moments)]

    a, b, square = optimize.fsolve(equations, [np.log(z.mean()) - np.log(w).mean(), 1.0, USUAL**2], xtol=1e-12)
    expected, common, _, unknown = parts(a, b, square)
    return expected, np.sqrt(4 * square * alike + of_weight + unknown), common


@pytest.mark.parametrize(
    ("records", "slope", "habits", "most"),
    [(40, 1.0, 0.4, 600.0), (150, 1.3, 0.6, 3_000.0), (60, 0.8, 0.6, 400.0), (25, 1.1, 0.3, 90.0)],
)
def test_the_prediction_solves_its_equations(records: int, slope: float, habits: float, most: float) -> None:
    """Small weights, whose own noise matters, and large ones; queries of one to four records."""
    people, weights = some_list(records, slope, habits, most=most)
    alike = 1 + np.arange(records, dtype=np.float64) % 4
    prediction = predict(people, weights, 4.0, alike)
    expected, spread, common = by_equations(people, 4.0, weights, alike)
    assert prediction.people == pytest.approx(expected, rel=1e-3)
    assert prediction.spread == pytest.approx(spread, rel=1e-3)
    assert prediction.common == pytest.approx(common, rel=1e-3)


def slope_of(prediction: Prediction, weights: Array) -> float:
    rise = np.diff(np.log(prediction.people)) / np.diff(np.log(weights))
    assert np.ptp(rise) < 1e-9
    return float(rise[0])


@pytest.mark.parametrize(("slope", "learnt"), [(0.1, 0.5), (0.7, 0.7), (2.0, 2.0), (4.0, 2.5)])
def test_the_exponent_stays_within_its_bounds(slope: float, learnt: float) -> None:
    weights = np.geomspace(200, 2_000, 60)
    prediction = predict(weights**slope / 200**slope * 50, weights)
    assert slope_of(prediction, weights) == pytest.approx(learnt, rel=0.02)


@pytest.mark.parametrize(("habits", "least", "most"), [(0.0, 0.15, 0.17), (4.0, 1.5, 1.5)])
def test_how_far_records_are_from_their_prediction_stays_within_its_bounds(
    habits: float, least: float, most: float
) -> None:
    """Numbers in full accord with their weights, and numbers that have nothing to do with them."""
    weights = np.geomspace(5_000, 50_000, 400)
    apart = np.where(np.arange(400) % 20, np.exp(-habits), np.exp(habits))
    prediction = predict(weights * apart, weights)
    beside = (WEIGHT_NOISE / weights) ** 2 + ADDED / weights
    h = np.sqrt(prediction.spread**2 - beside) / 2
    assert h.min() > least * 0.999
    assert np.median(h) < most * 1.01


def test_from_eight_records_on_something_is_learnt() -> None:
    """Of seven, the exponent and h stay as is usual, and the level alone is fitted; of eight the exponent moves."""
    people, weights = some_list(8, 2.0, 0.0)
    assert slope_of(predict(people, weights), weights) > 1.5
    few, of_few = people[:7], weights[:7]
    prediction = predict(few, of_few)
    assert slope_of(prediction, of_few) == pytest.approx(1)
    beside = (WEIGHT_NOISE / of_few) ** 2 + ADDED / of_few
    assert prediction.spread**2 - beside == pytest.approx(np.full(7, 4 * USUAL**2), rel=1e-9)
    gap = (few - prediction.people) / prediction.people
    own = ((DISPERSION - 2 * prediction.common) * prediction.people + 4) / prediction.people**2
    assert float((gap / (own + USUAL**2 + beside)).sum()) == pytest.approx(0, abs=1e-6)


def test_what_weights_and_numbers_have_in_common_is_at_most_half_of_the_dispersion() -> None:
    """People whose weight is in one record are in its number with all of their share."""
    weights = np.geomspace(20, 600, 30)
    assert predict(3 * weights, weights).common == pytest.approx(np.full(30, DISPERSION / 2))
    thin = predict(weights / 10, weights)
    assert thin.common == pytest.approx(ADDED * thin.people / weights)
    assert (thin.common < DISPERSION / 2).all()


def test_weights_that_are_noise_alone_predict_nothing() -> None:
    people, weights = some_list(30)
    prediction = predict(people, np.append(weights[:-1], -4.0))
    assert np.isfinite(prediction.people).all()
    assert prediction.spread[-1] > 1_000
