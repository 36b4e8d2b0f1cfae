"""How inputs become vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from blendp.conformance.calls import CALLS
from blendp.conformance.reasons import reason_of
from blendp.conformance.vectors import BAD, GOOD, Vector, VectorFile

Inputs = Mapping[str, Mapping[str, Any]]
"""Inputs by the name of their case."""


def good(kind: str, call: str, rules: str, inputs: Inputs) -> VectorFile:
    """Vectors with the outputs that the reference gives."""
    vectors = tuple(Vector(name, given, CALLS[call](given)) for name, given in inputs.items())
    return VectorFile(GOOD, kind, call, tuple(rules.split()), vectors)


def bad(kind: str, call: str, rules: str, inputs: Mapping[str, tuple[str, Mapping[str, Any]]]) -> VectorFile:
    """Vectors with the reasons that are given; raises unless the reference refuses for just these."""
    for name, (reason, given) in inputs.items():
        reality = _refusal(call, given)
        if reality != reason:
            raise AssertionError(f"{kind}, {name}: refused for {reality!r}, not {reason!r}.")
    vectors = tuple(Vector(name, given, reason) for name, (reason, given) in inputs.items())
    return VectorFile(BAD, kind, call, tuple(rules.split()), vectors)


def _refusal(call: str, given: Mapping[str, Any]) -> str | None:
    """For what reason the reference refuses an input; None if it does not."""
    try:
        CALLS[call](given)
    except Exception as error:
        reason = reason_of(error)
        if reason is None:
            raise
        return reason
    return None


def some_bytes(label: str, count: int) -> bytes:
    """So many bytes that a label determines."""
    return hashlib.shake_256(f"blendp vectors, {label}".encode()).digest(count)


def tape(label: str, count: int = 24, **replaced: int) -> str:
    """A tape of so many words that a label determines, some of them put in by their position: ``w3=0``."""
    values = [
        int.from_bytes(some_bytes(label, 8 * count)[start : start + 8], "little") for start in range(0, 8 * count, 8)
    ]
    for position, value in replaced.items():
        values[int(position[1:])] = value
    return b"".join(value.to_bytes(8, "little") for value in values).hex()


def later(form: str) -> str:
    """The next version of a format."""
    return form[:-1] + str(int(form[-1]) + 1)
