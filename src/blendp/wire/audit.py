"""The audit trail, as operators read it."""

from __future__ import annotations

from typing import Annotated

from blendp.wire.messages import Count, Message, documented


class AuditEntry(Message):
    """One act of an operator, or of the collector by itself."""

    number: Count
    time: Annotated[str, documented(pattern="^[0-9-]{10}T[0-9:]{8}Z$", description="UTC")]
    actor: Annotated[
        str,
        documented(
            enum=["token", "local", "itself"],
            description="The holder of a token, a command on the collector's machine, or a deadline",
        ),
    ]
    token: Annotated[str, documented(description="The token's id")] | None
    name: Annotated[str, documented(description="Whose token it is")] | None
    act: str
    campaign: str | None
    outcome: Annotated[str, documented(description="done, or the last part of a problem type")]
    detail: str


class AuditTrail(Message):
    """The latest acts, the latest first."""

    entries: list[AuditEntry]
