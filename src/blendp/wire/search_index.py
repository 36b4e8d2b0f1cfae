"""The offline index of a release as it travels, and what a collector signs about it.

The index is a function of the release (:mod:`blendp.search`), so the signature need not cover it: the descriptor names
the release that it was made of, and its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from blendp.canonical import canonical_json, read_canonical, sha256
from blendp.errors import ParameterError
from blendp.wire.campaign import require_campaign_id
from blendp.wire.messages import Day, Hash, Message, documented
from blendp.wire.text_forms import of_hex

INDEX_FORMAT, DESCRIPTOR_FORMAT = "blendp/search-index/1", "blendp/search-index-descriptor/1"
MAX_INDEX_BYTES = 8 << 20
_MEMBERS = frozenset({"format", "campaign", "release_sha256", "sha256", "bytes"})
_HASH_BYTES = 32


class IndexDocument(Message):
    """The listed records of a release in columns: queries, the URLs of each, and shares and errors in units of 1e-9."""

    format: Annotated[str, documented(const=INDEX_FORMAT)]
    campaign: str
    released: Day
    release_sha256: Hash
    queries: list[str]
    urls: list[list[str]]
    shares: list[int]
    errors: list[int]


@dataclass(frozen=True)
class IndexDescriptor:
    """An index by its name and length, and the release that it was made of."""

    campaign: str
    release_sha256: str
    sha256: str
    size: int
    """How many bytes the index has."""

    def __post_init__(self) -> None:
        """Refuse what names no index."""
        require_campaign_id(self.campaign)
        of_hex(self.release_sha256, "release_sha256", _HASH_BYTES)
        of_hex(self.sha256, "sha256", _HASH_BYTES)
        if type(self.size) is not int or not 1 <= self.size <= MAX_INDEX_BYTES:
            raise ParameterError(
                "bytes", self.size, f"a whole number from 1 to {MAX_INDEX_BYTES}", "List fewer records."
            )

    @classmethod
    def of(cls, campaign: str, release: bytes, index: bytes) -> Self:
        """Of the index of this release."""
        return cls(campaign, sha256(release), sha256(index), len(index))

    def to_bytes(self) -> bytes:
        """The canonical bytes, which are signed."""
        hashes = {"release_sha256": self.release_sha256, "sha256": self.sha256}
        return canonical_json({"format": DESCRIPTOR_FORMAT, "campaign": self.campaign, **hashes, "bytes": self.size})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From canonical bytes."""
        value = read_canonical(data, "index descriptor", DESCRIPTOR_FORMAT)
        if wrong := sorted(set(value) ^ _MEMBERS):
            raise ParameterError("index descriptor", wrong[0], "complete, with no other names", "Fetch it again.")
        return cls(value["campaign"], value["release_sha256"], value["sha256"], value["bytes"])
