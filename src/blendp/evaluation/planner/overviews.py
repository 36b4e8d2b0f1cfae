"""All that a plan tells, method beside method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from blendp.errors import ParameterError
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.plans import Plan, plan
from blendp.evaluation.planner.search import (
    RATES,
    RECORDS_DRAWN,
    SearchResult,
    Target,
    smallest_epsilon,
    smallest_opt_in,
    sweep,
)
from blendp.methods import Parameters
from blendp.methods.parameters import MANY
from blendp.shown import Shown
from blendp.spelling import counted


@dataclass(frozen=True, eq=False)
class Reach:
    """How one method reaches the target: by more opt-in users at this epsilon, or a larger epsilon at this share."""

    opt_in: SearchResult
    epsilon: SearchResult

    @property
    def possible(self) -> bool:
        """Whether either way leads there."""
        return self.opt_in.value is not None or self.epsilon.value is not None


@dataclass(frozen=True, eq=False, repr=False)
class Overview(Shown):
    """Plans by method, the same over opt-in shares, and what reaches the target.

    where:
        like     says whose records the people's are taken to be like,
        private  is False where that is a log, from whose raw records all is computed,
        records_per_person  is how many records they have on average,
        other    is the plan of method blendp with one record of each person where the first has many, or the other way
                 round; None where people have one,
        reading  says how the log was read, and which of its rows count, if there is one.
    """

    like: str
    private: bool
    records_per_person: float
    plans: Mapping[str, Plan]
    sweeps: Mapping[str, tuple[Plan, ...]]
    target: Target | None
    reach: Mapping[str, Reach]
    other: Plan | None = None
    reading: Mapping[str, Any] | None = None

    @property
    def first(self) -> Plan:
        """The plan of the first method; all have the same people and promise."""
        return next(iter(self.plans.values()))

    def _brief(self) -> str:
        first = self.first
        lists = ", ".join(f"{name} lists {counted(round(plan.records), 'record')}" for name, plan in self.plans.items())
        who = f"{first.users:,} people like those of {self.like}, {100 * first.opt_in:g} % opt in"
        return f"{'' if self.private else 'not private, '}{who}, {first.parameters.budget}: {lists}"

    def require_reach(self) -> None:
        """Refuse a target that no method reaches, and say what is the best."""
        if self.target is None or any(reach.possible for reach in self.reach.values()):
            return
        tried = [result.plan for reach in self.reach.values() for result in (reach.opt_in, reach.epsilon)]
        longest = max(tried, key=lambda one: one.records)
        if self.target.l1 is None or longest.records < self.target.records:
            legal = f"at most {longest.records:.3g} records, the longest list within reach {_setting(longest)}"
            raise ParameterError("target_size", round(self.target.records, 6), legal, "Plan for more people.")
        best = min((one for one in tried if one.records >= self.target.records), key=lambda one: one.scores.l1)
        legal = f"at least {best.scores.l1:.3g}, the best within reach with so long a list {_setting(best)}"
        raise ParameterError("target_l1", self.target.l1, legal, "Plan for more people, or for a shorter list.")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "private": self.private,
            "like": self.like,
            "people": self.first.users,
            "records_per_person": self.records_per_person,
            "opt_in": self.first.opt_in,
            "plans": {name: plan.to_dict() for name, plan in self.plans.items()},
            "sweep": {name: [plan.to_dict() for plan in row] for name, row in self.sweeps.items()},
            "other_way": None if self.other is None else self.other.to_dict(),
            "target": None if self.target is None else {**asdict(self.target), **self._reach_to_dict()},
            **({} if self.reading is None else {"reading": dict(self.reading)}),
        }

    def _reach_to_dict(self) -> dict[str, Any]:
        return {
            name: {
                "smallest_opt_in": reach.opt_in.value,
                "smallest_epsilon": reach.epsilon.value,
                "at_smallest_opt_in": reach.opt_in.plan.to_dict(),
                "at_smallest_epsilon": reach.epsilon.plan.to_dict(),
            }
            for name, reach in self.reach.items()
        }


def overview(
    law: HeadLaw,
    users: int,
    opt_in: float,
    parameters: Sequence[Parameters],
    target: Target | None = None,
    *,
    like: str,
    private: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Overview:
    """Plan with each of these parameters, one a method."""
    plans, sweeps, reach, other = {}, {}, {}, None
    for chosen in parameters:
        progress(f"planning with method {chosen.method}")
        own_plan = plan(law, users, opt_in, chosen)
        able = [rate for rate in RATES if rate != opt_in and rate * users >= 2]
        others = sweep(law, users, able, chosen)
        plans[chosen.method] = own_plan
        if chosen.method == "blendp" and law.holders is not None:
            way = 1 if own_plan.many_records else MANY
            other = plan(law, users, opt_in, replace(chosen, opt_in_records=way), records_drawn=RECORDS_DRAWN)
        sweeps[chosen.method] = tuple(sorted((own_plan, *others), key=lambda one: one.opt_in))
        if target is not None:
            progress(f"looking for the target with method {chosen.method}")
            reach[chosen.method] = Reach(
                smallest_opt_in(law, users, chosen, target), smallest_epsilon(law, users, opt_in, chosen, target)
            )
    return Overview(like, private, law.records_per_person, plans, sweeps, target, reach, other)


def _setting(plan: Plan) -> str:
    return f"(method {plan.parameters.method}, ε = {plan.parameters.epsilon:g}, {100 * plan.opt_in:g} % opt in)"
