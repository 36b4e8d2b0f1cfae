"""A plan in words and tables: the same for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blendp.evaluation.planner import Overview, Plan, Reach, SearchResult
from blendp.methods.filtered import rows_that_count
from blendp.methods.objectives import top_named
from blendp.privacy.delta import delta_beside_people
from blendp.render.text import decimals, with_error
from blendp.spelling import counted

RANKS = (1, 10, 50)
"""Places of the list whose errors are told."""

NOT_PRIVATE = "Not private: computed from the raw log without protection."
NONE = "–"


@dataclass(frozen=True)
class FigureLine:
    """One line of the table of figures: what it tells, and its value for each method; ``under`` another line."""

    name: str
    values: tuple[str, ...]
    under: bool = False


def heading(view: Overview) -> str:
    """For whom and with which promise."""
    plan = view.first
    size = "all records that pass" if plan.parameters.size is None else counted(plan.parameters.size, "record")
    each = f", with {view.records_per_person:.3g} records each on average" if view.records_per_person > 1 else ""
    return (
        f"{plan.users:,} people like those of {view.like}{each}: {plan.groups.opt_in:,} opt in ({share(plan.opt_in)}), "
        f"{plan.groups.client:,} clients; promise {plan.parameters.budget} to every person; list of {size}"
    )


def assumed_people(view: Overview) -> str:
    """What is assumed of everybody's records."""
    many = view.records_per_person
    each = "Everybody has one record" if many <= 1 else f"People have {many:.3g} records each on average"
    return f"{each}, drawn from the same law, whichever group they are in."


def filtered(view: Overview) -> str | None:
    """Which rows of the log count; None if all do, or there is no log."""
    return rows_that_count(view.reading)


def figures(view: Overview) -> list[FigureLine]:
    """What each method may be expected to give."""
    plans = list(view.plans.values())

    def line(name: str, values: Sequence[str], under: bool = False) -> FigureLine:
        return FigureLine(name, tuple(values), under)

    lines = [
        line("the list is made of", [_made_of(plan) for plan in plans]),
        line("pass the threshold", [f"{plan.candidates:,.1f} records" for plan in plans]),
        line("on the list", [f"{plan.records:,.1f} records" for plan in plans]),
        line("of so many queries", [f"{plan.queries:,.1f}" for plan in plans], under=True),
        line(top_named(view.first.parameters.size), [f"{plan.scores.top_error:.3f}" for plan in plans]),
        line("precision", [f"{plan.scores.precision:.3f}" for plan in plans], under=True),
        line("recall", [f"{plan.scores.recall:.3f}" for plan in plans], under=True),
        line("L1 of trends (0: perfect)", [f"{plan.scores.l1:.3f}" for plan in plans]),
        line("NDCG (1: perfect)", [f"{plan.scores.ndcg:.3f}" for plan in plans]),
        line("in random order", [f"{plan.scores.ndcg_random:.3f}" for plan in plans], under=True),
        line("NDCG of the list", [f"{plan.scores.ndcg_list:.3f}" for plan in plans]),
        line("in random order", [f"{plan.scores.ndcg_list_random:.3f}" for plan in plans], under=True),
    ]
    for rank in RANKS:
        if any(plan.at(rank) for plan in plans):
            lines.append(line(f"record at place {rank}", [_at(plan, rank) for plan in plans]))
            lines.append(line("error as a share", [_off(plan, rank) for plan in plans], under=True))
    lines.append(line("one opt-in user is worth", [_worth(plan) for plan in plans]))
    return lines


def _made_of(plan: Plan) -> str:
    return "all records" if plan.many_records else "one record each"


def _at(plan: Plan, rank: int) -> str:
    error = plan.at(rank)
    if error is None:
        return NONE
    digits = decimals([error.std_error], [error.probability])
    return with_error(error.probability, error.std_error, digits)


def _off(plan: Plan, rank: int) -> str:
    error = plan.at(rank)
    return NONE if error is None else f"{float(f'{100 * error.relative:.2g}'):g} %"


def _worth(plan: Plan) -> str:
    if plan.worth is None:
        return NONE
    value = float(f"{plan.worth:.2g}")
    return f"{value:,.0f} clients" if value >= 10 else f"{value:g} clients"


def reaches(view: Overview) -> list[str]:
    """What it takes to reach the target, a sentence for each method."""
    return [f"{name}: {_reach(view, reach)}" for name, reach in view.reach.items()]


def _reach(view: Overview, reach: Reach) -> str:
    plan = view.first
    by_people, by_epsilon = reach.opt_in, reach.epsilon
    ways = []
    if by_people.value is not None:
        people = round(by_people.value * plan.users)
        ways.append(
            f"{share(by_people.value)} opt in ({people:,} people) at ε = {plan.parameters.epsilon:g} "
            f"gives {_outcome(by_people)}"
        )
    else:
        ways.append(f"no opt-in share up to 50 % is enough at this ε (best: {_outcome(by_people)})")
    if by_epsilon.value is not None:
        ways.append(f"ε = {by_epsilon.value:g} at {share(plan.opt_in)} opt-in gives {_outcome(by_epsilon)}")
    else:
        ways.append(f"no ε up to 10 is enough at this opt-in share (best: {_outcome(by_epsilon)})")
    return "; ".join(ways) + "."


def _outcome(result: SearchResult) -> str:
    return f"L1 {result.plan.scores.l1:.3f} with {result.plan.records:.1f} records"


def cautions(view: Overview) -> list[str]:
    """What to be careful about."""
    delta = view.first.parameters.budget.delta
    if delta * view.first.users < 1:
        return []
    beside = delta_beside_people(delta, view.first.users)
    return [f"{beside}: choose a smaller one for a release about real people, and plan again."]


def advice(view: Overview) -> list[str]:
    """What to do next."""
    best = min(view.plans.values(), key=lambda one: one.scores.top_error)
    chosen = best.parameters
    said = []
    if len(view.plans) > 1 and best.records >= 0.5:
        said.append(f"Take method {chosen.method}: its {top_named(chosen.size)} is smaller.")
    if view.other is not None:
        said.append(_ways(view.plans["blendp"], view.other))
    if best.records < 0.5:
        said.append("Next to nothing will be listed: find more people, or more who opt in, or raise ε.")
    elif chosen.size is not None and best.records < 0.95 * chosen.size:
        said.append(
            f"The list will not be full: ask for about {counted(max(1, int(best.records)), 'record')} (--size), or let "
            f"more people opt in (--target-size {round(0.95 * chosen.size)} finds how many)."
        )
    elif chosen.size is not None and best.candidates > 1.5 * chosen.size:
        said.append(f"About {best.candidates:,.0f} records pass: a longer list is possible (--size), or a smaller ε.")
    if view.target is None:
        said.append(
            "Name a target (--target-l1, --target-size) to learn the smallest opt-in share and ε that reach it."
        )
    said.append("Check the plan on a log of your own: blendp evaluate LOG --repeat 20.")
    return said


def _ways(chosen: Plan, other: Plan) -> str:
    """How the two ways to make the list compare: with many records of each person, or with one."""
    many, one = (chosen, other) if chosen.many_records else (other, chosen)
    errors = (
        f"with all records of each opt-in person the {top_named(chosen.parameters.size)} is "
        f"{many.scores.top_error:.3f}, with one of each {one.scores.top_error:.3f}"
    )
    if other.scores.top_error > 0.95 * chosen.scores.top_error:
        return f"Leave --opt-in-records at {chosen.parameters.opt_in_records}: {errors}."
    return f"Say --opt-in-records {other.parameters.opt_in_records}: {errors}."


def share(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.3g} %"
