"""What an operator should look at before a result is signed, and is told again when it is."""

from __future__ import annotations

from typing import Self

from msgspec import structs

from blendp.wire.messages import Count, Hash, Message


class FlaggedRecord(Message):
    """A record about which the groups differ; ``url`` is null for all URLs of a query that are not listed, and unknown
    numbers are null.
    """

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
    kappa_max: float | None
    statement: str
    flagged_records: Count
    flagged: list[FlaggedRecord]


class InfluenceLine(Message):
    """How far a share of lying clients could raise a record or query: the clients' estimate, and the blend."""

    share: float
    clients: float
    blended: float
    capped: float


class Checks(Message):
    """What to look at before a result is signed; ``agreement`` is null for a method that compares no groups."""

    opt_in_people: Count
    clients: Count
    records: Count
    agreement: Agreement | None
    influence: list[InfluenceLine]
    cautions: list[str]


class Released(Checks):
    """A result that was published."""

    release_sha256: Hash

    @classmethod
    def of(cls, checks: Checks, release_sha256: str) -> Self:
        """With these checks."""
        return cls(**structs.asdict(checks), release_sha256=release_sha256)
