"""Signed documents: what a signature covers, and every way to tamper with it. Vectors were made with openssl."""

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.wire import Envelope, Signature, SigningKey, VerifyKey
from blendp.wire.envelope import SignatureError, _covered

KIND, BODY = "http://example.com/HelloWorld", b"hello world"
KEY = SigningKey.of_raw(bytes(range(32)))
PUBLIC = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
SIGNATURE = (
    "14306e8611991eb41a2e71c0fb1603a333412ad3914d3dc41611895dccc2861f"
    "0f0aa078ef5b03112cf2db382e30640e93c0fe223da16ff7a8524ab173faa00a"
)
OTHER, STRANGER = SigningKey.of_raw(b"\1" * 32), SigningKey.of_raw(b"\2" * 32)
SEALED = Envelope.sealed(KIND, BODY, [KEY])


def test_what_is_covered() -> None:
    assert _covered(KIND, BODY) == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert _covered("", b"") == b"DSSEv1 0  0 "
    assert _covered("ä", b"\0\xff") == b"DSSEv1 2 \xc3\xa4 2 \0\xff"


def test_vector() -> None:
    assert KEY.public.text == PUBLIC
    assert KEY.public.id == "56475aa75463474c"
    assert KEY.sign(KIND, BODY) == Signature("56475aa75463474c", bytes.fromhex(SIGNATURE))
    assert VerifyKey.of_text(PUBLIC).signed(bytes.fromhex(SIGNATURE), KIND, BODY)


def test_as_json() -> None:
    document = json.loads(SEALED.to_bytes())
    assert document == {
        "payload": "aGVsbG8gd29ybGQ=",
        "payloadType": KIND,
        "signatures": [
            {"keyid": "56475aa75463474c", "sig": base64.b64encode(bytes.fromhex(SIGNATURE)).decode("ascii")}
        ],
    }
    assert Envelope.from_bytes(SEALED.to_bytes()) == SEALED


@given(st.text(max_size=40), st.binary(max_size=200), st.integers(0, 3))
def test_round_trip(kind: str, body: bytes, signers: int) -> None:
    keys = [KEY, OTHER, STRANGER][:signers]
    envelope = Envelope.sealed(kind, body, keys)
    again = Envelope.from_bytes(envelope.to_bytes())
    assert again == envelope
    for key in keys:
        assert again.verified(kind, [key.public]) == body


def test_any_trusted_signer_will_do() -> None:
    both = Envelope.sealed(KIND, BODY, [OTHER, KEY])
    for trusted in ([KEY.public], [OTHER.public], [STRANGER.public, KEY.public]):
        assert both.verified(KIND, trusted) == BODY
    wrong_first = Envelope(KIND, BODY, (Signature(KEY.public.id, b"\0" * 64), *SEALED.signatures))
    assert wrong_first.verified(KIND, [KEY.public]) == BODY


def _bits(data: bytes) -> list[bytes]:
    return [data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] for at in range(len(data))]


@pytest.mark.parametrize(
    ("envelope", "trusted"),
    [
        (SEALED, []),
        (SEALED, [OTHER.public]),
        (Envelope(KIND, BODY, ()), [KEY.public]),
        (Envelope(KIND, BODY, (Signature(OTHER.public.id, SEALED.signatures[0].value),)), [KEY.public, OTHER.public]),
        (Envelope(KIND, BODY, (Signature("", SEALED.signatures[0].value),)), [KEY.public]),
        (Envelope(KIND, BODY, (Signature(KEY.public.id, b""),)), [KEY.public]),
        (Envelope(KIND, BODY, (Signature(KEY.public.id, SEALED.signatures[0].value + b"\0"),)), [KEY.public]),
        (Envelope(KIND, BODY + b" ", SEALED.signatures), [KEY.public]),
        (Envelope(KIND, b"", SEALED.signatures), [KEY.public]),
        *((Envelope(KIND, body, SEALED.signatures), [KEY.public]) for body in _bits(BODY)),
        *(
            (Envelope(KIND, BODY, (Signature(KEY.public.id, value),)), [KEY.public])
            for value in _bits(SEALED.signatures[0].value)
        ),
        (Envelope(KIND, BODY, SEALED.signatures), [STRANGER.public]),
    ],
)
def test_tampering_is_seen(envelope: Envelope, trusted: list[VerifyKey]) -> None:
    with pytest.raises(SignatureError):
        envelope.verified(KIND, trusted)


