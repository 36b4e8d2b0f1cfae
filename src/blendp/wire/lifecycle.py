"""What an operator is told of a campaign's steps: it is created, its list is published, all of it is exported."""

from __future__ import annotations

from typing import Self

import msgspec

from blendp.wire.campaign import Manifest, Terms
from blendp.wire.envelope import SignedDocument
from blendp.wire.messages import Count, Hash, Message, Share


class Created(Message):
    """A new campaign."""

    campaign: str
    terms_sha256: Hash

    @classmethod
    def of(cls, terms: Terms) -> Self:
        """With these terms."""
        return cls(terms.campaign, terms.sha256)


class ListPublished(Message):
    """A list that was published."""

    manifest_sha256: Hash
    list_sha256: Hash
    records: Count
    opt_in_people: Count
    query_share: Share
    cautions: list[str]
    """What keeps devices from reporting about the list."""

    @classmethod
    def of(cls, manifest: Manifest, cautions: list[str]) -> Self:
        """With this manifest."""
        return cls(
            manifest.sha256,
            manifest.list_sha256,
            manifest.records,
            manifest.opt_in_people,
            manifest.query_share,
            cautions,
        )


class Export(Message):
    """The signed documents of a released campaign, and its list in canonical text.

    The index follows from the release; a release of which none can be made has no descriptor.
    """

    terms: SignedDocument
    manifest: SignedDocument
    release: SignedDocument
    head_list: str = msgspec.field(name="list")
    index_descriptor: SignedDocument | None = None
