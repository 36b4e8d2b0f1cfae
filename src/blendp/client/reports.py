"""Making one person's reports on their own device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from blendp.errors import ParameterError, require_count, require_number
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import SubsetSelection, TwoStage
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom, require_release
from blendp.randomness.random import COIN_BITS


@dataclass(frozen=True)
class Report:
    """What a device sends: a cell of one named list, drawn at random. Retries resend it; they never draw again."""

    list_sha256: str
    cell: int


@dataclass(frozen=True)
class SubsetReport:
    """What a device sends in the blendp method. Retries resend it; they never draw again.

    where:
        question  is what it is about, "query" or "record": drawn before the records are looked at, and public,
        data      is a set of queries, or of cells, of the named list, in its compact form
                  (:meth:`~blendp.mechanisms.SubsetSelection.decode` tells which).
    """

    list_sha256: str
    question: str
    data: bytes


def make_report(
    records: Sequence[Record], head_list: HeadList, epsilon: float, query_share: float, random: ReleaseRandom
) -> SubsetReport:
    """One report of a person about one of their records, drawn at random, with the whole epsilon.

    With probability ``query_share`` the report is about the record's query, otherwise about the record. A person
    without records reports about <*,*>. Texts must be normalised as the list's were.
    """
    require_release(random)
    require_number(
        "query_share", query_share, min_value=0, max_value=1, legal="from 0 to 1", remedy="Take the campaign's value."
    )
    for record in records:
        _require_record(record)
    about_query = bool(random.coins(round(query_share * (1 << COIN_BITS)), 1)[0])
    held = head_list.cell_of(*records[int(random.below(len(records), 1)[0])]) if records else head_list.cell_of(None)
    item = int(head_list.query_of_cell[held]) if about_query else held
    randomiser = _randomiser(epsilon, head_list.queries + 1 if about_query else head_list.cells)
    subset = np.flatnonzero(randomiser.release([item], random)[0])
    question = "query" if about_query else "record"
    return SubsetReport(head_list.sha256, question, randomiser.encode(subset.tolist()))


def make_reports(
    records: Sequence[Record],
    head_list: HeadList,
    budget: Budget,
    random: ReleaseRandom,
    *,
    records_per_user: int = 1,
    query_share: float = 0.85,
) -> tuple[Report, ...]:
    """LocalAlg (published method): so many reports about this person's records, each with its part of the budget.

    A person with more records has so many of them drawn at random; one with fewer has theirs repeated in random order;
    one with none reports about <*,*>. So how many reports there are tells nothing about the person. Texts must be
    normalised as the list's were (:func:`blendp.normalise_query`, :func:`blendp.normalise_url`).
    """
    require_release(random)
    require_count("records_per_user", records_per_user, min_value=1, remedy="1 is the published choice.")
    for record in records:
        _require_record(record)
    if records:
        order = np.argsort(random.words(len(records)))
        held = [head_list.cell_of(*records[order[i % len(records)]]) for i in range(records_per_user)]
    else:
        held = [head_list.cell_of(None)] * records_per_user
    randomiser = TwoStage(budget.share(1 / records_per_user), head_list.cells_per_query, query_share)
    return tuple(Report(head_list.sha256, int(cell)) for cell in randomiser.release(held, random))


_randomiser = lru_cache(maxsize=16)(SubsetSelection)


def _require_record(record: object) -> None:
    fine = isinstance(record, tuple) and len(record) == 2 and isinstance(record[0], str)
    if not fine or not isinstance(record[1], str | None):  # type: ignore[index]
        raise ParameterError("records", record, "a list of (query, URL) pairs", 'Give [("query", "http://url")].')
