"""The blend: weights that cannot explode, honest intervals, every missing group defined; the simplex."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.estimate import Level, blend, project_on_simplex
from blendp.mechanisms import DiscreteLaplace

NOISE = DiscreteLaplace.for_counts(4, 1)
PEOPLE = 1_298
"""|T| at the size of the AOL log with 5 % opt-in."""


def levels(p: float, client_variance: float, runs: int, seed: int) -> tuple[Level, Level]:
    """Many independent pairs of group estimates of a record of probability p, side by side as cells."""
    generator = np.random.default_rng(seed)
    drawn = generator.geometric(1 - NOISE.base, runs) - generator.geometric(1 - NOISE.base, runs)
    p_o = (generator.binomial(PEOPLE, p, runs) + drawn) / PEOPLE
    floor = np.full(runs, NOISE.variance / PEOPLE**2)
    v_o = (p_o * (1 - p_o) + PEOPLE * floor) / (PEOPLE - 1)
    p_c = generator.normal(p, np.sqrt(client_variance), runs)
    v_c = np.full(runs, client_variance)
    return Level(p_o, v_o, floor), Level(p_c, v_c, v_c * 0.9)


@pytest.mark.statistical
@pytest.mark.parametrize("p", [3e-4, 1e-3, 5e-3, 2e-2])
@pytest.mark.parametrize("client_variance", [2.1e-7, 1e-6])
def test_little_bias_and_nearly_the_best_error(p: float, client_variance: float) -> None:
    opt_in, client = levels(p, client_variance, 200_000, seed=1)
    blended = blend(opt_in, client, PEOPLE)
    v_o = p * (1 - p) / PEOPLE + NOISE.variance / PEOPLE**2
    best = 1 / (1 / v_o + 1 / client_variance)
    error = blended.probability - p
    assert abs(error.mean()) < 0.1 * np.sqrt(best)
    assert abs(error.mean()) < 0.02 * p or p < 1e-3
    assert (error**2).mean() < 1.1 * best
    assert ((blended.weight_opt_in > 0) & (blended.weight_opt_in < 1)).all()
    assert (blended.variance > 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("p", [1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 2e-2])
@pytest.mark.parametrize("client_variance", [2.1e-7, 2e-6, 5e-5])
def test_intervals_cover(p: float, client_variance: float) -> None:
    """Nominal 95 %: also for records that hardly one opt-in user holds, and when the clients know little."""
    opt_in, client = levels(p, client_variance, 200_000, seed=2)
    blended = blend(opt_in, client, PEOPLE)
    z = NormalDist().inv_cdf(0.975)
    covered = (np.abs(blended.probability - p) < z * blended.std_error).mean()
    assert covered > 0.915
    if p * PEOPLE > 5:
        assert 0.93 < covered < 0.97


@pytest.mark.statistical
def test_the_printed_weight_explodes() -> None:
    """Why it is mended: a noisy count of -1 makes v_O negative, and v_O + v_C can come close to 0."""
    p, n, b = 1e-3, PEOPLE, NOISE.scale
    at_minus_one = (-1 / n) * (1 + 1 / n) / (n - 1) + 2 * b**2 / (n * (n - 1))
    opt_in, client = levels(p, -1.02 * at_minus_one, 200_000, seed=3)
    p_o = opt_in.probability
    plugged = Level(p_o, p_o * (1 - p_o) / (n - 1) + 2 * b**2 / (n * (n - 1)), opt_in.floor)
    printed, mended = blend(plugged, client, n, "journal"), blend(opt_in, client, n)
    assert (plugged.variance < 0).mean() > 0.01
    assert np.abs(printed.weight_opt_in).max() > 20
    squares = [((blended.probability - p) ** 2).mean() for blended in (printed, mended)]
    assert squares[0] > 10 * squares[1]


def one(p: float, v: float, floor: float = 1e-9) -> Level:
    return Level(np.array([p]), np.array([v]), np.array([floor]))


NOTHING = one(np.nan, np.inf, np.inf)


def test_where_one_group_is_silent_the_other_has_all_the_weight() -> None:
    from_clients = blend(NOTHING, one(0.2, 1e-4), 0)
    assert (from_clients.probability[0], from_clients.weight_opt_in[0]) == (0.2, 0)
    assert from_clients.variance[0] == pytest.approx(1e-4)
    from_opt_in = blend(one(0.2, 1e-4), NOTHING, 1_000)
    assert (from_opt_in.probability[0], from_opt_in.weight_opt_in[0]) == (0.2, 1)
    assert from_opt_in.variance[0] == pytest.approx(1e-9 + (0.2 + 1 / 1_000) * (0.8 + 1 / 1_000) / 1_000)


@pytest.mark.parametrize("variance", ["mended", "journal", "conference"])
def test_where_no_error_is_known_the_clients_estimate_stands(variance: str) -> None:
    blended = blend(one(0.3, np.inf), one(0.2, np.inf), 1, variance)
    assert (blended.probability[0], blended.variance[0], blended.weight_opt_in[0]) == (0.2, np.inf, 0)
    blended = blend(one(0.3, np.inf), NOTHING, 1, variance)
    assert (blended.probability[0], blended.variance[0], blended.weight_opt_in[0]) == (0.3, np.inf, 1)
    assert np.isnan(blend(NOTHING, NOTHING, 0, variance).probability[0])


def test_few_clients_without_a_hit_are_not_certain() -> None:
    """Five reports of something else give a sample variance of 0; the floor keeps them from winning."""
    blended = blend(one(0.01, 1e-5, 1e-7), one(-0.02, 0.0, 1e-2), 1_000)
    assert blended.weight_opt_in[0] > 0.99
    assert blended.std_error[0] > 0


def test_the_blend_is_the_stated_formula() -> None:
    """Number by number: x is first the clients' estimate, then the blend it gives; each cut to [0, 1]; in the variance
    x and 1 - x count w^2 people more.
    """
    people = 200
    p_o, p_c = np.array([0.1, 0.02, -0.01, 0.9, 0.3]), np.array([0.14, 0.01, -0.03, 1.2, 0.31])
    floor, v_c = np.array([1e-5, 2e-5, 1e-5, 5e-5, 4e-3]), np.array([4e-4, 3e-5, 2e-5, 9e-4, 1e-4])
    floor_c = np.array([1e-4, 2e-5, 5e-5, 8e-4, 3e-4])
    blended = blend(Level(p_o, np.ones(5), floor), Level(p_c, v_c, floor_c), people)
    for i in range(5):
        theirs, x = max(v_c[i], floor_c[i]), p_c[i]
        for _ in range(2):
            x = min(max(x, 0), 1)
            w = theirs / (floor[i] + x * (1 - x) / people + theirs)
            x = w * p_o[i] + (1 - w) * p_c[i]
        inside, more = min(max(x, 0), 1), w**2 / people
        variance = w**2 * (floor[i] + (inside + more) * (1 - inside + more) / people) + (1 - w) ** 2 * theirs
        assert blended.weight_opt_in[i] == pytest.approx(w)
        assert blended.probability[i] == pytest.approx(x)
        assert blended.variance[i] == pytest.approx(variance)
        assert blended.low[i] == pytest.approx(x - 1.959964 * variance**0.5)
        assert blended.high[i] == pytest.approx(x + 1.959964 * variance**0.5)
    assert blended.std_error == pytest.approx(np.sqrt(blended.variance))
    with pytest.raises(ValueError, match="read-only"):
        blended.low[0] = 0


def test_printed_rule_is_theorem_4_7() -> None:
    blended = blend(one(0.3, 2e-4), one(0.2, 1e-4), 100, "journal")
    assert blended.weight_opt_in[0] == pytest.approx(1 / 3)
    assert blended.probability[0] == pytest.approx(0.3 / 3 + 0.2 * 2 / 3)
    assert blended.variance[0] == pytest.approx(2e-4 / 9 + 1e-4 * 4 / 9)
    assert blend(NOTHING, one(0.2, 1e-4), 0, "journal").probability[0] == 0.2
    assert blend(one(0.3, 1e-4), NOTHING, 9, "conference").probability[0] == 0.3
    assert np.isnan(blend(one(0.3, -1e-4), one(0.2, -2e-4), 9, "conference").std_error[0])


def test_unknown_formulas_are_refused() -> None:
    with pytest.raises(ParameterError, match="variance"):
        blend(one(0.3, 1e-4), one(0.2, 1e-4), 9, "typo")


vectors = st.lists(st.floats(-2, 2), min_size=1, max_size=40).map(np.array)


@given(vectors)
def test_the_projection_is_on_the_simplex_and_nearest(values: NDArray[np.float64]) -> None:
    x = project_on_simplex(values)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(1)
    # the condition that marks the nearest point: one shift for all entries above 0, no entry below it left out
    shift = (values - x)[x > 0]
    assert np.ptp(shift) < 1e-9
    assert (values[x == 0] <= shift.max() + 1e-9).all()
    assert np.allclose(project_on_simplex(x), x)


def test_a_probability_vector_stays_as_it_is() -> None:
    p = np.array([0.2, 0.5, 0.3])
    assert np.allclose(project_on_simplex(p), p)
