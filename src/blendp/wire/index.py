"""What a collector says of itself without a signature: its campaigns, and the keys that it signs with."""

from __future__ import annotations

from typing import Annotated

from blendp.wire.envelope import SignedDocument
from blendp.wire.messages import Day, Hash, Message, documented

STATES = ("opt-in", "listing", "reporting", "closing", "signing", "released")
"""Where a campaign may stand; of one that is deleted nothing is told."""

State = Annotated[str, documented(enum=list(STATES))]


class CampaignLine(Message):
    """A campaign in the list of all."""

    campaign: str
    title: str
    state: State


class Campaigns(Message):
    """All campaigns."""

    campaigns: list[CampaignLine]


class SigningKeyOfDays(Message):
    """A public key, and the days on which it counts."""

    key: Hash
    since: Day
    until: Day | None


class Keys(Message):
    """All signing keys, the newest last, and how each vouches for the next."""

    keys: Annotated[list[SigningKeyOfDays], documented(minItems=1)]
    statements: list[SignedDocument]
