"""What a release is to be best at, and when many records of a person serve it better than one.

The budget of the filtered union is split among its first round, its list and its counts; what clients are asked is
tuned to the same aim.

Many records serve better from a mean number of different records a person on, 20 of each counted:

    mean >= t(r),    r = n epsilon/(18 M)

where:
    r  is how often one record of each person would list what is published: n people opt in, a record needs about
       18/epsilon of them, and M records (or queries) are published; where all are, the first 50 are looked at,
    t  falls with r. Where one record of each lists all that is wanted anyway, many need not list as much: the smaller
       noise of their numbers decides. Where it does not, the length of the list does. Cut by queries t is higher, as
       one record of each also finds queries whose records are all too rare.

The numbers are such that the error on the true top M comes out smallest, or within a few percent of that, for as many
populations as one rule can (docs/evaluation.md). The objective makes no difference to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Objective:
    """One aim.

    where:
        filter_share, list_share  are the parts of the budget (of mu^2) for the two rounds of the list; counts have
                                  the rest,
        sharpest                  says whose errors the clients' questions make smallest: queries, records or both.
    """

    filter_share: float
    list_share: float
    sharpest: str


_AIMS: Mapping[str, Objective] = MappingProxyType(
    {
        "balanced": Objective(0.15, 0.25, "both"),
        "long-list": Objective(0.3, 0.4, "records"),
        "trends": Objective(0.1, 0.2, "queries"),
    }
)

_MANY_FROM: Mapping[str, tuple[tuple[float, float], ...]] = MappingProxyType(
    {"record": ((150, 2.2), (10, 2.8), (0, 3.7)), "query": ((150, 2.2), (60, 4.5), (0, 7.0))}
)
"""t by the r that it holds from."""

_PEOPLE_BY_EPSILON = 18
TOP = 50
"""M where a list keeps all: how many items the first measure looks at."""

USUAL_PEOPLE = 20_000
"""n where it is not known."""

_DIFFERENT = 0.7
"""Of so large a share of a person's records it is said that they are different, and not beyond the twentieth."""

OBJECTIVES = tuple(_AIMS)


def top_named(size: int | None) -> str:
    """What the first measure is called, for a list that keeps so many items, or all."""
    return f"error on the true top {TOP if size is None else size}"


def list_shares(objective: str) -> tuple[float, float]:
    """The parts of the budget for the two rounds of the list."""
    aim = _AIMS[objective]
    return aim.filter_share, aim.list_share


def sharpest(objective: str) -> str:
    """Whose errors the clients' questions are to make smallest."""
    return _AIMS[objective].sharpest


def many_different_from(size: int | None, unit: str, epsilon: float, people: int | None = None) -> float:
    """From how many different records of a person on average, 20 of each at most, many serve better than one."""
    people = USUAL_PEOPLE if people is None else people
    often = people * epsilon / (_PEOPLE_BY_EPSILON * (TOP if size is None else size))
    return next(least for reached, least in _MANY_FROM[unit] if often >= reached)


def many_from(size: int | None, unit: str, epsilon: float) -> float:
    """The same by how many records they have, if nothing else is known of them."""
    return many_different_from(size, unit, epsilon) / _DIFFERENT
