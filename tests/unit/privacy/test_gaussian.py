"""The privacy of Gaussian noise: against whole-number arithmetic, integration, and its own inverse."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from blendp.errors import ParameterError
from blendp.privacy.gaussian import gaussian_delta, gaussian_mu, normal_tail
from tests.unit.privacy import exact_normal


@pytest.mark.parametrize("z", [-3.0, 0.0, 0.3, 1.0, 4.5, 9.0, 20.0])
def test_the_tail_of_the_normal_law(z: float) -> None:
    exact = exact_normal.upper_tail(Fraction(z), 900)
    assert abs(Fraction(normal_tail(z)) / exact - 1) < 1e-13


def test_known_values() -> None:
    """1-GDP is (1, 0.127)-private (Dong, Roth, Su); at epsilon 0, delta is the total variation distance."""
    assert gaussian_delta(1, 1) == pytest.approx(0.12693674, abs=1e-8)
    assert gaussian_delta(0.5, 0) == pytest.approx(2 * stats.norm.cdf(0.25) - 1, rel=1e-10)
    assert 1 / gaussian_mu(1, 1e-5) == pytest.approx(3.730632, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 12.0, 50.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-10, 1e-15, 1e-30])
def test_delta_to_ten_digits_and_never_too_small(epsilon: float, delta: float) -> None:
    mu = Fraction(gaussian_mu(epsilon, delta))
    e = Fraction(epsilon)
    exact = exact_normal.upper_tail(e / mu - mu / 2) - exact_normal.exp(e) * exact_normal.upper_tail(e / mu + mu / 2)
    computed = gaussian_delta(float(mu), epsilon)
    assert exact <= Fraction(computed) <= Fraction(delta)
    assert computed == pytest.approx(float(exact), rel=1e-7)


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 1.0), (0.3, 0.5), (2.0, 4.0)])
def test_delta_is_the_hockey_stick_of_two_normal_laws(mu: float, epsilon: float) -> None:
    cut = epsilon / mu + mu / 2
    loss, _ = integrate.quad(
        lambda x: stats.norm.pdf(x - mu) - math.exp(epsilon) * stats.norm.pdf(x), cut, cut + 40, epsabs=1e-13
    )
    assert gaussian_delta(mu, epsilon) == pytest.approx(loss, rel=1e-8)


@given(epsilon=st.floats(1e-3, 50), power=st.floats(-20, -0.1))
def test_mu_is_the_inverse_from_below(epsilon: float, power: float) -> None:
    delta = 10**power
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + 1e-6), epsilon) > delta


def test_squares_add_up() -> None:
    """Two Gaussian answers, each of half the squared mu, tell as much as one: the sum is sufficient."""
    mu, epsilon = 1.1, 1.0
    grid = np.linspace(-9, 10, 1901)
    p = stats.norm.pdf(grid - mu / math.sqrt(2))
    q = stats.norm.pdf(grid)
    joint = np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0).sum() * (grid[1] - grid[0]) ** 2
    assert joint == pytest.approx(gaussian_delta(mu, epsilon), rel=1e-4)


@pytest.mark.parametrize(("mu", "epsilon"), [(0, 1), (-1, 1), (math.nan, 1), (1, -1), (1, 1e4)])
def test_what_has_no_delta_is_refused(mu: float, epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"mu|epsilon"):
        gaussian_delta(mu, epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-5), (1, 0), (1, 1), (1, math.nan)])
def test_what_has_no_mu_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError, match=r"delta|epsilon"):
        gaussian_mu(epsilon, delta)