def test_a_document_of_another_type_is_refused() -> None:
    with pytest.raises(SignatureError, match="not 'another/type'"):
        SEALED.verified("another/type", [KEY.public])
    passed_off = Envelope("another/type", BODY, SEALED.signatures)
    with pytest.raises(SignatureError):
        passed_off.verified("another/type", [KEY.public])
    moved = Envelope(KIND + " 1", b"1 " + BODY, SEALED.signatures)
    with pytest.raises(SignatureError):
        moved.verified(KIND + " 1", [KEY.public])


ONE = {"keyid": "a", "sig": "AA=="}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        1,
        "x",
        {},
        {"payload": "", "payloadType": "a"},
        {"payload": "", "signatures": []},
        {"payloadType": "a", "signatures": []},
        {"payload": None, "payloadType": "a", "signatures": []},
        {"payload": "", "payloadType": None, "signatures": []},
        {"payload": "", "payloadType": "a", "signatures": None},
        {"payload": "", "payloadType": "a", "signatures": {"keyid": "a"}},
        {"payload": "", "payloadType": "a", "signatures": "ab"},
        {"payload": "", "payloadType": "a", "signatures": [None]},
        {"payload": "", "payloadType": "a", "signatures": [{"keyid": "a"}]},
        {"payload": "", "payloadType": "a", "signatures": [{"sig": ""}]},
        {"payload": "", "payloadType": "a", "signatures": [{"keyid": 1, "sig": ""}]},
        {"payload": "", "payloadType": "a", "signatures": [{"keyid": ["a"], "sig": ""}]},
        {"payload": "", "payloadType": "a", "signatures": [{"keyid": "a", "sig": 1}]},
        {"payload": "", "payloadType": "a", "signatures": [ONE] * 17},
        {"payload": "a", "payloadType": "a", "signatures": []},
        {"payload": "a b=", "payloadType": "a", "signatures": []},
        {"payload": "_-8=", "payloadType": "a", "signatures": []},
        {"payload": "ä", "payloadType": "a", "signatures": []},
    ],
)
def test_what_is_no_envelope(value: Any) -> None:
    with pytest.raises(ParameterError):
        Envelope.from_bytes(json.dumps(value).encode())


def test_no_json_no_envelope() -> None:
    for data in (b"", b"{", b"\xff", b"[" * 100_000, b"1" * 5000):
        with pytest.raises(ParameterError):
            Envelope.from_bytes(data)
    assert (
        len(
            Envelope.from_bytes(
                json.dumps({"payload": "", "payloadType": "", "signatures": [ONE] * 16}).encode()
            ).signatures
        )
        == 16
    )


def test_keys() -> None:
    for text in ("", PUBLIC[:-2], PUBLIC.upper(), PUBLIC + "00", "zz" * 32):
        with pytest.raises(ParameterError):
            VerifyKey.of_text(text)
    with pytest.raises(ParameterError):
        VerifyKey(b"")
    assert SigningKey.new().public != SigningKey.new().public


FIELD = 2**255 - 19
IDENTITY = (1).to_bytes(32, "little")


def _doubled(x: int, y: int) -> tuple[int, int]:
    """Twice a point of -x^2 + y^2 = 1 + d x^2 y^2."""
    product = -121665 * pow(121666, -1, FIELD) * (x * y) ** 2
    double_x = 2 * x * y * pow(1 + product, -1, FIELD)
    return double_x % FIELD, (x * x + y * y) * pow(1 - product, -1, FIELD) % FIELD


