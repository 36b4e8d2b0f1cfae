"""The documents of a released campaign: verified, and found to fit together."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Self

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.search import build_index
from blendp.wire import Envelope, Manifest, Terms, VerifyKey
from blendp.wire.envelope import SignatureError
from blendp.wire.index import Keys
from blendp.wire.keys import Trust
from blendp.wire.lifecycle import Export
from blendp.wire.media_types import INDEX_TYPE, MANIFEST_TYPE, RELEASE_TYPE, TERMS_TYPE
from blendp.wire.releases import read_release
from blendp.wire.search_index import IndexDescriptor


@dataclass(frozen=True)
class Documents:
    """What a collector exports of a released campaign."""

    terms: Envelope
    manifest: Envelope
    release: Envelope
    head_list: bytes
    index_descriptor: Envelope | None = None
    """None where the release has no index."""

    @classmethod
    def of_export(cls, export: Export) -> Self:
        """From the collector's answer; verifies nothing."""
        terms, manifest, release = map(Envelope.of_message, (export.terms, export.manifest, export.release))
        descriptor = None if export.index_descriptor is None else Envelope.of_message(export.index_descriptor)
        return cls(terms, manifest, release, export.head_list.encode("utf-8"), descriptor)

    def verify(self, trusted: tuple[VerifyKey, ...]) -> None:
        """Raise :class:`SignatureError` unless one of these keys signed every document."""
        for envelope, kind in ((self.terms, TERMS_TYPE), (self.manifest, MANIFEST_TYPE), (self.release, RELEASE_TYPE)):
            envelope.verified(kind, trusted)
        if self.index_descriptor is not None:
            self.index_descriptor.verified(INDEX_TYPE, trusted)

    def result(self, campaign: str) -> dict[str, Any]:
        """The release, if all documents are of this campaign and name one another; raises otherwise."""
        try:
            manifest, terms = Manifest.from_bytes(self.manifest.payload), Terms.from_bytes(self.terms.payload)
            released = read_release(self.release.payload)
            manifest.require_list(HeadList.from_bytes(self.head_list))
        except ParameterError as error:
            raise SignatureError(f"The documents of {campaign} cannot be used: {error}") from error
        fit = {
            "terms": manifest.terms == terms,
            "manifest": released.get("manifest_sha256") == manifest.sha256,
            "campaign": released.get("campaign") == terms.campaign == campaign,
        }
        for what, fits in fit.items():
            if not fits:
                raise SignatureError(f"The release of {campaign} does not fit its {what}: do not use it.")
        return released

    def index(self, campaign: str) -> bytes | None:
        """The index, made of the release, if it is the one that the descriptor names; raises otherwise."""
        if self.index_descriptor is None:
            return None
        try:
            descriptor = IndexDescriptor.from_bytes(self.index_descriptor.payload)
            data = build_index(self.release.payload)
        except ParameterError as error:
            raise SignatureError(f"The index of {campaign} cannot be used: {error}") from error
        if descriptor != IndexDescriptor.of(campaign, self.release.payload, data):
            raise SignatureError(f"The index of {campaign} is not that of its release: do not use it.")
        return data


def trusted_keys(known: VerifyKey, answer: Keys, day: datetime.date) -> tuple[VerifyKey, ...]:
    """The key that is known, and those that it leads to by the collector's statements."""
    statements = [Envelope.of_message(one) for one in answer.statements]
    return Trust.of(known).following(statements).on(day)
