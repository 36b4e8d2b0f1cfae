"""An opt-in person's records, as they travel to the curator: not randomised on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from blendp.headlist.head_list import Record
from blendp.wire.install import ENROLMENT_NONCE_BYTES
from blendp.wire.messages import Hash, Message, documented
from blendp.wire.text_forms import of_hex


class OptInRecord(Message):
    """One record of a person; a campaign of one level has no URLs."""

    query: str
    url: str | None = None


class OptInRecords(Message):
    """What an opt-in person sends: the terms that were agreed to, what a retry is known by, and the records."""

    terms: Hash
    nonce: Annotated[str, documented(pattern="^[0-9a-f]{32}$", description="16 random bytes, hexadecimal")]
    records: list[OptInRecord]

    @classmethod
    def of(cls, terms_sha256: str, nonce: bytes, records: Sequence[Record]) -> Self:
        """With these records."""
        return cls(terms_sha256, nonce.hex(), [OptInRecord(*record) for record in records])

    @property
    def nonce_bytes(self) -> bytes:
        """The nonce; refuses what is none."""
        return of_hex(self.nonce, "nonce", ENROLMENT_NONCE_BYTES)


def record_bytes(record: Record) -> int:
    """How much of a body one record takes, the comma before the next one included."""
    return len(OptInRecord(*record).to_bytes()) + 1
