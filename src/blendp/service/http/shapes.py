"""The forms of answers, for the OpenAPI document; tests hold every answer against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from blendp.service.store.schema import STATES
from blendp.wire.problems import PROBLEMS

Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="SHA-256, hexadecimal")]
Day = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="A day of UTC")]
Number = Annotated[int, Meta(ge=0)]
State = Annotated[str, Meta(extra_json_schema={"enum": [state for state in STATES if state != "deleted"]})]
Fate = Annotated[
    str,
    Meta(
        description="accepted, duplicate, or the last part of a problem type",
        extra_json_schema={"enum": ["accepted", "duplicate", *PROBLEMS]},
    ),
]


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """An object with exactly these members."""


class Live(Form):
    """The process answers."""

    live: bool


class Ready(Form):
    """The store can be written."""

    ready: bool


class EnvelopeSignature(Form):
    """Who signed, and the signature."""

    keyid: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    sig: Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})]


class SignedDocument(Form):
    """A DSSE envelope."""

    payload: Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})]
    payloadType: str  # noqa: N815 - the name that DSSE gives it
    signatures: Annotated[list[EnvelopeSignature], Meta(min_length=1)]


class SigningKeyOfDays(Form):
    """A public key, and the days on which it counts."""

    key: Hash
    since: Day
    until: Day | None


class Keys(Form):
    """All signing keys, the newest last, and how each vouches for the next."""

    keys: Annotated[list[SigningKeyOfDays], Meta(min_length=1)]
    statements: list[SignedDocument]


class CampaignLine(Form):
    """A campaign in the list of all."""

    campaign: str
    title: str
    state: State


class Campaigns(Form):
    """All campaigns."""

    campaigns: list[CampaignLine]


class ListedQuery(Form):
    """A query and the URLs listed for it."""

    query: str
    urls: list[str]


class ListDocument(Form):
    """A head list."""

    format: Literal["blendp/head-list/1"]
    levels: Literal[1, 2]
    queries: list[ListedQuery]


class Outcome(Form):
    """What became of what was sent."""

    outcome: Literal["accepted", "duplicate"]


class Outcomes(Form):
    """What became of every report, in the order of the body."""

    outcomes: Annotated[list[Fate], Meta(min_length=1)]


class Deleted(Form):
    """Whether something was deleted."""

    deleted: bool


class Created(Form):
    """A new campaign."""

    campaign: str
    terms_sha256: Hash


class Tokens(Form):
    """New enrolment tokens, told this once."""

    tokens: Annotated[list[str], Meta(min_length=1)]


class ListPublished(Form):
    """A list that was published."""

    manifest_sha256: Hash
    list_sha256: Hash
    records: Number
    opt_in_people: Number
    query_share: Annotated[float, Meta(ge=0, le=1)]


class Forecast(Form):
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


class FlaggedRecord(Form):
    """A record about which the groups differ; unknown numbers are null."""

    query: str | None
    url: str | None
    opt_in: float | None
    client: float | None
    z: float | None


class Agreement(Form):
    """Whether opt-in people and clients tell the same story."""

    differ: bool
    p_value: float | None
    kappa: float
    words: str
    flagged_records: Number
    flagged: list[FlaggedRecord]


class InfluenceLine(Form):
    """How far a share of lying clients could raise a listed query, in the clients' estimate and in the blend."""

    share: float
    clients: float
    blended: float
    capped: float


class Checks(Form):
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


class OptInProgress(Form):
    """The opt-in group."""

    people: Number
    minimum: Number
    missing: Number
    until: Day
    enrolments: Number
    unused: Number


class ClientProgress(Form):
    """The clients."""

    reports: Number
    minimum: Number
    missing: Number
    until: Day
    expected: Number


class DayOfIntake(Form):
    """How many reports of a day had one outcome."""

    day: Day
    outcome: Fate
    count: Number


class Churn(Form):
    """How a list differs from that of the campaign before."""

    previous: str
    added: Number
    removed: Number
    kept: Number


class ListStatus(Form):
    """A published list."""

    sha256: Hash
    records: Number
    queries: Number
    churn: Churn | None


class BudgetStatus(Form):
    """What was promised, and to how many it was spent."""

    epsilon: float
    delta: float
    opt_in_spent: bool
    clients_spent: Number


class Documents(Form):
    """The names of the signed documents."""

    terms: Hash | None
    manifest: Hash | None
    release: Hash | None


class ClockReading(Form):
    """The day that the collector goes by, that of the system's clock, and why they differ."""

    day: Day
    system: Day
    doubt: str | None


class AuditEntry(Form):
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


class AuditTrail(Form):
    """The latest acts, the latest first."""

    entries: list[AuditEntry]


class ByItself(Form):
    """What happens to a campaign after a day if its operator does nothing, and what has happened by itself so far."""

    act: Literal["publish", "release"]
    after: Day
    would_be: Annotated[
        Literal["publish", "release", "delete"], Meta(description="What it would be with the people who are there now")
    ]
    last: AuditEntry | None


class Status(Form):
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
    documents: Documents


class Export(Form):
    """The signed documents of a released campaign, and its list in canonical text."""

    terms: SignedDocument
    manifest: SignedDocument
    release: SignedDocument
    head_list: str = msgspec.field(name="list")


Anything = dict[str, Any]