def _small_order_points() -> set[tuple[int, int]]:
    """The points P with 8 P = (0, 1).

    Those of order 8 have y(2 P) = 0, so y^2 = -x^2, and then d x^4 - 2 x^2 - 1 = 0.
    """
    i, d = pow(2, (FIELD - 1) // 4, FIELD), -121665 * pow(121666, -1, FIELD) % FIELD
    (inner, *_) = _roots(1 + d)
    x_of_order_8 = {x for sign in (1, -1) for x in _roots((1 + sign * inner) * pow(d, -1, FIELD))}
    return {(0, 1), (0, FIELD - 1), (i, 0), (FIELD - i, 0)} | {
        (x, i * z % FIELD) for x in x_of_order_8 for z in (x, -x)
    }


def _roots(square: int) -> list[int]:
    i, root = pow(2, (FIELD - 1) // 4, FIELD), pow(square, (FIELD + 3) // 8, FIELD)
    return [x for x in (root, -root % FIELD, root * i % FIELD, -root * i % FIELD) if (x * x - square) % FIELD == 0]


def _encodings(x: int, y: int) -> set[bytes]:
    """Every way to write a point that some verifier reads as it: y + p if it fits, and either sign if x is 0."""
    signs = {0, 1} if x == 0 else {x & 1}
    ys = {y} | ({y + FIELD} if y + FIELD < 1 << 255 else set())
    return {(each | sign << 255).to_bytes(32, "little") for each in ys for sign in signs}


SMALL_ORDER = sorted({data for point in _small_order_points() for data in _encodings(*point)})
NOT_CANONICAL = [(y | sign << 255).to_bytes(32, "little") for y in range(FIELD, 1 << 255) for sign in (0, 1)]


def test_the_points_of_small_order_are_all_there() -> None:
    points = _small_order_points()
    assert len(points) == 8
    for point in points:
        assert _doubled(*_doubled(*_doubled(*point))) == (0, 1)
    assert len(SMALL_ORDER) == 14


def test_nobody_can_sign_for_a_key_of_small_order() -> None:
    """The neutral point as a key: the signature (neutral point, 0) would be good for every document."""
    forged = Signature(hashlib.sha256(IDENTITY).hexdigest()[:16], IDENTITY + bytes(32))
    for number in range(16):
        body = b"forged %d" % number
        with pytest.raises(ParameterError, match=r"key = '0100.*a point of large order.*ask its owner"):
            Envelope(KIND, body, (forged,)).verified(KIND, [VerifyKey(IDENTITY)])


@pytest.mark.parametrize("raw", SMALL_ORDER, ids=bytes.hex)
def test_keys_of_small_order_are_refused(raw: bytes) -> None:
    with pytest.raises(ParameterError, match=raw.hex()):
        VerifyKey(raw)
    with pytest.raises(ParameterError, match=raw.hex()):
        VerifyKey.of_text(raw.hex())


@pytest.mark.parametrize("raw", NOT_CANONICAL, ids=bytes.hex)
def test_keys_that_are_not_canonical_are_refused(raw: bytes) -> None:
    with pytest.raises(ParameterError, match=r"written canonically, with y below 2\^255 - 19"):
        VerifyKey(raw)


@given(st.binary(min_size=32, max_size=32))
def test_whoever_draws_a_key_has_a_good_one(secret: bytes) -> None:
    key = SigningKey.of_raw(secret)
    assert VerifyKey.of_text(key.public.text) == key.public
    assert Envelope.sealed(KIND, BODY, [key]).verified(KIND, [key.public]) == BODY


def test_a_private_key_shows_nothing_of_itself() -> None:
    for shown in (repr(KEY), str(KEY), f"{KEY}", repr([KEY])):
        assert "56475aa75463474c" in shown
        assert KEY.raw.hex() not in shown
        assert repr(KEY.raw)[2:-1] not in shown
