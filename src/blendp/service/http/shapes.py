"""The forms of answers to operators, for the OpenAPI document; tests hold every answer against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from blendp.wire.index import SignedDocument, State
from blendp.wire.messages import Day, Hash, Message
from blendp.wire.reports import Fate

Number = Annotated[int, Meta(ge=0)]


class Live(Message):
    """The process answers."""

    live: bool


class Ready(Message):
    """The store can be written."""

    ready: bool


class ListedQuery(Message):
    """A query and the URLs listed for it."""

    query: str
    urls: list[str]


class ListDocument(Message):
    """A head list."""

    format: Literal["blendp/head-list/1"]
    levels: Literal[1, 2]
    queries: list[ListedQuery]


class Created(Message):
    """A new campaign."""

    campaign: str
    terms_sha256: Hash


class ListPublished(Message):
    """A list that was published."""

    manifest_sha256: Hash
    list_sha256: Hash
    records: Number
    opt_in_people: Number
    query_share: Annotated[float, Meta(ge=0, le=1)]


class Forecast(Message):
    """What a list will probably hold; ``people_needed`` is null if no number of people is enough."""

    people: Number
    like: str
    expected: float
    low: Number
    high: Number
    range: float
    min_records: Number
    below: Annotated[float, Meta(ge=0, le=1)]
    too_short: bool
    people_needed: Number | None


class FlaggedRecord(Message):
    """A record about which the groups differ; unknown numbers are null."""

    query: str | None
    url: str | None
    opt_in: float | None
    client: float | None
    z: float | None


class Agreement(Message):
    """Whether opt-in people and clients tell the same story."""

    differ: bool
    p_value: float | None
    kappa: float
    statement: str
    flagged_records: Number
    flagged: list[FlaggedRecord]


class InfluenceLine(Message):
    """How far a share of lying clients could raise a listed query, in the clients' estimate and in the blend."""

    share: float
    clients: float
    blended: float
    capped: float


class Checks(Message):
    """What to look at before a result is signed; ``agreement`` is null for a method that compares no groups."""

    opt_in_people: Number
    clients: Number
    records: Number
    agreement: Agreement | None
    influence: list[InfluenceLine]
    cautions: list[str]


class Released(Checks):
    """A result that was published."""

    release_sha256: Hash


class OptInProgress(Message):
    """The opt-in group."""

    people: Number
    minimum: Number
    missing: Number
    until: Day
    enrolments: Number
    unused: Number


class ClientProgress(Message):
    """The clients."""

    reports: Number
    minimum: Number
    missing: Number
    until: Day
    expected: Number


class DayOfIntake(Message):
    """How many reports of a day had one outcome."""

    day: Day
    outcome: Fate
    count: Number


class Churn(Message):
    """How a list differs from that of the campaign before."""

    previous: str
    added: Number
    removed: Number
    kept: Number


class ListStatus(Message):
    """A published list."""

    sha256: Hash
    records: Number
    queries: Number
    churn: Churn | None


class BudgetStatus(Message):
    """What was promised, and to how many it was spent."""

    epsilon: float
    delta: float
    opt_in_spent: bool
    clients_spent: Number


class SignedDocuments(Message):
    """The names of the signed documents."""

    terms: Hash | None
    manifest: Hash | None
    release: Hash | None


class ClockReading(Message):
    """The day that the collector goes by, that of the system's clock, and why they differ."""

    day: Day
    system: Day
    doubt: str | None


class AuditLine(Message):
    """One act of an operator, or of the collector by itself."""

    number: Number
    time: Annotated[str, Meta(pattern="^[0-9-]{10}T[0-9:]{8}Z$", description="UTC")]
    actor: Literal["token", "local", "itself"]
    token: Annotated[str, Meta(description="The token's id")] | None
    name: Annotated[str, Meta(description="Whose token it is")] | None
    act: str
    campaign: str | None
    outcome: Annotated[str, Meta(description="done, or the last part of a problem type")]
    detail: str


class AuditTrail(Message):
    """The latest acts, the latest first."""

    entries: list[AuditLine]


class ByItself(Message):
    """What happens to a campaign after a day if its operator does nothing, and what has happened by itself so far."""

    act: Literal["publish", "release"]
    after: Day
    would_be: Annotated[
        Literal["publish", "release", "delete"], Meta(description="What it would be with the people who are there now")
    ]
    last: AuditLine | None


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
    intake: dict[str, Number]
    intake_by_day: list[DayOfIntake]
    head_list: ListStatus | None = msgspec.field(name="list")
    budget: BudgetStatus
    documents: SignedDocuments


class Export(Message):
    """The signed documents of a released campaign, and its list in canonical text."""

    terms: SignedDocument
    manifest: SignedDocument
    release: SignedDocument
    head_list: str = msgspec.field(name="list")


Anything = dict[str, Any]
