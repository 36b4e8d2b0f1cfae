"""The documents of a released campaign: verified, and found to fit together."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest, Terms, VerifyKey
from blendp.wire.envelope import SignatureError
from blendp.wire.keys import Trust
from blendp.wire.media_types import MANIFEST_TYPE, RELEASE_TYPE, TERMS_TYPE
from blendp.wire.releases import read_release


@dataclass(frozen=True)
class Documents:
    """What a collector exports of a released campaign."""

    terms: Envelope
    manifest: Envelope
    release: Envelope
    head_list: bytes

    @classmethod
    def of_export(cls, export: Mapping[str, Any]) -> Self:
        """From the collector's answer; verifies nothing."""
        try:
            terms, manifest, release = (_envelope(export[kind]) for kind in ("terms", "manifest", "release"))
            return cls(terms, manifest, release, export["list"].encode("utf-8"))
        except (KeyError, AttributeError) as error:
            raise ParameterError("export", sorted(export), "complete", "It needs another version of blendp.") from error

    def verify(self, trusted: tuple[VerifyKey, ...]) -> None:
        """Raise :class:`SignatureError` unless one of these keys signed every document."""
        for envelope, kind in ((self.terms, TERMS_TYPE), (self.manifest, MANIFEST_TYPE), (self.release, RELEASE_TYPE)):
            envelope.verified(kind, trusted)

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


def trusted_keys(known: VerifyKey, answer: Mapping[str, Any], day: datetime.date) -> tuple[VerifyKey, ...]:
    """The key that is known, and those that it leads to by the collector's statements."""
    statements = [_envelope(one) for one in answer.get("statements", [])]
    return Trust.of(known).following(statements).on(day)


def _envelope(value: Any) -> Envelope:
    return Envelope.from_bytes(json.dumps(value).encode("utf-8"))
