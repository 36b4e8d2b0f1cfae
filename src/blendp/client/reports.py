"""Making one person's reports on their own device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blendp.errors import ParameterError, require_count
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom, require_release


@dataclass(frozen=True)
class Report:
    """What a device sends: a cell of one named list, drawn at random. Retries resend it; they never draw again."""

    list_sha256: str
    cell: int


def make_reports(
    records: Sequence[Record],
    head_list: HeadList,
    budget: Budget,
    random: ReleaseRandom,
    *,
    records_per_user: int = 1,
    query_share: float = 0.85,
) -> tuple[Report, ...]:
    """LocalAlg: ``records_per_user`` reports about this person's records, each with its part of the budget.

    A person with more records has so many of them drawn at random; one with fewer has theirs repeated in random order;
    one with none reports about <*,*>. So how many reports there are tells nothing about the person. Texts must be
    normalised as the list's were (:func:`blendp.normalise_query`, :func:`blendp.normalise_url`).
    """
    require_release(random)
    require_count("records_per_user", records_per_user, least=1, remedy="1 is the published choice.")
    for record in records:
        _require_record(record)
    if records:
        order = np.argsort(random.words(len(records)))
        held = [head_list.cell_of(*records[order[i % len(records)]]) for i in range(records_per_user)]
    else:
        held = [head_list.cell_of(None)] * records_per_user
    randomiser = TwoStage(budget.share(1 / records_per_user), head_list.cells_per_query, query_share)
    return tuple(Report(head_list.sha256, int(cell)) for cell in randomiser.release(held, random))


def _require_record(record: object) -> None:
    fine = isinstance(record, tuple) and len(record) == 2 and isinstance(record[0], str)
    if not fine or not isinstance(record[1], str | None):  # type: ignore[index]
        raise ParameterError("records", record, "a list of (query, URL) pairs", 'Give [("query", "http://url")].')
