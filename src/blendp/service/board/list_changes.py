"""How a campaign's list differs from that of the campaign before."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.headlist import HeadList
from blendp.headlist.head_list import Label
from blendp.service.campaigns import find, list_of
from blendp.service.refusal import Refused
from blendp.service.store.schema import campaign, document
from blendp.service.store.store import Store
from blendp.wire.changes import MAX_CHANGES, ListChanges, ListedRecord
from blendp.wire.status import Churn

NumberAndName = tuple[int, str]


def list_before(connection: Connection, number: int) -> NumberAndName | None:
    """The newest campaign before this one that has a list."""
    query = (
        sa.select(campaign.c.number, campaign.c.name)
        .join(document, sa.and_(document.c.campaign == campaign.c.number, document.c.kind == "list"))
        .where(campaign.c.number < number)
        .order_by(campaign.c.number.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else (row.number, row.name)


def churn(connection: Connection, head_list: HeadList, before: NumberAndName) -> Churn:
    """In numbers."""
    new, old = _records(head_list), _records(list_of(connection, before[0]))
    return Churn(before[1], added=len(new - old), removed=len(old - new), kept=len(new & old))


def list_changes(store: Store, name: str) -> ListChanges:
    """Record by record; refused before the list is published."""
    with store.reading() as connection:
        current = find(connection, name)
        head_list = list_of(connection, current.number)
        if head_list is None:
            raise Refused("not-found", f"The campaign {name!r} has no list yet: it is in state {current.state}.")
        before = list_before(connection, current.number)
        new, old = _records(head_list), _records(None if before is None else list_of(connection, before[0]))
    return ListChanges(
        previous=None if before is None else before[1],
        added=_named(new - old),
        removed=_named(old - new),
        kept=len(new & old),
        left_out=sum(max(0, len(some) - MAX_CHANGES) for some in (new - old, old - new)),
    )


def _records(head_list: HeadList | None) -> set[Label]:
    return set() if head_list is None else {head_list.labels[cell] for cell in head_list.record_cells}


def _named(records: Iterable[Label]) -> list[ListedRecord]:
    """In the order of the alphabet, as many as are told."""
    ordered = sorted(records, key=lambda record: (record[0] or "", record[1] or ""))
    return [ListedRecord(*record) for record in ordered[:MAX_CHANGES]]
