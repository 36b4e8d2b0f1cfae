"""How a campaign stands, as operators are told."""

from __future__ import annotations

from typing import Annotated

import msgspec

from blendp.wire.audit import AuditEntry
from blendp.wire.clock import ClockReading
from blendp.wire.index import State
from blendp.wire.messages import Count, Day, Hash, Message, documented
from blendp.wire.reports import Fate


class OptInProgress(Message):
    """The opt-in group."""

    people: Count
    minimum: Count
    missing: Count
    until: Day
    enrolments: Count
    unused: Count


class ClientProgress(Message):
    """The clients."""

    reports: Count
    minimum: Count
    missing: Count
    until: Day
    expected: Count


class DayOfIntake(Message):
    """How many reports of a day had one outcome."""

    day: Day
    outcome: Fate
    count: Count


class Churn(Message):
    """How a list differs from that of the campaign before."""

    previous: str
    added: Count
    removed: Count
    kept: Count


class ListStatus(Message):
    """A published list."""

    sha256: Hash
    records: Count
    queries: Count
    churn: Churn | None


class BudgetStatus(Message):
    """What was promised, and to how many it was spent."""

    epsilon: float
    delta: float
    opt_in_spent: bool
    clients_spent: Count


class DocumentHashes(Message):
    """The names of the signed documents."""

    terms: Hash | None
    manifest: Hash | None
    release: Hash | None


class ByItself(Message):
    """What happens to a campaign after a day if its operator does nothing, and what has happened by itself so far."""

    act: Annotated[str, documented(enum=["publish", "release"])]
    after: Day
    would_be: Annotated[
        str,
        documented(
            enum=["publish", "release", "delete"], description="What it would be with the people who are there now"
        ),
    ]
    last: AuditEntry | None


class Status(Message):
    """How a campaign stands."""

    campaign: str
    title: str
    state: State
    today: Day
    clock: ClockReading
    by_itself: ByItself | None
    opt_in: OptInProgress
    clients: ClientProgress
    intake: dict[str, Count]
    intake_by_day: list[DayOfIntake]
    head_list: ListStatus | None = msgspec.field(name="list")
    budget: BudgetStatus
    documents: DocumentHashes
