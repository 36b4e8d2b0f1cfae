"""Randomness that may leave the building: a cryptographic stream keyed by the operating system."""

from __future__ import annotations

import os
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from blendp.errors import RandomnessError
from blendp.randomness.random import Random

_ZEROS = memoryview(bytes(1 << 20))


class _Forks:
    """How many forks lie between the first process and this one: a process number may come back, this does not."""

    count = 0

    @classmethod
    def add(cls) -> None:
        cls.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forks.add)


def _this_process() -> tuple[int, int]:
    """Tells a process from all it was forked from; the number also sees forks that Python did not make."""
    return os.getpid(), _Forks.count


class ReleaseRandom(Random):
    """AES-256 in counter mode under a key from the operating system's generator.

    Everything a curator releases or a device sends draws from an object of this type. It cannot be seeded,
    copied or pickled, and takes a new key in a forked process: a stream that is used twice is a privacy bug.
    """

    def __init__(self) -> None:
        """Take a fresh key."""
        self._rekey()

    def _rekey(self) -> None:
        """The stream comes first: whoever sees this process's name must not see its parent's stream."""
        self._stream = Cipher(algorithms.AES256(self._fresh_key()), modes.CTR(bytes(16))).encryptor()
        self._process = _this_process()

    def _fresh_key(self) -> bytes:
        return os.urandom(32)

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent uniform 64-bit words."""
        if self._process != _this_process():
            self._rekey()
        drawn = np.empty(count, dtype="<u8")
        stream = drawn.data.cast("B")
        for start in range(0, len(stream), len(_ZEROS)):
            part = stream[start : start + len(_ZEROS)]
            self._stream.update_into(_ZEROS[: len(part)], part)
        return drawn

    def __reduce__(self) -> NoReturn:
        """Refuse copies and pickles."""
        raise RandomnessError("ReleaseRandom cannot be copied or pickled: make a new one where it is needed.")

    def __repr__(self) -> str:
        """Without the key."""
        return f"{type(self).__name__}()"


def require_release(random: object) -> None:
    """Raise unless ``random`` is cryptographic."""
    if not isinstance(random, ReleaseRandom):
        raise RandomnessError(
            f"{type(random).__name__} is not for released data: pass a ReleaseRandom, "
            "or call the simulating function if this is an experiment."
        )
