"""Whom to believe: signing keys that follow one another, each vouched for by the one before.

A key statement names a new key and the key it replaces, and says until when the old one still counts. Both sign it:
the old one vouches, the new one proves that somebody holds it. Whoever knows one key can follow the statements to all
later ones, and in the overlap documents of either key are believed.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Self

from blendp.canonical import canonical_json, read_canonical
from blendp.errors import ParameterError
from blendp.wire.envelope import KEY_ID_BYTES, Envelope, SignatureError, SigningKey, VerifyKey
from blendp.wire.media_types import KEY_TYPE
from blendp.wire.text_forms import of_hex, require_day

KEY_FORMAT = "blendp/key/1"


@dataclass(frozen=True)
class KeyStatement:
    """A new key, and until when the one before it counts."""

    key: str
    """The new public key, in hexadecimal digits."""

    since: str
    """The day from which it counts."""

    replaces: str
    """The id of the key before."""

    replaced_until: str
    """The last day on which the key before counts."""

    def __post_init__(self) -> None:
        """Refuse a key that is none, and days out of order."""
        VerifyKey.of_text(self.key)
        of_hex(self.replaces, "replaces", KEY_ID_BYTES)
        if require_day("replaced_until", self.replaced_until) < require_day("since", self.since):
            raise ParameterError("replaced_until", self.replaced_until, f"from {self.since} on", "Leave an overlap.")

    def sealed(self, old: SigningKey, new: SigningKey) -> Envelope:
        """Signed by both keys."""
        return Envelope.sealed(KEY_TYPE, canonical_json({"format": KEY_FORMAT, **asdict(self)}), (old, new))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From canonical bytes."""
        value = read_canonical(data, "key statement", KEY_FORMAT)
        try:
            return cls(**{name: value[name] for name in value if name != "format"})
        except TypeError as error:
            raise ParameterError("key statement", data[:40], "complete", "Fetch the keys again.") from error


@dataclass(frozen=True)
class Trust:
    """Keys that are believed, each until a day (None: until further notice)."""

    keys: tuple[tuple[VerifyKey, datetime.date | None], ...]

    @classmethod
    def of(cls, *keys: VerifyKey) -> Self:
        """Keys known from elsewhere."""
        return cls(tuple((key, None) for key in keys))

    def on(self, day: datetime.date) -> tuple[VerifyKey, ...]:
        """The keys that are believed on this day."""
        return tuple(key for key, until in self.keys if until is None or day <= until)

    def following(self, statements: Iterable[Envelope]) -> Trust:
        """With the keys that these statements lead to, in their order.

        Statements of strangers change nothing, nor does a second successor of a key that was replaced: who signs one
        has stolen the key, or plays a double game.
        """
        trusted = {key.id: (key, until) for key, until in self.keys}
        for envelope in statements:
            try:
                statement = KeyStatement.from_bytes(envelope.payload)
                old, old_until = trusted[statement.replaces]
                new = VerifyKey.of_text(statement.key)
                if old_until is not None and new.id not in trusted:
                    continue
                envelope.verified(KEY_TYPE, (old,))
                envelope.verified(KEY_TYPE, (new,))
            except (KeyError, ParameterError, SignatureError):
                continue
            until = require_day("replaced_until", statement.replaced_until)
            trusted[old.id] = (old, until if old_until is None else min(old_until, until))
            trusted.setdefault(new.id, (new, None))
        return Trust(tuple(trusted.values()))
