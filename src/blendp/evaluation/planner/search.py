"""Plans over opt-in shares, and the least that reaches a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from blendp.errors import ParameterError, require_number
from blendp.evaluation.planner.crowds import passing_records
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.plans import Plan, expected_records, group_sizes, list_maker, plan
from blendp.methods import Parameters

RATES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
"""Opt-in shares that are compared."""

RECORDS_DRAWN = 2_000
"""How many listed records each of many plans draws."""

OPT_IN_RANGE = (0.0005, 0.5)
EPSILON_RANGE = (0.05, 10.0)
"""Where the least opt-in share and the least epsilon are looked for."""

FULL = 0.9
"""A target L1 must be reached with this share of the size that is asked for, if no target size is said."""

CLOSE = 1.02
"""The least is found up to this factor."""

_STEP = 1.8


@dataclass(frozen=True)
class Target:
    """What a release has to reach: an L1 of at most this, on a list of at least so many records, on average.

    A short list makes L1 small, as only what is listed counts in it: so a target L1 always comes with a length.
    """

    records: float
    l1: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        require_number(
            "target_size", self.records, above=0, legal="above 0", remedy="Ask for a list of so many records."
        )
        if self.l1 is not None:
            require_number(
                "target_l1",
                self.l1,
                above=0,
                below=2,
                legal="above 0 and below 2",
                remedy="0 is perfect and 2 the worst; 0.1 is good.",
            )

    @classmethod
    def of(cls, l1: float | None, records: float | None, size: int | None) -> Target:
        """The target that is meant for lists of this size: without a length, nine tenths of the size."""
        if records is None:
            if size is None:
                raise ParameterError(
                    "target_l1", l1, "given together with a target size when the list keeps all", "Give both."
                )
            records = FULL * size
        if size is not None and records > size:
            raise ParameterError("target_size", records, f"at most {size}, the size of the list", "Raise size too.")
        return cls(records, l1)

    def reached(self, plan: Plan) -> bool:
        """Whether this plan reaches it."""
        return plan.records >= self.records and (self.l1 is None or plan.scores.l1 <= self.l1)

    def __str__(self) -> str:
        """For people."""
        length = f"{self.records:g} records on the list"
        return f"at least {length}" if self.l1 is None else f"L1 of at most {self.l1:g} with at least {length}"


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The least that reaches a target, and the plan there; None and the best plan that was tried, if nothing does."""

    value: float | None
    plan: Plan


def sweep(law: HeadLaw, users: int, rates: Iterable[float], parameters: Parameters) -> tuple[Plan, ...]:
    """A plan for each of these opt-in shares, from fewer draws."""
    return tuple(plan(law, users, rate, parameters, records_drawn=RECORDS_DRAWN) for rate in rates)


def smallest_opt_in(law: HeadLaw, users: int, parameters: Parameters, target: Target) -> SearchResult:
    """The smallest opt-in share that reaches the target with this epsilon."""
    min_share = max(OPT_IN_RANGE[0], _up(2 / users))
    return _smallest(law, users, target, lambda share: (share, parameters), min_share, OPT_IN_RANGE[1])


def smallest_epsilon(law: HeadLaw, users: int, opt_in: float, parameters: Parameters, target: Target) -> SearchResult:
    """The smallest epsilon that reaches the target with this opt-in share."""
    return _smallest(law, users, target, lambda value: (opt_in, replace(parameters, epsilon=value)), *EPSILON_RANGE)


def _smallest(
    law: HeadLaw,
    users: int,
    target: Target,
    setting: Callable[[float], tuple[float, Parameters]],
    min_value: float,
    max_value: float,
) -> SearchResult:
    """The least value of a setting that reaches the target: first for the length of the list alone, then for L1.

    Values are looked at in growing steps until one reaches the target, then between it and the one before.
    """

    @cache
    def planned(value: float) -> Plan:
        opt_in, parameters = setting(value)
        return plan(law, users, opt_in, parameters, records_drawn=RECORDS_DRAWN)

    def long_enough(value: float) -> bool:
        try:
            opt_in, parameters = setting(value)
            maker = list_maker(law, parameters.fitted(users))
        except ParameterError:
            return False  # the filtered union has no noise for the smallest epsilon
        passing = passing_records(law, maker, group_sizes(users, opt_in, parameters).head_list)
        length = passing.candidates if parameters.size is None else expected_records(passing, parameters.size)
        return length >= target.records

    start = _first(long_enough, min_value, max_value)
    if start is None:
        return SearchResult(None, planned(max_value))
    if target.l1 is None:
        return SearchResult(start, planned(start))
    tried: list[Plan] = []

    def good_enough(value: float) -> bool:
        tried.append(planned(value))
        return target.reached(tried[-1])

    smallest = _first(good_enough, start, max_value)
    if smallest is None:
        return SearchResult(None, min(tried, key=lambda one: one.scores.l1))
    return SearchResult(smallest, planned(smallest))


def _first(fine: Callable[[float], bool], min_value: float, max_value: float) -> float | None:
    """The least value that is fine, of three digits and up to the factor CLOSE; None where none is found."""
    low, high = None, min_value
    while not fine(high):
        if high >= max_value:
            return None
        low, high = high, min(_up(high * _STEP), max_value)
    while low is not None and high > CLOSE * low:
        middle = _up(math.sqrt(low * high))
        if not low < middle < high:
            break
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high


def _up(value: float) -> float:
    """The value, rounded up to three digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.3g}")
