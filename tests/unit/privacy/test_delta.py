from __future__ import annotations

import pytest

from blendp.privacy.delta import delta_beside_people, fitting_delta


@pytest.mark.parametrize(
    ("people", "delta"),
    [(0, 0.5), (1, 5e-2), (2, 2e-2), (9, 1e-2), (10, 5e-3), (40, 2e-3), (99, 1e-3), (100, 5e-4), (521_693, 1e-7)],
)
def test_round_numbers_are_strictly_below_a_tenth_of_one_over_the_people(people: int, delta: float) -> None:
    assert fitting_delta(people, 1.0) == delta
    assert fitting_delta(people, 1e-6) == min(delta, 1e-6)


@pytest.mark.parametrize(
    ("delta", "people", "sentence"),
    [
        (1e-7, 521_693, "δ = 1e-07 is below a tenth of one over the 521,693 people (1.9e-07)"),
        (1e-6, 521_693, "δ = 1e-06 is below one over the 521,693 people (1.9e-06)"),
        (1e-5, 521_693, "δ = 1e-05 is not below one over the 521,693 people (1.9e-06)"),
        (1e-5, 0, "δ = 1e-05, and nobody takes part"),
    ],
)
def test_delta_is_compared_with_the_people(delta: float, people: int, sentence: str) -> None:
    assert delta_beside_people(delta, people) == sentence
