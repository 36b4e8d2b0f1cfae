"""How many heavy hitters a list will probably have: from the number of people and the promise, never from records.

    K = sum of Bernoulli(P_j) + Poisson(rest),    records = min(M, K)

where:
    P_j   is the probability that record j of the assumed law passes,
    rest  is how many of the records that hardly ever pass do, on average,
    M     is the size that the list is cut to.

How many records people have is assumed where nobody has said it: they decide whether many of each serve better than
one, and with many how long the list is. In the published method several records of a person are taken to be drawn each
by itself from the law.
"""

from __future__ import annotations

import math

import numpy as np

from blendp.arrays import Array
from blendp.errors import require_choice, require_count
from blendp.evaluation.planner.crowds import passing_records
from blendp.evaluation.planner.law import HeadLaw, population_law
from blendp.logs.synthetic import NAMES
from blendp.logs.synthetic.populations import MAX_RECORDS_PER_USER
from blendp.methods import Parameters
from blendp.methods.listed import ListMaker, blendp_list_maker, published_list_maker
from blendp.wire.forecast import UNLIKELY, ListForecast

MAX_PEOPLE = 1_000_000_000
RANGE = 0.9
"""How probable it is that the list is as long as the range says."""

_RARE = 0.002
_SURE = 1 - 1e-9
_MAX_RECORDS = 20_000
_FEW = 32


ASSUMED_RECORDS = 20.0
"""How many records a person is taken to have on average, if nobody says."""


def forecast_list(parameters: Parameters, levels: int, people: int, like: str, min_records: int) -> ListForecast:
    """The forecast for so many opt-in people with records like those of the population ``like``."""
    require_count("people", people, min_value=0, remedy="Say how many people opt in.")
    require_choice("like", like, NAMES)
    require_count("min_records", min_records, min_value=1, remedy="Say how many records are wanted.")
    parameters = parameters.fitted(people)
    law = assumed_law(parameters, like, levels)
    mechanism = _mechanism(parameters, law)
    chances = _lengths(law, mechanism, parameters, people, _MAX_RECORDS)
    sums = np.cumsum(chances)
    tails = (1 - RANGE) / 2
    expected, below = _mean(chances), _below(chances, min_records)
    many, with_one_record = parameters.uses_many(law.mean_records), None
    if parameters.many_records is None:
        one_each = population_law(like, levels, 1.0)
        with_one_record = _mean(_lengths(one_each, _mechanism(parameters, one_each), parameters, people, _MAX_RECORDS))
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
        records_per_person=assumed_records(parameters) if many else None,
        with_one_record=with_one_record,
    )


def expected_length(parameters: Parameters, levels: int, people: int, like: str) -> float:
    """How many records the list of so many opt-in people like these has on average."""
    law = assumed_law(parameters, like, levels)
    return _mean(_lengths(law, _mechanism(parameters, law), parameters, people, _MAX_RECORDS))


def assumed_law(parameters: Parameters, like: str, levels: int) -> HeadLaw:
    """The law of people like these, with as many records as was said or is assumed, where more than one counts."""
    many = parameters.uses_many(ASSUMED_RECORDS)
    return population_law(like, levels, assumed_records(parameters) if many else 1.0)


def assumed_records(parameters: Parameters) -> float:
    """How many records a person has on average: as was said, or as is assumed."""
    said = parameters.records_per_person
    return ASSUMED_RECORDS if said is None else min(max(said, 1.0), MAX_RECORDS_PER_USER)


def _mechanism(parameters: Parameters, law: HeadLaw) -> ListMaker:
    if parameters.method == "published":
        return published_list_maker(parameters)
    return blendp_list_maker(parameters, law.levels, many=parameters.uses_many(law.mean_records))


def _lengths(law: HeadLaw, mechanism: ListMaker, parameters: Parameters, people: int, max_records: int) -> Array:
    """The probability of every length of the list, from 0 on; all beyond ``max_records`` counts as that."""
    makers = round(parameters.list_makers * people)
    if not makers:
        return np.ones(1)
    max_records = max_records if parameters.size is None else min(max_records, parameters.size)
    passing = passing_records(law, mechanism, makers * parameters.max_opt_in_records)
    head, sure = passing.known, passing.known > _SURE
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


def _mean(chances: Array) -> float:
    return _told(float(np.arange(len(chances)) @ chances))


def _below(chances: Array, min_records: int) -> float:
    return _told(float(min(1.0, chances[:min_records].sum())))


def _told(value: float) -> float:
    """To nine digits: the last ones of a product of vectors differ from process to process."""
    return float(f"{value:.9g}")


def _people_needed(law: HeadLaw, mechanism: ListMaker, parameters: Parameters, min_records: int) -> int | None:
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
