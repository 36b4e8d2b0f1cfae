"""The personal ledger."""

from __future__ import annotations

import dataclasses
import datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.client import Ledger, LedgerEntry, OverspentError
from blendp.client.ledger import PERIOD_DAYS, days_passed
from blendp.errors import ParameterError
from blendp.privacy import Budget

DAY = "2026-11-06"
budgets = st.builds(
    Budget, st.floats(min_value=1e-9, max_value=50, exclude_min=True), st.floats(min_value=0, max_value=1e-4)
)


@given(budgets, st.lists(st.one_of(budgets, st.just(Budget(0.1, 1e-6))), max_size=30))
def test_no_sum_of_entries_is_ever_above_the_cap(cap: Budget, asked: list[Budget]) -> None:
    ledger = Ledger(cap, yearly=Budget(50, 0.5))
    for number, budget in enumerate(asked):
        before = ledger
        try:
            ledger = ledger.spending(LedgerEntry(f"c{number}", "client", budget, DAY))
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
        ledger = ledger.spending(LedgerEntry(f"c{number}", "client", Budget(0.1), DAY))
    with pytest.raises(OverspentError):
        ledger.spending(LedgerEntry("last", "client", Budget(0.1), DAY))


def test_not_even_the_last_bit_slips_above_the_cap() -> None:
    """What remains is below 1, but is 1 as a float."""
    ledger = Ledger(Budget(1.0, 0.5)).spending(LedgerEntry("first", "client", Budget(2.0**-60, 2.0**-60), DAY))
    for budget in (Budget(1.0), Budget(0.5, 0.5)):
        with pytest.raises(OverspentError, match="Difference"):
            ledger.spending(LedgerEntry("second", "client", budget, DAY))


def test_the_error_tells_requested_remaining_and_difference() -> None:
    ledger = Ledger(Budget(10.0, 1e-5)).spending(LedgerEntry("first", "opt-in", Budget(7.5, 1e-6), DAY))
    with pytest.raises(OverspentError) as raised:
        ledger.spending(LedgerEntry("second", "client", Budget(4.0), DAY))
    text = str(raised.value)
    for phrase in ("Requested: (ε = 4, δ = 0)", "Remaining: (ε = 2.5, δ = 9e-06)", "Difference: (ε = 1.5, δ = 0)"):
        assert phrase in text
    with pytest.raises(OverspentError, match="delta = 2e-05"):
        ledger.spending(LedgerEntry("second", "client", Budget(1.0, 2e-5), DAY))


def test_caps_are_lowered_and_never_raised() -> None:
    ledger = Ledger().spending(LedgerEntry("first", "client", Budget(4.0), DAY)).lowered(Budget(3.0, 1e-6))
    assert ledger.remaining == (Fraction(0), Fraction(1e-6))
    with pytest.raises(OverspentError):
        ledger.spending(LedgerEntry("second", "client", Budget(0.001), DAY))
    for cap in (Budget(3.5, 1e-6), Budget(3.0, 1e-5)):
        with pytest.raises(ParameterError, match="never raised"):
            ledger.lowered(cap)
    for yearly in (Budget(12.5), Budget(1.0, 1e-4)):
        with pytest.raises(ParameterError, match="never raised"):
            ledger.lowered(yearly=yearly)
    assert ledger.lowered(yearly=Budget(2.0)).remaining_this_year == (Fraction(0), Fraction(0))


@given(budgets, st.lists(st.tuples(budgets, st.integers(min_value=0, max_value=400)), max_size=30))
def test_no_365_days_cost_more_than_the_cap_for_a_year(yearly: Budget, asked: list[tuple[Budget, int]]) -> None:
    ledger, counted = Ledger(Budget(50, 0.5), yearly=yearly), 0
    for number, (budget, days) in enumerate(asked):
        counted += days
        ledger = dataclasses.replace(ledger, counted=counted)
        entry = LedgerEntry(f"c{number}", "client", budget, DAY, counted)
        try:
            ledger = ledger.spending(entry)
        except OverspentError as error:
            days_to_wait = error.days
            if days_to_wait is None:
                continue
            dataclasses.replace(ledger, counted=counted + days_to_wait).spending(entry)
            with pytest.raises(OverspentError):
                dataclasses.replace(ledger, counted=counted + days_to_wait - 1).spending(entry)
    for start in range(0, counted + 1, 50):
        window = [entry.budget for entry in ledger.entries if start <= entry.counted < start + PERIOD_DAYS]
        assert sum(Fraction(budget.epsilon) for budget in window) <= Fraction(yearly.epsilon)
        assert sum(Fraction(budget.delta) for budget in window) <= Fraction(yearly.delta)


def test_how_many_campaigns_there_is_room_for() -> None:
    assert Ledger().affordable(Budget(4.0)) == (3, 12)
    assert Ledger().affordable(Budget(4.0, 1e-6)) == (3, 12)
    assert Ledger().affordable(Budget(1.0, 5e-6)) == (2, 8)
    spent = Ledger(Budget(5.0)).spending(LedgerEntry("first", "client", Budget(4.0), DAY))
    assert spent.affordable(Budget(1.0)) == (1, 1)
    assert spent.affordable(Budget(2.0)) == (0, 0)


@pytest.mark.parametrize(
    ("last", "today", "days"),
    [(None, "2026-11-06", 0), ("2026-11-06", "2026-11-07", 1), ("2026-11-06", "2027-02-04", 90),
     ("2026-11-06", "2050-01-01", 90), ("2026-11-06", "2026-11-05", 0), ("2026-11-06", "1970-01-01", 0)],
)  # fmt: skip
def test_a_clock_counts_few_days_at_once_and_none_twice(last: str | None, today: str, days: int) -> None:
    seen = None if last is None else datetime.date.fromisoformat(last)
    assert days_passed(seen, datetime.date.fromisoformat(today)) == days


def test_nobody_takes_part_twice() -> None:
    ledger = Ledger().spending(LedgerEntry("first", "client", Budget(1.0), DAY))
    with pytest.raises(ParameterError, match="twice"):
        ledger.spending(LedgerEntry("first", "opt-in", Budget(1.0), DAY))


@pytest.mark.parametrize(
    "values", [("No", "client", Budget(1), DAY), ("a", "both", Budget(1), DAY), ("a", "client", Budget(1), "today")]
)
def test_what_is_no_entry_is_refused(values: tuple[str, str, Budget, str]) -> None:
    with pytest.raises(ParameterError):
        LedgerEntry(*values)
