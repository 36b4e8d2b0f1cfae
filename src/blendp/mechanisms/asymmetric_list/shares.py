"""How the budget of an asymmetric list is best shared between the two sides of its noise.

Everything here is decided from public numbers, before any data is seen. Floating point only picks among lists that
are all private: the list decides its own least total exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from blendp.arrays import distinct

_STEPS = 1000
_MIN_RISING = Fraction(18, 100)
_POPULARITY = 2.2
_CANDIDATES = 48
_FADED = 10.0
_FINEST = 0.05


@lru_cache(maxsize=256)
def best_falling_share(epsilon: float, delta: float, wildcard_share: Fraction) -> Fraction:
    """The share of epsilon, in thousandths, of the falling rate of the list that can be expected to name most.

        maximise  sum over n >= 1 of n^-2.2 P(X >= T - n)

    where:
        T     is the least total that a falling rate needs; of the rates that need the same T the smallest is
              taken, as it leaves most to the rising rate,
        2.2   is the slope of how many records occur n times in a log whose popularity falls like 1/rank^0.83.

    The rising rate keeps 18 % of epsilon at least: less would lengthen the list by a per cent or two and make the
    counts of what is listed much worse. The best T is in practice at most a fifth above the least
    possible: those up to half above are looked at, at most 48 of them, evenly spread. Below an epsilon of 0.05 only
    n epsilon matters, and the share is that of 0.05.
    """
    epsilon = max(epsilon, _FINEST)
    max_step = math.floor(_STEPS * (1 - wildcard_share - _MIN_RISING))
    steps = np.arange(1, max_step + 1)
    both = epsilon * float(1 - wildcard_share)
    falling = epsilon * steps / _STEPS
    upper = np.expm1(falling - both) / math.expm1(-both)
    totals = np.maximum(2, 1 + np.ceil((np.log(upper) - math.log(delta)) / falling)).astype(np.int64)
    tried, first = np.unique(totals, return_index=True)
    within = int(np.searchsorted(tried, 1.5 * tried[0] + 1, side="right"))
    spread = distinct(np.linspace(0, within - 1, min(within, _CANDIDATES)).astype(np.int64))
    tried, first = tried[spread, None], first[spread]
    falling, upper = falling[first, None], upper[first, None]
    rising, lower = both - falling, np.expm1(-falling) / math.expm1(-both)
    n = np.arange(1, int(tried[-1, 0]) + math.ceil(_FADED / (epsilon * float(_MIN_RISING))) + 1)
    missing = tried - n
    unlisted = np.where(
        missing >= 0,
        1 - upper * np.exp(-falling * np.maximum(missing, 0)),
        lower * np.exp(-rising * np.maximum(1 - missing, 0)),
    )
    return Fraction(int(steps[first[np.argmin(unlisted @ n**-_POPULARITY)]]), _STEPS)
