"""How many heavy hitters a list will probably have: from the number of people and the promise, never from records.

    K = sum of Bernoulli(P_j) + Poisson(rest),    records = min(M, K)

where:
    P_j   is the probability that record j of the assumed law passes,
    rest  is how many of the records that hardly ever pass do, on average,
    M     is the size that the list is cut to.

With several records of a person, each is taken to be drawn by itself from the law: people who repeat themselves, or one
another, make shorter or longer lists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import require_choice, require_count
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.lists import listing
from blendp.logs.synthetic import NAMES
from blendp.mechanisms import AsymmetricList, ThresholdList, WeightedUnion
from blendp.methods import Parameters
from blendp.methods.listed import blendp_list_maker, published_list_maker
from blendp.wire.forecast import ListForecast

MAX_PEOPLE = 1_000_000_000
RANGE = 0.9
"""How probable it is that the list is as long as the range says."""

UNLIKELY = 0.05
"""The chance of a list that is too short which may be taken."""

_RARE = 0.002
_SURE = 1 - 1e-9
_MAX_RECORDS = 20_000
_FEW = 32


def forecast_list(parameters: Parameters, levels: int, people: int, like: str, min_records: int) -> ListForecast:
    """The forecast for so many opt-in people with records like those of the population ``like``."""
    require_count("people", people, min_value=0, remedy="Say how many people opt in.")
    require_choice("like", like, NAMES)
    require_count("min_records", min_records, min_value=1, remedy="Say how many records are wanted.")
    law = HeadLaw.of_population(like, levels)
    mechanism = _mechanism(parameters, levels)
    chances = _lengths(law, mechanism, parameters, people, _MAX_RECORDS)
    sums = np.cumsum(chances)
    tails = (1 - RANGE) / 2
    expected, below = float(np.arange(len(chances)) @ chances), _below(chances, min_records)
    return ListForecast(
        people=people,
        like=like,
        expected=expected,
        low=int(np.searchsorted(sums, tails)),
        high=min(int(np.searchsorted(sums, 1 - tails)), len(chances) - 1),
        range=RANGE,
        min_records=min_records,
        below=below,
        too_short=expected < min_records or below >= 0.5,
        people_needed=_people_needed(law, mechanism, parameters, min_records),
    )


@dataclass(frozen=True)
class _UnionOfPeople:
    """A weighted union as a threshold on numbers of people, each of whom has as many different records as may be."""

    union: WeightedUnion

    @property
    def weight(self) -> int:
        return int(self.union._weights[-1])

    @property
    def min_total(self) -> int:
        return max(1, math.ceil(self.union.min_total / self.weight))

    def listing_probability(self, counts: NDArray[np.int64] | int) -> Array:
        return self.union.listing_probability(np.asarray(counts, dtype=np.int64) * self.weight)


Mechanism = AsymmetricList | ThresholdList | _UnionOfPeople


def _mechanism(parameters: Parameters, levels: int) -> Mechanism:
    if parameters.method == "published":
        return published_list_maker(parameters)
    maker = blendp_list_maker(parameters, levels)
    return _UnionOfPeople(maker) if isinstance(maker, WeightedUnion) else maker


def _lengths(law: HeadLaw, mechanism: Mechanism, parameters: Parameters, people: int, max_records: int) -> Array:
    """The probability of every length of the list, from 0 on; all beyond ``max_records`` counts as that."""
    makers = round(parameters.list_makers * people)
    if not makers:
        return np.ones(1)
    max_records = max_records if parameters.size is None else min(max_records, parameters.size)
    passing = listing(law, mechanism, makers * parameters.opt_in_records)
    head, sure = passing.head, passing.head > _SURE
    often = head[(head >= _RARE) & ~sure]
    rest = float(head[head < _RARE].sum() + passing.tail.sum())
    return _cut(_sum_of(often, rest, max_records), int(sure.sum()), max_records)


def _sum_of(chances: Array, rest: float, max_records: int) -> Array:
    """The law of a sum of Bernoulli variables and one Poisson variable; all beyond ``max_records`` counts as that."""
    room = min(max_records, len(chances) + math.ceil(rest + 12 * math.sqrt(rest) + 12))
    law = _coins(chances, room)
    k = np.arange(room + 1)
    logs = k * math.log(rest) - rest - np.cumsum(np.log(np.maximum(k, 1))) if rest > 0 else np.where(k, -np.inf, 0.0)
    return _folded(np.convolve(law, np.exp(logs)), room)


def _coins(chances: Array, max_sum: int) -> Array:
    """The law of the sum of Bernoulli variables: of few one by one, of many by halves."""
    if len(chances) > _FEW:
        half = len(chances) // 2
        return _folded(np.convolve(_coins(chances[:half], max_sum), _coins(chances[half:], max_sum)), max_sum)
    law = np.ones(1)
    for chance in chances:
        law = np.append(law, 0.0) * (1 - chance) + np.append(0.0, law) * chance
    return _folded(law, max_sum)


def _cut(law: Array, sure: int, max_records: int) -> Array:
    """The law of min(sure + K, max_records)."""
    return _folded(np.concatenate((np.zeros(sure), law)), max_records)


def _folded(law: Array, max_records: int) -> Array:
    """The same law where all beyond ``max_records`` counts as that; its sum is 1."""
    kept = law[: max_records + 1].copy()
    kept[-1] += max(0.0, 1.0 - float(kept.sum()))
    return np.asarray(kept / kept.sum())


def _below(chances: Array, min_records: int) -> float:
    return float(min(1.0, chances[:min_records].sum()))


def _people_needed(law: HeadLaw, mechanism: Mechanism, parameters: Parameters, min_records: int) -> int | None:
    """The least number of people, to one in a hundred, with which a list that is too short is unlikely."""

    def enough(people: int) -> bool:
        return _below(_lengths(law, mechanism, parameters, people, min_records), min_records) <= UNLIKELY

    low, high = 0, 64
    while not enough(high):
        low, high = high, 2 * high
        if high > MAX_PEOPLE or (parameters.size is not None and parameters.size < min_records):
            return None
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
