"""What a release is to be best at, and when many records of a person serve it better than one.

The budget of the filtered union is split among its first round, its list and its counts; what clients are asked is
tuned to the same aim.
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
        sharpest                  says whose errors the clients' questions make smallest: queries, records or both,
        many_from                 is the mean number of records a person from which many records list more than one,
        many_from_different       is the same of different records, of which a person counts 20 at most: what a noisy
                                  mean tells.
    """

    filter_share: float
    list_share: float
    sharpest: str
    many_from: float
    many_from_different: float


_AIMS: Mapping[str, Objective] = MappingProxyType(
    {
        "balanced": Objective(0.15, 0.25, "both", 7.1, 5.0),
        "long-list": Objective(0.3, 0.4, "records", 4.8, 3.5),
        "trends": Objective(0.1, 0.2, "queries", 8.5, 5.8),
    }
)

OBJECTIVES = tuple(_AIMS)


def list_shares(objective: str) -> tuple[float, float]:
    """The parts of the budget for the two rounds of the list."""
    aim = _AIMS[objective]
    return aim.filter_share, aim.list_share


def sharpest(objective: str) -> str:
    """Whose errors the clients' questions are to make smallest."""
    return _AIMS[objective].sharpest


def many_are_better(records_per_person: float, objective: str) -> bool:
    """Whether many records of each person list more than one, if they have so many on average."""
    return records_per_person >= _AIMS[objective].many_from


def many_different_are_better(different_records: float, objective: str) -> bool:
    """The same by how many different records they have on average, 20 of a person at most."""
    return different_records >= _AIMS[objective].many_from_different
