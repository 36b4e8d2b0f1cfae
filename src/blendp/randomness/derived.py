"""Randomness that is the same again for the same secret and the same data, and independent for any other."""

from __future__ import annotations

import hashlib

from blendp.errors import ParameterError, RandomnessError
from blendp.randomness.release import ReleaseRandom

KEY_BYTES = 32


class DerivedRandom(ReleaseRandom):
    """A released stream whose key is a keyed hash (BLAKE2b) of what it is drawn for.

    Whoever draws noise for the same data a second time gets the same noise, so that two results can be told from one by
    nobody; for data that differ in a single bit the streams are independent, as far as the hash is a pseudorandom
    function. Its key must be secret, and is to be destroyed with the data: both together give the noise.
    """

    def __init__(self, key: bytes, purpose: str, *data: bytes) -> None:
        """The stream for this purpose and these data, in their order."""
        if len(key) != KEY_BYTES:
            raise ParameterError("key", f"{len(key)} bytes", f"{KEY_BYTES} bytes", "Take a key of a PrivateFiles.")
        hashed = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"blendp-noise")
        for part in (purpose.encode("utf-8"), *data):
            hashed.update(hashlib.sha256(part).digest())
        self._derived: bytes | None = hashed.digest()
        super().__init__()

    def _fresh_key(self) -> bytes:
        """Once: a process that was forked would draw the same words as its parent, for something else."""
        key, self._derived = self._derived, None
        if key is None:
            raise RandomnessError("A DerivedRandom cannot be used in a forked process: derive it there.")
        return key
