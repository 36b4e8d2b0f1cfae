"""What would make a list longer that came out empty: forecasts for people like those of a public population.

They follow from the parameters, the numbers of people and what was released, never from the log: nothing more is
learnt of anybody, and people whose records are spread differently will see other lengths.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from blendp.evaluation.planner.forecast import ASSUMED_RECORDS, expected_length
from blendp.methods import Outcome, Parameters
from blendp.methods.parameters import AUTO, MANY

LIKE = "aol"
MIN_RECORDS = 10
"""How long a list is wanted where it is said how many people it takes."""

_FILTERED = " Only rows that the filter lets through can be listed (--where, --since, --until)."
_MAX_EPSILON = 50.0
_PEOPLE = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
_MIN_MANY = 2.0
"""Records a person, where all of them count: one each has no forecast."""


@dataclass(frozen=True)
class ListRemedy:
    """A change of one option, and how many records the list would then have on average."""

    option: str
    expected_records: float


@dataclass(frozen=True)
class EmptyListAdvice:
    """What would help, the best first."""

    like: str
    opt_in_people: int
    records_per_person: float
    """As was said, released or assumed."""

    expected_records: float
    """With everything as it was."""

    remedies: tuple[ListRemedy, ...]
    records_wanted: int
    opt_in_people_needed: int | None
    """With about how many opt-in people so many are to be expected, everything else as it was; None: with no number
    that was tried."""

    filtered: bool = False
    """Whether only some rows counted."""

    @classmethod
    def of(cls, outcome: Outcome) -> EmptyListAdvice:
        """From what a release says of itself."""
        many = _records_per_person(outcome)
        asked, levels, people = outcome.parameters, outcome.head_list.levels, outcome.groups.opt_in
        now = _saying(asked, many)

        def length(parameters: Parameters, levels: int = levels) -> float:
            return expected_length(parameters, levels, people, LIKE)

        tried = {"--epsilon": replace(now, epsilon=min(2 * asked.epsilon, _MAX_EPSILON))}
        if asked.method == "published":
            tried["--method"] = _saying(Parameters(epsilon=asked.epsilon, delta=asked.delta, size=asked.size), many)
        elif asked.opt_in_records != AUTO and many > 1:
            tried["--opt-in-records"] = replace(now, opt_in_records=1 if outcome.many_records else MANY)
        remedies = [ListRemedy(f"{name} {_value(name, one)}", length(one)) for name, one in tried.items()]
        if asked.method == "blendp" and asked.opt_in_records == 1 and many == 1:
            several = replace(now, opt_in_records=MANY, records_per_person=ASSUMED_RECORDS)
            said = f"--opt-in-records many, if people have {ASSUMED_RECORDS:g} records on average"
            remedies.append(ListRemedy(said, length(several)))
        if levels == 2:
            remedies.append(ListRemedy("--levels 1", length(now, 1)))
        remedies.sort(key=lambda one: -one.expected_records)
        wanted = MIN_RECORDS if asked.size is None else min(MIN_RECORDS, asked.size)
        needed = _people_needed(now, levels, people, wanted)
        filtered = outcome.how_filtered is not None
        return cls(LIKE, people, many, length(now), tuple(remedies), wanted, needed, filtered)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**asdict(self), "statement": self.statement}

    @property
    def statement(self) -> str:
        """In one sentence, what the rest rests on."""
        each = "one record" if self.records_per_person == 1 else f"{self.records_per_person:.3g} records"
        return (
            f"Forecasts for {self.opt_in_people:,} opt-in people like those of the {self.like.upper()} log, with "
            f"{each} each on average. Nothing of this log was looked at, so yours may differ. Another release "
            f"about the same people adds to what they were promised.{_FILTERED if self.filtered else ''}"
        )


def _records_per_person(outcome: Outcome) -> float:
    """As was said, or as a noisy mean was released, or as is assumed where all of them count."""
    known = [each for each in (outcome.parameters.records_per_person, outcome.mean_records) if each is not None]
    if not known:
        return ASSUMED_RECORDS if outcome.many_records else 1.0
    return max(known[0], _MIN_MANY if outcome.many_records else 1.0)


def _people_needed(parameters: Parameters, levels: int, people: int, records: int) -> int | None:
    """The first of a few round numbers of opt-in people who list so many records on average."""
    tried = (n for n in _PEOPLE if n > people)
    return next((n for n in tried if expected_length(parameters, levels, n, LIKE) >= records), None)


def _saying(parameters: Parameters, records_per_person: float) -> Parameters:
    """The same, where it is known how many records people have."""
    return (
        parameters if parameters.method == "published" else replace(parameters, records_per_person=records_per_person)
    )


def _value(option: str, parameters: Parameters) -> str:
    return f"{getattr(parameters, option[2:].replace('-', '_')):{'g' if option == '--epsilon' else ''}}"
