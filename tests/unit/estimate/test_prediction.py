"""What weights predict, in the posterior: against the density that the documentation states, by direct integration."""

import numpy as np
import pytest

from blendp.arrays import Array
from blendp.curator import OptInCounts
from blendp.curator.by_weight import Prediction
from blendp.estimate import opt_in_posterior
from blendp.headlist import HeadList

USERS, NOISE, DISPERSION, LEAST = 10_000, 9.0, 0.5, 0.5
LIST = HeadList.of_records(("q", f"u{i}") for i in range(4))
PEOPLE = np.array([4.0, 25.0, 60.0, 30.0])


def counts_of(predicted: Array, spread: Array, common: Array) -> OptInCounts:
    """Four records, what is predicted of them (nan: nothing), and the two wildcards."""
    prediction = Prediction(*(np.append(values, [np.nan, np.nan]) for values in (predicted, spread, spread, common)))
    cells = np.append(PEOPLE, [100.0, USERS - PEOPLE.sum() - 100])
    return OptInCounts(LIST, USERS, cells, np.full(6, NOISE), DISPERSION, 1.0, min_people=LEAST, prediction=prediction)


def density(z: float, p: float, t: float, c: float, x: Array) -> Array:
    """z ~ Normal(L + b (P - L), phi L - b c L + s^2), b = min(1, c L/(t P)^2); ln L ~ Normal(ln P - t^2/2, t^2); and
    the prior L^-1 of records that other numbers chose.
    """
    b = np.minimum(1, c * x / (t * p) ** 2)
    variance = DISPERSION * x - b * c * x + NOISE
    likelihood = np.exp(-((z - x - b * (p - x)) ** 2) / (2 * variance)) / np.sqrt(variance)
    return np.asarray(likelihood * np.exp(-((np.log(x / p) + t**2 / 2) ** 2) / (2 * t**2)) / x)


def moments(weight: Array, x: Array) -> tuple[float, float]:
    weight = weight / weight.sum()
    mean = float(weight @ x)
    return mean, float(weight @ (x - mean) ** 2)


@pytest.mark.parametrize("common", [0.0, 0.1])
@pytest.mark.parametrize("spread", [0.15, 0.4])
@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.6])
def test_the_posterior_is_the_stated_density(ratio: float, spread: float, common: float) -> None:
    predicted, spreads = ratio * PEOPLE, np.full(4, spread)
    counts = counts_of(predicted, spreads, np.full(4, common))
    posterior = opt_in_posterior(counts, counts)
    x = np.linspace(LEAST, 200, 100_000)
    for cell in range(4):
        mean, variance = moments(density(PEOPLE[cell], predicted[cell], spread, common, x), x)
        assert posterior.mean[cell] * USERS == pytest.approx(mean, rel=3e-3)
        assert posterior.variance[cell] * USERS**2 == pytest.approx(variance, rel=8e-3)


def test_a_sure_prediction_outweighs_a_noisy_number_and_an_unsure_one_does_not() -> None:
    """The number says 30. 20 is predicted, to 1 % or hardly at all."""
    predicted = PEOPLE * 2 / 3
    sure, unsure = (
        opt_in_posterior(counts, counts).mean[3] * USERS
        for counts in (counts_of(predicted, np.full(4, t), np.zeros(4)) for t in (0.01, 30.0))
    )
    assert sure == pytest.approx(20, rel=0.01)
    assert unsure == pytest.approx(29, abs=1)


def test_cells_without_a_prediction_and_posteriors_without_a_prior_do_not_use_it() -> None:
    nothing = np.full(4, np.nan)
    some = np.array([3.0, np.nan, 90.0, np.nan])
    mixed, none = counts_of(some, some / some * 0.2, some * 0.0), counts_of(nothing, nothing, nothing)
    with_some, without = opt_in_posterior(mixed, mixed), opt_in_posterior(none, none)
    for cell in (1, 3):  # the rest, cell 4, is expected to be a share of what is listed
        assert with_some.mean[cell] == without.mean[cell]
        assert with_some.variance[cell] == without.variance[cell]
    assert with_some.mean[0] < without.mean[0]
    assert with_some.mean[2] > 1.05 * without.mean[2]
    assert np.array_equal(opt_in_posterior(mixed, mixed, "none").mean, opt_in_posterior(none, none, "none").mean)
