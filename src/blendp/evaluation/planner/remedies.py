"""What would make a list longer that came out empty: forecasts for people like those of a public population.

They follow from the parameters, the numbers of people and what was released, never from the log: nothing more is
learnt of anybody, and people whose records are spread differently will see other lengths.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from blendp.curator.mean_records import MAX_COUNTED
from blendp.evaluation.planner.forecast import ASSUMED_RECORDS, expected_length
from blendp.methods import Outcome, Parameters
from blendp.methods.parameters import AUTO, MANY

LIKE = "aol"
MIN_RECORDS = 10
"""How long a list is wanted where it is said how many people it takes."""

HELPS = 0.5
"""Fewer records than these, on average, are no list."""

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
    """What was tried, the best first."""

    like: str
    people: int
    """Of both groups."""

    opt_in_people: int
    records_per_person: float
    """As was said, released or assumed."""

    mean_known: bool
    """False where a noisy mean was released that has too much noise to tell anything."""

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
        known = _tells_mean(outcome)
        many = _records_per_person(outcome, known)
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
        if not known:
            several = _saying(asked, ASSUMED_RECORDS)
            remedies.append(
                ListRemedy(f"--records-per-person {ASSUMED_RECORDS:g}, if people have so many", length(several))
            )
        if levels == 2:
            remedies.append(ListRemedy("--levels 1", length(now, 1)))
        remedies.sort(key=lambda one: -one.expected_records)
        wanted = MIN_RECORDS if asked.size is None else min(MIN_RECORDS, asked.size)
        needed = _people_needed(now, levels, people, wanted)
        filtered = outcome.how_filtered is not None
        all_people = outcome.groups.people
        return cls(LIKE, all_people, people, many, known, length(now), tuple(remedies), wanted, needed, filtered)

    @property
    def helpful(self) -> tuple[ListRemedy, ...]:
        """Those that would list something, and more than as it was."""
        enough = max(HELPS, self.expected_records)
        return tuple(one for one in self.remedies if one.expected_records > enough)

    @property
    def people_are_here(self) -> bool:
        """Whether more people took part than are needed, if only more of them opted in: somebody has to be a client."""
        return self.opt_in_people_needed is not None and self.opt_in_people_needed < self.people

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**asdict(self), "statement": self.statement}

    @property
    def statement(self) -> str:
        """In one sentence, what the rest rests on."""
        each = "one record" if self.records_per_person == 1 else f"{self.records_per_person:.3g} records"
        how = "on average" if self.mean_known else "(there was too much noise to tell how many they have)"
        return (
            f"Forecasts for {self.opt_in_people:,} opt-in people like those of the {self.like.upper()} log, with "
            f"{each} each {how}. Nothing of this log was looked at, so yours may differ. Another release "
            f"about the same people adds to what they were promised.{_FILTERED if self.filtered else ''}"
        )


def _tells_mean(outcome: Outcome) -> bool:
    """Whether a noisy mean, where one was released, tells how many records people have."""
    mean = outcome.mean_records
    return mean is None or outcome.parameters.tells_mean(mean, outcome.groups.head_list)


def _records_per_person(outcome: Outcome, mean_known: bool) -> float:
    """As was said, or as a noisy mean tells, or as is assumed: many where all of them count, one where one does."""
    said = outcome.parameters.records_per_person
    if said is None and outcome.mean_records is not None and mean_known:
        said = min(outcome.mean_records, MAX_COUNTED)
    if said is None:
        return ASSUMED_RECORDS if outcome.many_records else 1.0
    return max(said, _MIN_MANY if outcome.many_records else 1.0)


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
