"""The knobs of a run, validated at birth."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from blendp.curator.noisy_counts import TRIM_UNITS, WILDCARDS
from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.estimate.names import PRIORS, VARIANCES
from blendp.mechanisms import AsymmetricList, FilteredUnion, ThresholdList
from blendp.methods.objectives import OBJECTIVES, list_shares, many_different_from, many_from
from blendp.privacy import Budget
from blendp.privacy.delta import fitting_delta
from blendp.reports import METHODS, ORACLES, PUBLISHED_QUERY_SHARE, RANDOMISER_OF_METHOD, RANDOMISERS
from blendp.spelling import nothing

PUBLISHED_LIST_SHARE = 0.95

AUTO = "auto"
"""Leaves it to public or released numbers: how many records of an opt-in person count, and how clients report."""

MANY = "many"

MAX_DELTA = 1e-5
"""The largest delta that is chosen for few people."""

MEAN_SHARE = 0.02
"""The part of epsilon for the mean number of records a person, where it decides and nobody has said it."""

_ONLY_PUBLISHED = ("variance", "wildcard")
_ONLY_BLENDP = ("randomiser", "prior", "influence_cap", "records_per_person", "objective")


def one_digit(number: float) -> float:
    """The number, rounded to one significant digit."""
    return float(f"{number:.0e}")


@dataclass(frozen=True)
class Parameters:
    """What a method is told besides the people. What is None is chosen by the method."""

    epsilon: float = 4.0
    """The privacy loss each person is promised at most; the same for both groups."""

    delta: float | None = None
    """By how much the probability of any result may exceed e^epsilon times what it is with other records of a person;
    a record that one person alone holds is listed with at most this probability. None takes one below a tenth of one
    over the number of people, once that is known (:meth:`fitted`); at most :data:`MAX_DELTA`."""

    method: str = "blendp"
    """``blendp``, or ``published``: BLENDER with its errata mended."""

    size: int | None = 50
    """M: how many records (or queries) the final list keeps; None keeps all that pass the threshold."""

    trim_unit: str = "record"
    """Whether ``size`` counts records or queries."""

    opt_in_records: int | str = AUTO
    """How many records an opt-in user contributes. blendp: 1; ``many``: all of them, by the filtered union; ``auto``:
    whichever serves what is published better, by the mean number of records a person. published: m_O, 1 if nothing is
    said."""

    records_per_person: float | None = None
    """How many records a person has on average, if that is known (blendp method); it is published, and rounded to one
    digit before anything is done with it. A mean taken from the log is not private. If it is not known and is needed,
    2 % of epsilon are spent on the noisy mean number of different records in the opt-in group."""

    objective: str = "balanced"
    """What is to be best (blendp method): balanced, long-list or trends (the most frequent queries)."""

    client_records: int = 1
    """m_C: records each client reports about; the budget is divided among them."""

    head_list_share: float | None = None
    """f_O: the share of the opt-in users who make the list; the others estimate. All of them make the list and
    estimate by default in the blendp method; 0.95 in the published one."""

    query_share: float | None = None
    """blendp: the share of the clients who report the query, the others report the record; by default what promises
    the smallest errors for the list at hand. published: f_C, the share of a client's budget for the query, 0.85."""

    randomiser: str = "auto"
    """How clients report (blendp method): split, apart, two-stage or two-stage-tight; auto takes split or apart,
    whichever promises the smaller errors for the list at hand."""

    prior: str = "power-law"
    """What is assumed of listed records before their counts are seen (blendp method): power-law, or none."""

    influence_cap: float | None = 3.0
    """How many standard errors the clients may pull an estimate away from the opt-in group's (blendp method)."""

    variance: str = "mended"
    """Which variance formulas and weights (published method): mended, or as printed in the journal or conference
    version."""

    wildcard: str = "shared"
    """What an opt-in record with a listed query and an unlisted URL counts for (published method): <q,*> (shared) or
    <*,*> (figure-4)."""

    project: bool = True
    """Whether the published probabilities are projected on the simplex; intervals never are."""

    def __post_init__(self) -> None:
        """Refuse what is out of range or belongs to the other method, one clear sentence each."""
        require_choice("method", self.method, METHODS)
        Budget(self.epsilon, self._max_delta)
        if self.size is not None:
            require_count("size", self.size, min_value=1, remedy=f"Ask for at least one record; {nothing()} keeps all.")
        require_choice("trim_unit", self.trim_unit, TRIM_UNITS)
        self._require_opt_in_records()
        require_choice("objective", self.objective, OBJECTIVES)
        if self.records_per_person is not None:
            require_number(
                "records_per_person",
                self.records_per_person,
                above=0,
                max_value=1e9,
                legal="a number above 0",
                remedy="It is the mean; leave it out if it is not known.",
            )
            object.__setattr__(self, "records_per_person", one_digit(self.records_per_person))
        require_count("client_records", self.client_records, min_value=1, remedy="1 is the published choice.")
        require_choice("variance", self.variance, VARIANCES)
        require_choice("wildcard", self.wildcard, WILDCARDS)
        require_choice("randomiser", self.randomiser, (AUTO, *RANDOMISERS))
        require_choice("prior", self.prior, PRIORS)
        if self.influence_cap is not None:
            require_number(
                "influence_cap",
                self.influence_cap,
                above=0,
                legal=f"a number above 0, or {nothing()} for no cap",
                remedy="3 moves honest estimates once in 370.",
            )
        self._refuse_the_other_method()
        if not self.reports_split:
            _require_share("query_share", self.client_query_share, "0.85 is the published choice.")
        elif self.query_share is not None:
            require_number(
                "query_share",
                self.query_share,
                min_value=0,
                below=1,
                legal="from 0 to below 1",
                remedy="Leave it out to have it chosen.",
            )
        if self.method == "published" or self.head_list_share is not None:
            require_number(
                "head_list_share",
                self.list_makers,
                above=0,
                max_value=1,
                legal="above 0 and below 1 (1 in the blendp method: all make the list and estimate)",
                remedy="0.95 is the published choice.",
            )
        if self.method == "published" and self.list_makers == 1:
            raise ParameterError(
                "head_list_share", 1.0, "below 1 in the published method", "Its estimates need people of their own."
            )
        if self.method == "published":
            ThresholdList(
                Budget(self.epsilon, self._max_delta), self.max_opt_in_records
            )  # both refuse what is unproved
        else:
            known = self if self.delta is not None else replace(self, delta=self._max_delta)
            for levels in (1, 2):  # whichever the log has, nothing may be refused once something was drawn
                known.list_maker(levels, many=self.opt_in_records == MANY)

    def _require_opt_in_records(self) -> None:
        """Refuse what the method does not know."""
        if self.opt_in_records == AUTO:
            return
        if self.method == "published":
            require_count("opt_in_records", self.opt_in_records, min_value=1, remedy="1 is the published choice.")
        elif self.opt_in_records not in (1, MANY) or isinstance(self.opt_in_records, bool):
            raise ParameterError(
                "opt_in_records",
                self.opt_in_records,
                "1, many or auto with method blendp",
                "Many needs no bound: all records of a person count, and auto knows when one is better.",
            )
        if self.opt_in_records == MANY and self.holds_out:
            legal = "1 or auto where head_list_share holds people out"
            raise ParameterError("opt_in_records", MANY, legal, "Leave out head_list_share: all estimate anyway.")

    def _refuse_the_other_method(self) -> None:
        other = _ONLY_BLENDP if self.method == "published" else _ONLY_PUBLISHED
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in other and value != field.default:
                raise ParameterError(
                    field.name,
                    value,
                    f"left at {field.default} with method {self.method}",
                    f"Choose the other method, or leave out {field.name}.",
                )
        if self.method == "blendp" and self.client_records != 1:
            raise ParameterError(
                "client_records",
                self.client_records,
                "1 with method blendp",
                "Several reports would share the budget and say less than one; method published allows them.",
            )

    def list_maker(self, levels: int = 2, *, many: bool = False) -> AsymmetricList | FilteredUnion:
        """The blendp method's mechanism for the list of a log with so many levels, of one record a person or many."""
        if many:
            return _filtered_union(self.list_budget, *list_shares(self.objective))
        return AsymmetricList(self.list_budget, wildcards=levels == 2 and not self.holds_out)

    @property
    def many_records(self) -> bool | None:
        """Whether the list is made of many records of each person (blendp method); None if a noisy mean decides."""
        if self.opt_in_records != AUTO:
            return self.opt_in_records == MANY
        if self.method == "published" or self.holds_out or not self._has_room:
            return False
        said = self.records_per_person
        return None if said is None else said >= many_from(self.size, self.trim_unit, self.epsilon)

    def uses_many(self, mean_records: float | None, people: int | None = None) -> bool:
        """Whether the list is made of many records of each person, once the mean number of different records is known
        where it decides.

        A noisy mean of few ``people`` says little: it has to be two standard errors above what it takes. None where
        the mean has no noise, as in a plan; it is then for as many people as usual.
        """
        if self.many_records is not None or mean_records is None:
            return bool(self.many_records)
        error = 0.0 if people is None else self._mean_error(people)
        return mean_records - 2 * error >= many_different_from(self.size, self.trim_unit, self.epsilon, people)

    def tells_mean(self, mean_records: float, people: int) -> bool:
        """Whether a noisy mean of so many people is more than its noise, and enough to decide by."""
        least = many_different_from(self.size, self.trim_unit, self.epsilon, people)
        undecided = mean_records >= least and not self.uses_many(mean_records, people)
        return not undecided and 2 * self._mean_error(people) <= max(mean_records, 1.0)

    def _mean_error(self, people: int) -> float:
        """The standard error of the noisy mean."""
        from blendp.curator.mean_records import mean_noise

        return math.sqrt(mean_noise(self.mean_epsilon).variance) / max(people, 1)

    @property
    def mean_epsilon(self) -> Fraction:
        """What the noisy mean number of records costs; nothing where it does not decide."""
        return Fraction(self.epsilon) - Fraction(self._list_epsilon)

    @property
    def better_otherwise(self) -> str | None:
        """Why another number of records would serve better, by what was said of people; None if it would not."""
        if self.method == "published" or self.records_per_person is None or self.opt_in_records == AUTO:
            return None
        many = replace(self, opt_in_records=AUTO).many_records
        if many == self.many_records:
            return None
        better = "all of them serve better than one" if many else "one of each serves better than all of them"
        return (
            f"opt_in_records is {self.opt_in_records}, though a person has {self.records_per_person:g} records on "
            f"average: {better} (opt_in_records auto)."
        )

    @property
    def list_budget(self) -> Budget:
        """What makes the list and its counts: all that is promised, but for the noisy mean if that decides."""
        return Budget(self._list_epsilon, self.budget.delta)

    @property
    def _list_epsilon(self) -> float:
        return self.epsilon if self.many_records is not None else self.epsilon * (1 - MEAN_SHARE)

    @property
    def max_opt_in_records(self) -> int:
        """m_O of the published method."""
        return self.opt_in_records if isinstance(self.opt_in_records, int) else 1

    @property
    def list_makers(self) -> float:
        """f_O, as said or chosen."""
        if self.head_list_share is not None:
            return self.head_list_share
        return PUBLISHED_LIST_SHARE if self.method == "published" else 1.0

    @property
    def holds_out(self) -> bool:
        """Whether some opt-in users do not make the list, and estimate instead."""
        return self.list_makers < 1

    @property
    def reports_split(self) -> bool:
        """Whether clients report sets, some of queries and others of records."""
        return self.client_randomiser in (AUTO, *ORACLES)

    @property
    def client_randomiser(self) -> str:
        """How clients report: as said in the blendp method (auto leaves it to the list), as published in the other."""
        return self.randomiser if self.method == "blendp" else RANDOMISER_OF_METHOD[self.method]

    @property
    def client_query_share(self) -> float:
        """f_C of the two-stage randomiser, as said or published."""
        return PUBLISHED_QUERY_SHARE if self.query_share is None else self.query_share

    @property
    def budget(self) -> Budget:
        """What each person is promised."""
        if self.delta is None:
            raise ParameterError("delta", None, "a number here", "Say how many people there are: Parameters.fitted.")
        return Budget(self.epsilon, self.delta)

    @property
    def _max_delta(self) -> float:
        """Delta, or the largest that may be chosen: what lacks room with it lacks it with less, and what is proved with
        it is proved with less.
        """
        return MAX_DELTA if self.delta is None else self.delta

    @property
    def _has_room(self) -> bool:
        return _has_room(self.epsilon, self._max_delta, self.objective)

    def fitted(self, people: int) -> Self:
        """The same, with a delta that fits so many people where none was said. Their number is public."""
        return self if self.delta is not None else replace(self, delta=fitting_delta(people, MAX_DELTA))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; shares left to the method as it chose, but for one that depends on the list."""
        chosen = self.query_share if self.reports_split else self.client_query_share
        return {**asdict(self), "head_list_share": self.list_makers, "query_share": chosen}

    def __str__(self) -> str:
        """One line for people."""
        size = "all records" if self.size is None else f"{self.size} {self.trim_unit}s"
        several = f", {self.opt_in_records} records of an opt-in user" if self.opt_in_records not in (1, AUTO) else ""
        promise = f"(ε = {self.epsilon:g}, δ by the number of people)" if self.delta is None else self.budget
        return f"{self.method} {promise}, list of {size}{several}"


@lru_cache(maxsize=64)
def _filtered_union(budget: Budget, filter_share: float, list_share: float) -> FilteredUnion:
    return FilteredUnion(budget, filter_share, list_share)


@lru_cache(maxsize=64)
def _has_room(epsilon: float, delta: float, objective: str) -> bool:
    """Whether the noisy mean can be drawn with its part of this budget, and the filtered union with the rest."""
    from blendp.curator.mean_records import mean_noise

    rest = epsilon * (1 - MEAN_SHARE)
    try:
        mean_noise(Fraction(epsilon) - Fraction(rest))
    except ParameterError:
        return False
    return FilteredUnion.has_room(Budget(rest, delta), *list_shares(objective))


def _require_share(name: str, value: float, remedy: str) -> None:
    require_number(name, value, above=0, below=1, legal="above 0 and below 1", remedy=remedy)
