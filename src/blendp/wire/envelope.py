"""Signed documents: Ed25519 signatures in a DSSE envelope (Dead Simple Signing Envelope, version 1).

A signature covers the media type and the bytes:

    "DSSEv1" SP len(type) SP type SP len(payload) SP payload

where:
    len  is the length in bytes, in decimal digits,

so a signed manifest cannot be passed off as a release, and nothing needs to be parsed before it is verified. Several
keys may sign the same document: while keys rotate, both the old and the new one do.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from blendp.errors import ParameterError
from blendp.wire.messages import Message, documented
from blendp.wire.text_forms import of_hex

KEY_ID_BYTES = 8
_KEY_BYTES = 32
_FIELD = 2**255 - 19
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset({0, 1, _FIELD - 1, _ORDER_8, _FIELD - _ORDER_8})
"""The y of the eight points that vanish when they are multiplied by 8: order 4, 1, 2 and, two of them, 8."""

MAX_SIGNATURES = 16
"""How many keys may sign one document."""

_NO_KEY = "No honest key is like this, and others could sign in its name: ask its owner for the right one."


class SignatureError(ValueError):
    """A document that no trusted key has signed."""


@dataclass(frozen=True)
class VerifyKey:
    """A public Ed25519 key: one point of the curve, written in one way, under which nobody signs without its secret."""

    raw: bytes

    def __post_init__(self) -> None:
        """Refuse bytes that are no key, points that anybody can sign for, and second spellings of a point."""
        if len(self.raw) != _KEY_BYTES:
            raise ParameterError("key", self.raw.hex(), f"{_KEY_BYTES} bytes long", "Copy it whole.")
        y = int.from_bytes(self.raw, "little") & (1 << 255) - 1
        if y >= _FIELD:
            raise ParameterError("key", self.raw.hex(), "written canonically, with y below 2^255 - 19", _NO_KEY)
        if y in _SMALL_ORDER:
            raise ParameterError("key", self.raw.hex(), "a point of large order", _NO_KEY)

    @classmethod
    def of_text(cls, text: str) -> Self:
        """From hexadecimal digits."""
        return cls(of_hex(text, "key", _KEY_BYTES))

    @property
    def text(self) -> str:
        """As hexadecimal digits, to be put into configurations."""
        return self.raw.hex()

    @property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the key's SHA-256."""
        return hashlib.sha256(self.raw).digest()[:KEY_ID_BYTES].hex()

    def signed(self, signature: bytes, media_type: str, payload: bytes) -> bool:
        """Whether this key made the signature."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, _covered(media_type, payload))
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class SigningKey:
    """A private Ed25519 key; it shows itself to nobody who prints it."""

    _key: Ed25519PrivateKey

    @classmethod
    def new(cls) -> Self:
        """Drawn from the operating system."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def of_raw(cls, raw: bytes) -> Self:
        """From its 32 bytes."""
        return cls(Ed25519PrivateKey.from_private_bytes(raw))

    @property
    def raw(self) -> bytes:
        """Its 32 bytes, to be kept secret."""
        return self._key.private_bytes_raw()

    @property
    def public(self) -> VerifyKey:
        """What others verify with."""
        return VerifyKey(self._key.public_key().public_bytes_raw())

    def sign(self, media_type: str, payload: bytes) -> Signature:
        """This key's signature of a document."""
        return Signature(self.public.id, self._key.sign(_covered(media_type, payload)))

    def __repr__(self) -> str:
        """Which key, and nothing of it."""
        return f"SigningKey({self.public.id})"


@dataclass(frozen=True)
class Signature:
    """Who signed, and the signature."""

    key: str
    value: bytes


class EnvelopeSignature(Message):
    """A signature as it travels, and by whom."""

    keyid: Annotated[str, documented(pattern="^[0-9a-f]{16}$")]
    sig: Annotated[str, documented(contentEncoding="base64")]


class SignedDocument(Message):
    """A DSSE envelope as it travels."""

    payload: Annotated[str, documented(contentEncoding="base64")]
    payloadType: str  # noqa: N815 - the name that DSSE gives it
    signatures: Annotated[list[EnvelopeSignature], documented(minItems=1)]


@dataclass(frozen=True)
class Envelope:
    """A document with its signatures."""

    media_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    @classmethod
    def sealed(cls, media_type: str, payload: bytes, keys: Collection[SigningKey]) -> Self:
        """The document, signed by these keys."""
        return cls(media_type, payload, tuple(key.sign(media_type, payload) for key in keys))

    def verified(self, media_type: str, trusted: Collection[VerifyKey]) -> bytes:
        """The payload; raises :class:`SignatureError` unless it is of this type and a trusted key signed it."""
        if self.media_type != media_type:
            raise SignatureError(f"This is a {self.media_type!r} document, not {media_type!r}: do not use it.")
        by_id = {key.id: key for key in trusted}
        for signature in self.signatures:
            key = by_id.get(signature.key)
            if key is not None and key.signed(signature.value, media_type, self.payload):
                return self.payload
        signers = ", ".join(signature.key for signature in self.signatures) or "nobody"
        raise SignatureError(
            f"No trusted key signed this {media_type} document (signed by {signers}; trusted: "
            f"{', '.join(sorted(by_id)) or 'none'}): do not use it."
        )

    @property
    def message(self) -> SignedDocument:
        """As it travels."""
        signatures = [EnvelopeSignature(one.key, _base64(one.value)) for one in self.signatures]
        return SignedDocument(_base64(self.payload), self.media_type, signatures)

    @classmethod
    def of_message(cls, message: SignedDocument) -> Self:
        """From what travelled; verifies nothing."""
        if len(message.signatures) > MAX_SIGNATURES:
            raise _no_envelope(f"{len(message.signatures)} signatures")
        try:
            signatures = tuple(Signature(one.keyid, _bytes(one.sig)) for one in message.signatures)
            return cls(message.payloadType, _bytes(message.payload), signatures)
        except ValueError as error:
            raise _no_envelope(message.payload[:40]) from error

    def to_bytes(self) -> bytes:
        """As JSON."""
        return self.message.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From JSON; verifies nothing."""
        try:
            message = SignedDocument.of_answer(data)
        except ParameterError as error:
            raise _no_envelope(data[:40]) from error
        return cls.of_message(message)


def _no_envelope(value: object) -> ParameterError:
    return ParameterError("envelope", value, "a DSSE envelope", "Fetch it again.")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    """The bytes of a text in base64; refuses every other spelling of the same bytes."""
    data = base64.b64decode(text, validate=True)
    if _base64(data) != text:
        raise ValueError(text)
    return data


def _covered(media_type: str, payload: bytes) -> bytes:
    kind = media_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
