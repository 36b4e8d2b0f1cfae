"""What is said after a list that came out empty: the same in the terminal and on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blendp.evaluation.planner import EmptyListAdvice
    from blendp.methods import Outcome

CHANGE, EXPECTED = "change", "records to be expected"
"""The headings of the table."""


@dataclass(frozen=True)
class AdviceText:
    """A heading, the changes that would list more with what they would list, if there are any, and sentences."""

    heading: str
    rows: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]

    @classmethod
    def of(cls, advice: EmptyListAdvice) -> AdviceText:
        """In words."""
        rows = [(one.option, _length(one.expected_records)) for one in advice.helpful]
        if advice.people_are_here:
            rows.append((f"{advice.opt_in_people_needed:,} opt-in people", f"about {advice.records_wanted}"))
        if rows:
            heading = "The list is empty. What would list more, and how much:"
            rows.append(("as it was", _length(advice.expected_records)))
            return cls(heading, tuple(rows), (*_people(advice), advice.statement))
        tried = ", ".join(f"{one.option} ({_length(one.expected_records)})" for one in advice.remedies)
        heading = "The list is empty, and nothing in reach would list more."
        return cls(heading, (), (f"Tried: {tried}.", *_people(advice), advice.statement))

    @classmethod
    def after(cls, outcome: Outcome) -> AdviceText:
        """For an outcome whose list is empty."""
        from blendp.evaluation.planner import EmptyListAdvice

        return cls.of(EmptyListAdvice.of(outcome))


def _people(advice: EmptyListAdvice) -> list[str]:
    """How many would have to opt in, where there are not so many: somebody has to be a client."""
    if advice.opt_in_people_needed is None or advice.people_are_here:
        return []
    takes = f"A list of {advice.records_wanted} takes about {advice.opt_in_people_needed:,} opt-in people"
    return [f"{takes}, more than can opt in here."]


def _length(records: float) -> str:
    return "hardly any" if records < 0.05 else f"{records:,.1f}" if records < 10 else f"{records:,.0f}"
