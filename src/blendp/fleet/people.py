"""What invented people hold: one record each, more alike than real people's, so that few of them make a list.

    P(record r in a week) = 0.85 w_r / (w_1 + ... + w_45),   w_r = sqrt(p_r) exp(0.4 g_r)

where:
    p_r  is the probability of the r-th most probable record of a synthetic population (:mod:`blendp.logs.synthetic`),
    g_r  is what the week makes of it, a standard normal number: so some records come and others go.

All others, 15 %, hold a record of the population's long tail.
"""

from __future__ import annotations

import numpy as np

from blendp.logs.synthetic import law, population

Record = tuple[str, str]

_POPULAR_RECORDS, _POPULAR_SHARE, _WEEKLY = 45, 0.85, 0.4


def invented_records(people: int, seed: int, *, like: str = "aol", week: int = 0) -> list[Record]:
    """One record each, of people like those of a population; the same for the same arguments."""
    generator = np.random.default_rng([seed, week])
    popular = law(like).records(_POPULAR_RECORDS)
    weights = np.sqrt(popular["probability"].to_numpy()) * np.exp(_WEEKLY * generator.standard_normal(len(popular)))
    drawn = generator.choice(len(popular), size=people, p=weights / weights.sum())
    popular_ones = _pairs(popular.take(drawn))
    others = _pairs(population(like, people, seed=seed + week).table())
    is_popular = generator.random(people) < _POPULAR_SHARE
    return [popular_ones[i] if is_popular[i] else others[i] for i in range(people)]


def _pairs(table: object) -> list[Record]:
    columns = (table[name].to_pylist() for name in ("query", "url"))  # type: ignore[index]
    return list(zip(*columns, strict=True))
