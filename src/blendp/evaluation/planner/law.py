"""The law of records that a plan assumes: its head one by one, its tail in bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from blendp.arrays import Array, Ids, falling_order
from blendp.engines import Truth
from blendp.errors import ParameterError
from blendp.logs.synthetic import law

HEAD = 20_000
"""How many records are known one by one."""

_QUERIES = 10_000
_BINS = 400


@dataclass(frozen=True, eq=False)
class HeadLaw:
    """How probable records are, and which belong to one query.

    where:
        probability       is that of the most probable records, falling,
        query             is the query of each of them, a place in ``query_mass``,
        query_mass        is the probability of each such query, over all its URLs,
        tail_probability  and ``tail_records`` say how many other records there are of about which probability.
    """

    probability: Array
    query: Ids
    query_mass: Array
    tail_probability: Array
    tail_records: Array
    levels: int = 2

    def __post_init__(self) -> None:
        """Refuse what is not a law, and freeze it."""
        p = self.probability
        if not len(p) or p[-1] <= 0 or (np.diff(p) > 0).any():
            raise ParameterError("probability", p[:5].tolist(), "falling and above 0", "Give at least one record.")
        total = float(p.sum() + self.tail_probability @ self.tail_records)
        if total > 1 + 1e-4:
            raise ParameterError("probability", total, "at most 1 in sum", "Divide the counts by the number of people.")
        if len(self.query) != len(p) or len(self.tail_records) != len(self.tail_probability):
            raise ParameterError("query", len(self.query), f"one for each of {len(p)} records", "Number the queries.")
        for array in (p, self.query, self.query_mass, self.tail_probability, self.tail_records):
            array.setflags(write=False)

    @classmethod
    def of_records(cls, probability: Array, query: Ids, query_mass: Array, levels: int = 2) -> Self:
        """From every record of a law, in any order."""
        order = falling_order(probability)
        order = order[probability[order] > 0]
        head, tail = order[:HEAD], np.asarray(probability[order[HEAD:]])
        known, rows = np.unique(query[head], return_inverse=True)
        return cls(
            probability[head], rows.astype(np.int64), query_mass[known], *_bins(tail, np.ones(len(tail))), levels
        )

    @classmethod
    def of_truth(cls, truth: Truth, levels: int) -> Self:
        """From a log's own truth. Not private: it is computed from the raw log."""
        if not len(truth.record):
            raise ParameterError("like", "a log without records", "a log with at least one", "Give another log.")
        return cls.of_records(truth.record, truth.query_id, truth.query, levels)

    @classmethod
    def of_population(cls, name: str, levels: int = 2) -> Self:
        """From the law of the synthetic population ``aol`` or ``yandex``, without making all of its queries.

        With one level, the records are its queries. Queries beyond the first 10 000 share one profile of URLs; they
        are taken in bins of ranks.
        """
        whole = law(name)
        ranks = np.arange(1, _QUERIES + 1)
        mass = _query_probability(name, ranks.astype(np.float64))
        alone = np.ones((1, 1))
        cells = mass[:, None] * (alone if levels == 1 else whole.url_shares[whole.profile_of(ranks)])
        edges = np.unique(np.geomspace(_QUERIES + 1, whole.queries + 1, _BINS + 1).astype(np.int64))
        shares = alone[0] if levels == 1 else whole.url_shares[whole.profile_of(edges[:1])[0]]
        middle = _query_probability(name, np.sqrt(edges[:-1] * (edges[1:] - 1.0)))
        beyond = np.outer(middle, shares).ravel()
        many = np.repeat(np.diff(edges).astype(np.float64), len(shares))
        near = cls.of_records(cells.ravel(), np.repeat(ranks - 1, cells.shape[1]), mass, levels)
        tail = _bins(
            np.concatenate((near.tail_probability, beyond[beyond > 0])),
            np.concatenate((near.tail_records, many[beyond > 0])),
        )
        return cls(near.probability, near.query, near.query_mass, *tail, levels)


def _query_probability(name: str, ranks: Array) -> Array:
    """p_r of the law of a synthetic population, for any ranks (see :mod:`blendp.logs.synthetic.laws`)."""
    whole = law(name)
    given = len(whole.head)
    knee = whole.head[-1] * (given / whole.knee) ** whole.slope
    sloping = whole.head[-1] * (given / ranks) ** whole.slope
    p = np.where(ranks <= whole.knee, sloping, knee * (whole.knee / ranks) ** whole.tail_slope)
    named = ranks <= given
    p[named] = np.array(whole.head)[ranks[named].astype(np.int64) - 1]
    return np.asarray(p)


def _bins(probability: Array, many: Array) -> tuple[Array, Array]:
    """The mean probability and the number of the records of each bin of the logarithm of the probability."""
    if not len(probability):
        return np.empty(0), np.empty(0)
    logs = np.log(probability)
    width = max(float(np.ptp(logs)), 1e-9) / _BINS
    bin_of = np.minimum((logs - logs.min()) // width, _BINS - 1).astype(np.int64)
    records = np.bincount(bin_of, weights=many).astype(np.float64)
    mass = np.bincount(bin_of, weights=many * probability)
    filled = records > 0
    return mass[filled] / records[filled], records[filled]
