"""How a campaign stands, as operators are told."""

from __future__ import annotations

from typing import Annotated

import msgspec

from blendp.wire.audit import AuditEntry
from blendp.wire.clock import ClockReading
from blendp.wire.index import State
from blendp.wire.messages import Count, Day, Hash, Message, documented
from blendp.wire.pace import Pace
from blendp.wire.reports import Fate


class OptInProgress(Message):
    """The opt-in group."""

    people: Count
    minimum: Count
    missing: Count
    until: Day
    enrolments: Count
    unused: Count
    pace: Pace


class ClientProgress(Message):
    """The clients."""

    reports: Count
    minimum: Count
    missing: Count
    until: Day
    expected: Count
    pace: Pace


class DayOfIntake(Message):
    """How many reports of a day had one outcome."""

    day: Day
    outcome: Fate
    count: Count


class DayOfPeople(Message):
    """How many opt-in people sent their records on a day; those who withdrew later are counted still."""

    day: Day
    people: Count


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


class NextStep(Message):
    """What an operator should do next: ``act`` is null if nothing can be done now but wait."""

    sentence: str
    act: Annotated[str, documented(enum=["enrol", "publish", "release", "export", "accept-clock"])] | None
    urgent: Annotated[bool, documented(description="Whether something is wrong, or will be lost")]


class CampaignSummary(Message):
    """A campaign among all that operators look after."""

    campaign: str
    title: str
    state: State
    opens: Day
    published: Day | None
    released: Day | None
    by_itself: ByItself | None
    opt_in: OptInProgress
    clients: ClientProgress
    next_step: NextStep = msgspec.field(name="next")


class CampaignsOverview(Message):
    """The newest campaigns, the newest first; ``left_out`` is how many older ones there are."""

    today: Day
    clock: ClockReading
    campaigns: list[CampaignSummary]
    left_out: Count


class Status(Message):
    """How a campaign stands."""

    campaign: str
    title: str
    state: State
    today: Day
    clock: ClockReading
    opens: Day
    published: Day | None
    released: Day | None
    by_itself: ByItself | None
    next_step: NextStep = msgspec.field(name="next")
    opt_in: OptInProgress
    opt_in_by_day: list[DayOfPeople]
    clients: ClientProgress
    intake: dict[str, Count]
    intake_by_day: list[DayOfIntake]
    head_list: ListStatus | None = msgspec.field(name="list")
    budget: BudgetStatus
    documents: DocumentHashes
