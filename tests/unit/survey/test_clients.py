"""What clients' reports say: frequencies that may leave [0, 1], and variances that may not."""

import numpy as np
import pytest

from blendp.arrays import Array
from blendp.survey import AnyLaw, Promise, client_level, design

SIZES, CLIENTS = (2, 3, 4), 400


def variance_at(f: Array, hit: float, stray: float, reports: int) -> Array:
    """Of (s/n - q)/(p - q), where s counts the reports that name a value: each does with probability q + f (p - q)."""
    share = stray + f * (hit - stray)
    return share * (1 - share) / (reports * (hit - stray) ** 2)


@pytest.mark.parametrize("method", ["split", "cbp"])
def test_frequencies_beyond_their_range_have_the_variance_of_its_end(method: str) -> None:
    """Every client names the first value of each attribute, and no client the last."""
    chosen = design(AnyLaw(SIZES), CLIENTS, Promise(3.0), method=method)
    (group,) = chosen.groups
    supports = []
    for randomiser, size in zip(group.randomisers, SIZES, strict=True):
        named = np.full(size, CLIENTS * randomiser.size // 2)
        named[0], named[-1] = CLIENTS, 0
        supports.append(named)
    level = client_level(chosen, supports)
    start = 0
    for randomiser, named, size in zip(group.randomisers, supports, SIZES, strict=True):
        part = slice(start, start + size)
        hit, stray = randomiser.hit, randomiser.stray
        raw = (named / CLIENTS - stray) / (hit - stray)
        assert raw[0] > 1
        assert raw[-1] < 0
        assert level.probability[part] == pytest.approx(raw)
        assert level.variance[part] == pytest.approx(variance_at(np.clip(raw, 0, 1), hit, stray, CLIENTS))
        assert level.floor[part] == pytest.approx(variance_at(np.zeros(size), hit, stray, CLIENTS))
        start += size
