"""The law of records that a plan assumes: its head one by one, its tail in bins, and what people hold of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from blendp.arrays import Array, Ids, falling_order
from blendp.engines import EmbeddedLog, Truth
from blendp.errors import ParameterError, require_number
from blendp.evaluation.holding_people import holdings_of
from blendp.evaluation.planner.holders import Holders, people_to_sample
from blendp.logs.synthetic import Population, law
from blendp.logs.synthetic.habits import PATTERNS
from blendp.logs.synthetic.populations import MAX_RECORDS_PER_USER

HEAD = 20_000
"""How many records are known one by one."""

_QUERIES = 10_000
_BINS = 400
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class HeadLaw:
    """How probable records are, and which belong to one query.

    where:
        probability       is that of the most probable records, falling,
        query             is the query of each of them, a place in ``query_mass``,
        query_mass        is the probability of each such query, over all its URLs,
        tail_probability  and ``tail_records`` say how many other records there are of about which probability,
        holders           are people with many records; None if everybody has one.
    """

    probability: Array
    query: Ids
    query_mass: Array
    tail_probability: Array
    tail_records: Array
    levels: int = 2
    holders: Holders | None = None

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
        order = _order(probability)
        head, tail = order[:HEAD], np.asarray(probability[order[HEAD:]])
        known, rows = np.unique(query[head], return_inverse=True)
        return cls(
            probability[head], rows.astype(np.int64), query_mass[known], *_bins(tail, np.ones(len(tail))), levels
        )

    @property
    def mean_records(self) -> float:
        """How many records a person has, as the noisy mean counts them."""
        return 1.0 if self.holders is None else self.holders.mean_records

    @property
    def records_per_person(self) -> float:
        """How many records a person has on average."""
        return 1.0 if self.holders is None else self.holders.records_per_person

    @classmethod
    def of_truth(cls, truth: Truth, levels: int) -> Self:
        """From a log's own truth, everybody having one record. Not private: it is computed from the raw log."""
        if not len(truth.record):
            raise ParameterError("like", "a log without records", "a log with at least one", "Give another log.")
        return cls.of_records(truth.record, truth.query_id, truth.query, levels)

    @classmethod
    def of_log(cls, log: EmbeddedLog) -> Self:
        """From a log's own truth and people: how many records they have, and how these repeat. Not private.

        Records whose probabilities are within a factor of two are of one kind.
        """
        truth = log.truth()
        law = cls.of_truth(truth, log.levels)
        drawn = log.draw(1, 0, reproducible=True)
        counts = drawn.record_counts
        if not len(counts) or int(counts.max()) < 2:
            return law
        generator = np.random.Generator(np.random.PCG64(0))
        many = min(people_to_sample(max(float(counts.mean()), 1.0)), len(counts))
        holdings = drawn.holdings(np.sort(generator.choice(len(counts), many, replace=False)), 0)
        record, query, head = _positions(truth.record, truth.query_id)
        ids, p = holdings.record, truth.record
        kinds = (_octaves(p[ids]), _octaves(p[head]), _octaves(law.tail_probability))
        return replace(law, holders=Holders.of(holdings, record[ids], query[truth.query_id[ids]], p[ids], kinds))

    @classmethod
    def of_population(cls, name: str, levels: int = 2, records_per_person: float = 1.0, *, habits: bool = True) -> Self:
        """From the law of a synthetic population, without making all of its queries.

        With one level, the records are its queries. Queries beyond the first 10 000 share one profile of URLs; they
        are taken in bins of ranks. Its people have so many records on average, with habits or without.
        """
        require_number(
            "records_per_person",
            records_per_person,
            above=0,
            max_value=MAX_RECORDS_PER_USER,
            legal=f"above 0, at most {MAX_RECORDS_PER_USER} in a plan",
            remedy="It is the mean number of records a person has.",
        )
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
        query = np.repeat(ranks - 1, cells.shape[1])
        near = cls.of_records(cells.ravel(), query, mass, levels)
        tail = _bins(
            np.concatenate((near.tail_probability, beyond[beyond > 0])),
            np.concatenate((near.tail_records, many[beyond > 0])),
        )
        holders = None
        if records_per_person > 1:
            people = Population(name, people_to_sample(records_per_person), records_per_person, habits=habits)
            holders = _drawn(people, cells.ravel(), query, levels, len(tail[0]))
        return cls(near.probability, near.query, near.query_mass, *tail, levels, holders)


@lru_cache(maxsize=4)
def population_law(name: str, levels: int, records_per_person: float) -> HeadLaw:
    """The law of a synthetic population, whose people have habits, made once."""
    return HeadLaw.of_population(name, levels, records_per_person)


def _order(probability: Array) -> Ids:
    """All records that may occur, the most probable first."""
    order = falling_order(probability)
    return order[probability[order] > 0]


def _positions(probability: Array, query: Ids) -> tuple[Ids, Ids, Ids]:
    """Where a law of these records has each record and each query, -1 if it has not; and the records of its head."""
    head = _order(probability)[:HEAD]
    record = np.full(len(probability), -1, dtype=np.int64)
    record[head] = np.arange(len(head))
    known = np.unique(query[head])
    of_query = np.full(int(query.max()) + 1, -1, dtype=np.int64)
    of_query[known] = np.arange(len(known))
    return record, of_query, head


def _drawn(people: Population, probability: Array, query: Ids, levels: int, bins: int) -> Holders:
    """All people of a synthetic population, with the probabilities and queries of its first records, and so many bins.

    Queries that people return to alike are of one kind.
    """
    whole, generator = law(people.name), np.random.Generator(np.random.PCG64(0))
    counts, ranks, places = people.draw(generator, people.users)
    width = len(probability) // _QUERIES
    ids = (ranks - 1) * width + (places if levels == 2 else 0)
    holdings = holdings_of(np.repeat(np.arange(people.users), counts), ids, people.users, generator)
    rank, at = holdings.record // width + 1, holdings.record % width
    p = _query_probability(people.name, rank.astype(np.float64))
    if levels == 2:
        p *= whole.url_shares[whole.profile_of(rank), at]
    record, query_at, head = _positions(probability, query)
    known = holdings.record < len(record)

    def kind(rank: Ids) -> Ids:
        return PATTERNS[people.name].kinds(rank) if people.habits else np.zeros(len(rank), dtype=np.int64)

    holders = Holders.of(
        holdings,
        np.where(known, record[np.where(known, holdings.record, 0)], -1),
        np.where(known, query_at[np.where(known, rank - 1, 0)], -1),
        p,
        (kind(rank), kind(query[head] + 1), np.repeat(kind(np.array([whole.queries])), bins)),
    )
    return replace(holders, records_per_person=people.records_per_user)


def _octaves(probability: Array) -> Ids:
    """How often each can be halved before it is negligible."""
    return np.log2(np.maximum(probability / _NEGLIGIBLE, 1.0)).astype(np.int64)


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
