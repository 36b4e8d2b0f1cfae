"""Budgets are validated at birth; exact losses of finite channels."""

import math

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.privacy import Budget, hockey_stick, worst_log_ratio


@pytest.mark.parametrize(
    ("epsilon", "delta", "name"),
    [
        (0, 0.1, "epsilon"),
        (-1, 0.1, "epsilon"),
        (math.nan, 0.1, "epsilon"),
        (math.inf, 0.1, "epsilon"),
        (51, 0.1, "epsilon"),
        (True, 0.1, "epsilon"),
        ("4", 0.1, "epsilon"),
        (1, -1e-9, "delta"),
        (1, 1, "delta"),
        (1, math.nan, "delta"),
    ],
)
def test_wrong_budgets_say_what_is_wrong(epsilon: float, delta: float, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Budget(epsilon, delta)
    value = epsilon if name == "epsilon" else delta
    assert caught.value.parameter == name
    assert f"{name} = {value!r} is not allowed: it must be" in str(caught.value)


def test_budget_prints_and_divides() -> None:
    assert str(Budget(4, 1e-5)) == "(ε = 4, δ = 1e-05)"
    assert Budget(4, 1e-5).share(0.25) == Budget(1, 2.5e-6)
    for fraction in (0, 2):
        with pytest.raises(ParameterError, match="fraction"):
            Budget(1).share(fraction)


def test_randomised_response_has_its_textbook_loss() -> None:
    p = math.e / (1 + math.e)
    channel = np.array([[p, 1 - p], [1 - p, p]])
    assert worst_log_ratio(channel) == pytest.approx(1)
    assert hockey_stick(channel[0], channel[1], 1.0) == pytest.approx(0)
    assert hockey_stick(channel[0], channel[1], 0.0) == pytest.approx(2 * p - 1)


def test_an_output_that_only_one_input_has_is_an_infinite_loss() -> None:
    assert worst_log_ratio(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])) == math.inf
