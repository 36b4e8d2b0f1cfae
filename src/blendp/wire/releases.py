"""A released result as it is signed: estimates, the card of the promise, and what they are bound to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blendp.canonical import canonical_json, read_canonical
from blendp.errors import ParameterError

RELEASE_FORMAT = "blendp/release/1"
_MEMBERS = frozenset({"format", "campaign", "manifest_sha256", "released", "card", "estimates", "trends", "groups"})


def write_release(
    *,
    campaign: str,
    manifest_sha256: str,
    released: str,
    card: Mapping[str, Any],
    estimates: Sequence[Mapping[str, Any]],
    trends: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Any],
) -> bytes:
    """The canonical bytes, which are signed.

    where:
        released   is the day of the release,
        card       says what was done, to whom, with which guarantee,
        estimates  and ``trends`` are the rows of records and of queries,
        groups     is what each group says by itself.
    """
    return canonical_json(
        {
            "format": RELEASE_FORMAT,
            "campaign": campaign,
            "manifest_sha256": manifest_sha256,
            "released": released,
            "card": card,
            "estimates": estimates,
            "trends": trends,
            "groups": groups,
        }
    )


def read_release(data: bytes) -> dict[str, Any]:
    """The members of a release, from canonical bytes; refuses any other form."""
    document = read_canonical(data, "release", RELEASE_FORMAT)
    if wrong := sorted(set(document) ^ _MEMBERS):
        raise ParameterError(
            "release", wrong[0], "complete, with no other names", "It needs another version of blendp."
        )
    return document
