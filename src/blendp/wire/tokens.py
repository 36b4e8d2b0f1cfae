"""Whose token it is that an operator shows."""

from __future__ import annotations

from typing import Annotated

from blendp.wire.messages import Message, documented

SCOPES = ("read", "manage", "release")
"""read: look at everything that operators may see. manage: create, enrol, publish, delete, clock. release: release."""

TOKEN_ID_PATTERN = "^[0-9a-f]{12}$"


class TokenHolder(Message):
    """What the collector knows of a token; never the token."""

    id: Annotated[str, documented(pattern=TOKEN_ID_PATTERN)]
    name: Annotated[str, documented(description="Whose token it is")]
    scopes: list[Annotated[str, documented(enum=list(SCOPES))]]
