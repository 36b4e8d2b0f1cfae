"""The personal ledger."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.client import Entry, Ledger, OverspentError
from blendp.errors import ParameterError
from blendp.privacy import Budget

DAY = "2026-11-06"
budgets = st.builds(
    Budget, st.floats(min_value=1e-9, max_value=50, exclude_min=True), st.floats(min_value=0, max_value=1e-4)
)


@given(budgets, st.lists(st.one_of(budgets, st.just(Budget(0.1, 1e-6))), max_size=30))
def test_no_sum_of_entries_is_ever_above_the_cap(cap: Budget, asked: list[Budget]) -> None:
    ledger = Ledger(cap)
    for number, budget in enumerate(asked):
        before = ledger
        try:
            ledger = ledger.spending(Entry(f"c{number}", "client", budget, DAY))
        except OverspentError:
            left = before.remaining
            assert Fraction(budget.epsilon) > left[0] or Fraction(budget.delta) > left[1]
        spent = ledger.spent
        assert spent[0] <= Fraction(cap.epsilon)
        assert spent[1] <= Fraction(cap.delta)
        assert ledger.remaining == (Fraction(cap.epsilon) - spent[0], Fraction(cap.delta) - spent[1])


def test_rounding_does_not_slip_above_the_cap() -> None:
    """Ten times 0.1 is above 1 in exact numbers, though its sum of floats is below."""
    ledger = Ledger(Budget(1.0))
    for number in range(9):
        ledger = ledger.spending(Entry(f"c{number}", "client", Budget(0.1), DAY))
    with pytest.raises(OverspentError):
        ledger.spending(Entry("last", "client", Budget(0.1), DAY))


def test_not_even_the_last_bit_slips_above_the_cap() -> None:
    """What remains is below 1, but is 1 as a float."""
    ledger = Ledger(Budget(1.0, 0.5)).spending(Entry("first", "client", Budget(2.0**-60, 2.0**-60), DAY))
    for budget in (Budget(1.0), Budget(0.5, 0.5)):
        with pytest.raises(OverspentError, match="Difference"):
            ledger.spending(Entry("second", "client", budget, DAY))


def test_the_error_tells_requested_remaining_and_difference() -> None:
    ledger = Ledger(Budget(10.0, 1e-5)).spending(Entry("first", "opt-in", Budget(7.5, 1e-6), DAY))
    with pytest.raises(OverspentError) as raised:
        ledger.spending(Entry("second", "client", Budget(4.0), DAY))
    text = str(raised.value)
    for words in ("Requested: (ε = 4, δ = 0)", "Remaining: (ε = 2.5, δ = 9e-06)", "Difference: (ε = 1.5, δ = 0)"):
        assert words in text
    with pytest.raises(OverspentError, match="delta = 2e-05"):
        ledger.spending(Entry("second", "client", Budget(1.0, 2e-5), DAY))


def test_caps_are_lowered_and_never_raised() -> None:
    ledger = Ledger().spending(Entry("first", "client", Budget(4.0), DAY)).lowered(Budget(3.0, 1e-6))
    assert ledger.remaining == (Fraction(0), Fraction(1e-6))
    with pytest.raises(OverspentError):
        ledger.spending(Entry("second", "client", Budget(0.001), DAY))
    for cap in (Budget(3.5, 1e-6), Budget(3.0, 1e-5)):
        with pytest.raises(ParameterError, match="never raised"):
            ledger.lowered(cap)


def test_nobody_takes_part_twice() -> None:
    ledger = Ledger().spending(Entry("first", "client", Budget(1.0), DAY))
    with pytest.raises(ParameterError, match="twice"):
        ledger.spending(Entry("first", "opt-in", Budget(1.0), DAY))


@pytest.mark.parametrize(
    "values", [("No", "client", Budget(1), DAY), ("a", "both", Budget(1), DAY), ("a", "client", Budget(1), "today")]
)
def test_what_is_no_entry_is_refused(values: tuple[str, str, Budget, str]) -> None:
    with pytest.raises(ParameterError):
        Entry(*values)
