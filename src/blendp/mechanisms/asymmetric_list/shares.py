"""How the promise of an asymmetric list is best shared: epsilon between the sides of its noise, delta between what it
lists.

Everything here is decided from public numbers, before any data is seen. Floating point only picks among lists that
are all private: the list decides its own least totals exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from blendp.arrays import Array, distinct

_STEPS = 1000
_MIN_RISING = {False: Fraction(18, 100), True: Fraction(12, 100)}
"""The least share of epsilon of the records' rising rate; less with rests, as totals then get the rests' rate too."""

_RECORD_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
_POPULARITY = 2.2
_QUERY_WEIGHT = 0.5
_FADED = 10.0
_FINEST = 0.05
_FEW_STEPS = 40
_SINGLY = 40


class ListShares(NamedTuple):
    """How the promise is shared.

    where:
        falling  is the share of epsilon of the falling rate,
        records  is the share of delta for records; queries that are listed by their rests have what is left.
    """

    falling: Fraction
    records: float


@lru_cache(maxsize=256)
def best_shares(epsilon: float, delta: float, rest_share: Fraction, falling: Fraction | None = None) -> ListShares:
    """The shares of the list that can be expected to name most.

        maximise  sum over n >= 1 of n^-2.2 (P(X >= T - n) + P(Y >= T' - n)/2)

    where:
        X, Y   are the noises by which records and queries are listed, T and T' their least totals; without rests
               there is no Y, and records have all of delta,
        2.2    is the slope of how many records occur n times in a log whose popularity falls like 1/rank^0.83,
        1/2    is how much a query without a URL is worth beside a record.

    The rising rate of the records keeps 12 % of epsilon at least (18 % without rests): less would lengthen the list
    by a per cent or two and make the counts of what is listed much worse. Below an epsilon of 0.05 only n epsilon
    matters, and the shares are those of 0.05. A share of ``falling`` that is said is kept.
    """
    epsilon, rests = max(epsilon, _FINEST), rest_share > 0
    if falling is None:
        most = math.floor(_STEPS * (1 - rest_share - _MIN_RISING[rests]))
        coarse = distinct(np.linspace(1, most, min(most, _FEW_STEPS)).astype(np.int64))
        around = _best(epsilon, delta, float(rest_share), coarse / _STEPS)
        near = np.arange(max(1, round(around[0] * _STEPS) - 20), min(most, round(around[0] * _STEPS) + 20) + 1)
        best = _best(epsilon, delta, float(rest_share), near / _STEPS)
        return ListShares(Fraction(round(best[0] * _STEPS), _STEPS), best[1])
    return ListShares(falling, _best(epsilon, delta, float(rest_share), np.array([float(falling)]))[1])


def _best(epsilon: float, delta: float, rest_share: float, shares: Array) -> tuple[float, float]:
    """The best of these shares of the falling rate, and the share of delta for records that goes with it."""
    falling = epsilon * shares[:, None]
    rising, rest_rising = epsilon * (1 - rest_share) - falling, epsilon * rest_share
    upper = np.expm1(-rising) / np.expm1(-(falling + rising))
    of_records = np.array(_RECORD_SHARES if rest_share else _RECORD_SHARES[:1])
    missing = np.maximum(1, np.ceil(np.log(upper / (of_records * delta)) / falling))  # T - 1
    length = int(missing.max()) + math.ceil(_FADED / (epsilon * float(_MIN_RISING[rest_share > 0])))
    n, weight = _counts(length)
    named = _listed(n, missing, falling, rising) @ weight
    if rest_share:
        rest_upper = np.expm1(-rest_rising) / np.expm1(-(falling + rest_rising))
        stray = upper * np.exp(-falling * missing)
        left = np.maximum((delta - stray) / (1 - stray), delta * 1e-6)
        of_queries = np.maximum(1, np.ceil(np.log(rest_upper / left) / falling))
        named += _QUERY_WEIGHT * (_listed(n, of_queries, falling, np.full_like(falling, rest_rising)) @ weight)
    best = np.unravel_index(int(np.argmax(named)), named.shape)
    return float(shares[best[0]]), float(of_records[best[1]])


def _counts(length: int) -> tuple[Array, Array]:
    """Counts from 1 to at least this length, the larger ones a few per cent apart, and how many records have them."""
    ends = distinct(np.rint(np.geomspace(1, length + 1, 40 * math.ceil(math.log(length + 1)))))
    edges = np.concatenate((np.arange(1, _SINGLY + 1), ends[ends > _SINGLY])) - 0.5
    weight = -np.diff(edges ** (1 - _POPULARITY)) / (_POPULARITY - 1)
    return np.floor(np.sqrt(edges[:-1] * edges[1:]) + 0.5), weight


def _listed(n: Array, missing: Array, falling: Array, rising: Array) -> Array:
    """P(X >= T - n) for every n, least total T = missing + 1, and rates: an axis for n is added."""
    a, b = falling[..., None], rising[..., None]
    beyond = missing[..., None] + 1 - n
    both = np.expm1(-(a + b))
    above = np.expm1(-b) / both * np.exp(-a * np.maximum(beyond, 0))
    below = np.expm1(-a) / both * np.exp(-b * np.maximum(1 - beyond, 0))
    return np.where(beyond >= 0, above, 1 - below)
