"""How an install is known to a campaign, and to nobody else.

    deletion key = HMAC-SHA256(install secret, "blendp/deletion/1 " campaign)
    pseudonym    = the first 16 bytes of SHA-256(deletion key)

where:
    install secret  is 32 random bytes that never leave the device.

Pseudonyms of one install in two campaigns cannot be linked. A report carries the pseudonym; only the device knows the
deletion key, and shows it when the person wants the report deleted.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from blendp.wire.reports import PSEUDONYM_BYTES

DELETION_KEY_BYTES = 32

ENROLMENT_TOKEN = re.compile(r"blendp-in-[0-9a-f]{64}")
"""The form of the one-time tokens of opt-in people."""

ENROLMENT_NONCE_BYTES = 16
"""What a device draws for its one set of opt-in records: a retry is known by it, never by what the records say."""


def deletion_key(install_secret: bytes, campaign: str) -> bytes:
    """What proves that a deletion request comes from the install that reported."""
    return hmac.digest(install_secret, b"blendp/deletion/1 " + campaign.encode("ascii"), "sha256")


def pseudonym(key: bytes) -> bytes:
    """The pseudonym that belongs to a deletion key."""
    return hashlib.sha256(key).digest()[:PSEUDONYM_BYTES]
