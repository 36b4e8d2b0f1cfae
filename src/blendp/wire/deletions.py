"""A person's wish to have a report deleted, and the answer to every deletion."""

from __future__ import annotations

from typing import Self

from blendp.wire.install import DELETION_KEY_BYTES
from blendp.wire.messages import Hash, Message
from blendp.wire.text_forms import of_hex


class DeletionRequest(Message):
    """Delete the report of the install that knows this key."""

    deletion_key: Hash

    @classmethod
    def of(cls, key: bytes) -> Self:
        """With the key of :func:`blendp.wire.install.deletion_key`."""
        return cls(key.hex())

    @property
    def key(self) -> bytes:
        """The key; refuses what is none."""
        return of_hex(self.deletion_key, "deletion_key", DELETION_KEY_BYTES)


class Deleted(Message):
    """Whether something was deleted."""

    deleted: bool
