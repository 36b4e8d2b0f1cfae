"""A person's ledger: what every participation cost, under a cap for life.

    spent = the sum of all entries,    spent <= cap, in epsilon and in delta

by basic composition, in exact fractions, so that no rounding slips above the cap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from blendp.client.refusals import OverspentError
from blendp.errors import ParameterError, require_choice
from blendp.privacy import Budget
from blendp.wire.campaign import require_campaign_id
from blendp.wire.canonical import require_day

GROUPS = ("client", "opt-in")
CAP = Budget(10.0, 1e-5)


@dataclass(frozen=True)
class Entry:
    """One participation and its cost."""

    campaign: str
    group: str
    """client or opt-in."""

    budget: Budget
    day: str

    def __post_init__(self) -> None:
        """Refuse what is no participation."""
        require_campaign_id(self.campaign)
        require_choice("group", self.group, GROUPS)
        require_day("day", self.day)


@dataclass(frozen=True)
class Ledger:
    """All participations of a person, and the cap; entries are never taken back."""

    cap: Budget = CAP
    entries: tuple[Entry, ...] = ()

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of all entries."""
        return (
            sum((Fraction(entry.budget.epsilon) for entry in self.entries), Fraction(0)),
            sum((Fraction(entry.budget.delta) for entry in self.entries), Fraction(0)),
        )

    @property
    def remaining(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta that may still be spent; 0 where the cap was lowered below what is spent."""
        epsilon, delta = self.spent
        return max(Fraction(0), Fraction(self.cap.epsilon) - epsilon), max(
            Fraction(0), Fraction(self.cap.delta) - delta
        )

    def spending(self, entry: Entry) -> Ledger:
        """With one entry more; raises :class:`OverspentError` if the cap does not allow it."""
        if any(held.campaign == entry.campaign for held in self.entries):
            raise ParameterError("campaign", entry.campaign, "new to the ledger", "Nobody takes part twice.")
        epsilon, delta = self.remaining
        if Fraction(entry.budget.epsilon) > epsilon or Fraction(entry.budget.delta) > delta:
            raise OverspentError(entry.budget, self.remaining)
        return replace(self, entries=(*self.entries, entry))

    def lowered(self, cap: Budget) -> Ledger:
        """With a lower cap; it is never raised again."""
        for name in ("epsilon", "delta"):
            now, asked = getattr(self.cap, name), getattr(cap, name)
            if asked > now:
                raise ParameterError(f"cap {name}", asked, f"at most {now:g}", "A cap can be lowered, never raised.")
        return replace(self, cap=cap)
