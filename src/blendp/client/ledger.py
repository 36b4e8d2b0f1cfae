"""A person's ledger: what every participation cost, under a cap for a year and a cap for life.

    spent for life  = the sum of all entries                                <= cap
    spent in a year = the sum of the entries of the last 365 counted days   <= yearly

by basic composition, in epsilon and in delta, in exact fractions, so that no rounding slips above a cap.

Days are counted, not read off the clock: between two looks at it at most 90 of them pass, and none while it shows a
day that was seen before. A clock that is set forward thus frees little, and an entry of a day to come counts.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from fractions import Fraction

from blendp.client.refusals import OverspentError
from blendp.errors import ParameterError, require_choice, require_count
from blendp.privacy import Budget
from blendp.wire.campaign import require_campaign_id
from blendp.wire.text_forms import require_day

GROUPS = ("client", "opt-in")
YEARLY = Budget(12.0, 1e-5)
"""Three campaigns of epsilon 4 a year."""

CAP = Budget(48.0, 4e-5)
"""Four such years."""

PERIOD_DAYS = 365
MAX_DAYS_AT_ONCE = 90
"""A clock that shows more days than these since it was looked at last was set forward, for all that one knows."""

Amount = tuple[Fraction, Fraction]
"""Epsilon and delta, exactly."""


def days_passed(last: datetime.date | None, today: datetime.date) -> int:
    """How many days count between the latest day that was ever seen and today."""
    return 0 if last is None else min(max(0, (today - last).days), MAX_DAYS_AT_ONCE)


@dataclass(frozen=True)
class LedgerEntry:
    """One participation and its cost."""

    campaign: str
    group: str
    """client or opt-in."""

    budget: Budget
    day: str
    counted: int = 0
    """How many days the device had counted by then."""

    def __post_init__(self) -> None:
        """Refuse what is no participation."""
        require_campaign_id(self.campaign)
        require_choice("group", self.group, GROUPS)
        require_day("day", self.day)
        require_count("counted", self.counted, min_value=0, remedy="Days are counted from 0.")


@dataclass(frozen=True)
class Ledger:
    """All participations of a person, and the caps; entries are never taken back."""

    cap: Budget = CAP
    """For life."""

    entries: tuple[LedgerEntry, ...] = ()
    yearly: Budget = YEARLY
    counted: int = 0
    """How many days the device has counted by now."""

    @property
    def spent(self) -> Amount:
        """Epsilon and delta of all entries."""
        return _sum(self.entries)

    @property
    def spent_this_year(self) -> Amount:
        """Epsilon and delta of the entries of the last 365 days."""
        return _sum(self._of_this_year)

    @property
    def remaining(self) -> Amount:
        """Epsilon and delta that may still be spent in a life; 0 where the cap was lowered below what is spent."""
        return _left(self.cap, self.spent)

    @property
    def remaining_this_year(self) -> Amount:
        """Epsilon and delta that may still be spent now: what the year leaves, and the life."""
        year, life = _left(self.yearly, self.spent_this_year), self.remaining
        return min(year[0], life[0]), min(year[1], life[1])

    def spending(self, entry: LedgerEntry) -> Ledger:
        """With one entry more; raises :class:`OverspentError` if a cap does not allow it."""
        if any(known.campaign == entry.campaign for known in self.entries):
            raise ParameterError("campaign", entry.campaign, "new to the ledger", "Nobody takes part twice.")
        if not _fits(entry.budget, self.remaining):
            raise OverspentError(entry.budget, self.remaining)
        year = _left(self.yearly, self.spent_this_year)
        if not _fits(entry.budget, year):
            raise OverspentError(entry.budget, year, self.days_until_room(entry.budget), yearly=True)
        return replace(self, entries=(*self.entries, entry))

    def days_until_room(self, budget: Budget) -> int | None:
        """In how many days the year has room for such a cost, if nothing else is spent; None if it never has."""
        kept = sorted(self._of_this_year, key=lambda entry: entry.counted)
        for number in range(len(kept) + 1):
            if _fits(budget, _left(self.yearly, _sum(kept[number:]))):
                return 0 if number == 0 else kept[number - 1].counted + PERIOD_DAYS - self.counted
        return None

    def affordable(self, budget: Budget) -> tuple[int, int]:
        """How many campaigns of this cost fit into what remains of the year, and of the life."""
        return _times(budget, self.remaining_this_year), _times(budget, self.remaining)

    def lowered(self, cap: Budget | None = None, yearly: Budget | None = None) -> Ledger:
        """With lower caps; they are never raised again."""
        cap, yearly = cap or self.cap, yearly or self.yearly
        for what, before, after in (("cap", self.cap, cap), ("yearly", self.yearly, yearly)):
            for name in ("epsilon", "delta"):
                now, asked = getattr(before, name), getattr(after, name)
                if asked > now:
                    remedy = "A cap can be lowered, never raised."
                    raise ParameterError(f"{what} {name}", asked, f"at most {now:g}", remedy)
        return replace(self, cap=cap, yearly=yearly)

    @property
    def _of_this_year(self) -> tuple[LedgerEntry, ...]:
        return tuple(entry for entry in self.entries if self.counted - entry.counted < PERIOD_DAYS)


def _sum(entries: tuple[LedgerEntry, ...] | list[LedgerEntry]) -> Amount:
    return (
        sum((Fraction(entry.budget.epsilon) for entry in entries), Fraction(0)),
        sum((Fraction(entry.budget.delta) for entry in entries), Fraction(0)),
    )


def _left(cap: Budget, spent: Amount) -> Amount:
    return max(Fraction(0), Fraction(cap.epsilon) - spent[0]), max(Fraction(0), Fraction(cap.delta) - spent[1])


def _fits(budget: Budget, left: Amount) -> bool:
    return Fraction(budget.epsilon) <= left[0] and Fraction(budget.delta) <= left[1]


def _times(budget: Budget, left: Amount) -> int:
    times = left[0] // Fraction(budget.epsilon)
    return int(min(times, left[1] // Fraction(budget.delta)) if budget.delta else times)
