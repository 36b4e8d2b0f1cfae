"""Following key statements: whoever knows one key finds the later ones, and nobody else's."""

import datetime
import hashlib
import json
from dataclasses import asdict
from typing import Any

import pytest

from blendp.canonical import canonical_json
from blendp.errors import ParameterError
from blendp.wire import Envelope, Signature, SigningKey
from blendp.wire.keys import KEY_FORMAT, KeyStatement, Trust
from blendp.wire.media_types import KEY_TYPE

K = [SigningKey.of_raw(bytes([number]) * 32) for number in range(1, 6)]
EVIL = SigningKey.of_raw(b"\xee" * 32)


def day(number: int) -> datetime.date:
    return datetime.date(2026, 11, number)


def statement(old: SigningKey, new: SigningKey, since: int = 1, until: int = 10) -> KeyStatement:
    return KeyStatement(new.public.text, day(since).isoformat(), old.public.id, day(until).isoformat())


def step(old: SigningKey, new: SigningKey, since: int = 1, until: int = 10) -> Envelope:
    return statement(old, new, since, until).sealed(old, new)


def believed(trust: Trust, on: int) -> list[int]:
    ids = {key.public: number for number, key in enumerate(K, start=1)}
    return sorted(ids.get(key, 0) for key in trust.on(day(on)))


CHAIN = [step(K[0], K[1], 1, 10), step(K[1], K[2], 5, 20), step(K[2], K[3], 21, 25)]


def test_a_chain_is_followed() -> None:
    trust = Trust.of(K[0].public).following(CHAIN)
    assert believed(trust, 2) == [1, 2, 3, 4]
    assert believed(trust, 10) == [1, 2, 3, 4]
    assert believed(trust, 11) == [2, 3, 4]
    assert believed(trust, 21) == [3, 4]
    assert believed(trust, 26) == [4]


def test_from_a_key_in_the_middle() -> None:
    assert believed(Trust.of(K[1].public).following(CHAIN), 2) == [2, 3, 4]
    assert believed(Trust.of(K[3].public).following(CHAIN), 2) == [4]


def test_a_known_key_leads_on_long_after_its_day() -> None:
    """A device that slept through the overlap still knows whom to believe; not the old key, though."""
    trust = Trust.of(K[0].public).following(CHAIN)
    assert believed(trust, 28) == [4]


def test_a_replaced_key_vouches_for_nobody_new() -> None:
    trust = Trust.of(K[0].public).following(CHAIN[:1])
    forged = step(K[0], EVIL, 1, 28)
    assert believed(trust.following([forged]), 11) == [2]
    assert believed(trust.following([CHAIN[0], forged, CHAIN[1]]), 11) == [2, 3]
    assert believed(Trust.of(K[0].public).following([CHAIN[0], forged]), 11) == [2]
    assert believed(trust.following([forged]), 5) == [1, 2], "nor does one that was replaced, while it is still good"


def test_statements_of_strangers_change_nothing() -> None:
    trust = Trust.of(K[0].public)
    for stranger in (step(EVIL, K[1]), step(K[1], EVIL), step(K[4], K[3])):
        assert trust.following([stranger]) == trust


def test_out_of_order_nothing_is_followed_that_was_not_vouched_for_before() -> None:
    trust = Trust.of(K[0].public).following(CHAIN[::-1])
    assert believed(trust, 2) == [1, 2]
    assert believed(trust.following(CHAIN), 2) == [1, 2, 3, 4]


def test_twice_is_as_once() -> None:
    trust = Trust.of(K[0].public).following(CHAIN)
    assert trust.following(CHAIN) == trust
    assert Trust.of(K[0].public).following([CHAIN[0], *CHAIN]) == trust


def test_the_day_of_an_old_key_is_never_put_off() -> None:
    trust = Trust.of(K[0].public).following([step(K[0], K[1], 1, 10)])
    assert believed(trust.following([step(K[0], K[1], 1, 28)]), 11) == [2]
    assert believed(trust.following([step(K[0], K[1], 1, 5)]), 6) == [2]


def sealed(payload: bytes, *keys: SigningKey, kind: str = KEY_TYPE) -> Envelope:
    return Envelope.sealed(kind, payload, keys)


GOOD = CHAIN[0].payload


@pytest.mark.parametrize(
    "forged",
    [
        sealed(GOOD, K[1]),
        sealed(GOOD, K[0]),
        sealed(GOOD),
        sealed(GOOD, K[0], K[1], kind="application/json"),
        sealed(GOOD, EVIL, K[1]),
        Envelope(
            KEY_TYPE, GOOD, (Signature(K[0].public.id, EVIL.sign(KEY_TYPE, GOOD).value), K[1].sign(KEY_TYPE, GOOD))
        ),
        Envelope(KEY_TYPE, GOOD.replace(b"2026-11-10", b"2026-11-28"), CHAIN[0].signatures),
        Envelope(KEY_TYPE, GOOD.replace(K[1].public.text.encode(), EVIL.public.text.encode()), CHAIN[0].signatures),
        sealed(b"", K[0], K[1]),
        sealed(GOOD + b" ", K[0], K[1]),
        sealed(b"[" * 10_000, K[0], K[1]),
    ],
)
def test_forged_statements_change_nothing(forged: Envelope) -> None:
    trust = Trust.of(K[0].public)
    assert trust.following([forged]) == trust


WRONG: list[tuple[str, Any]] = [
    ("key", "00"),
    ("key", None),
    ("key", 5),
    ("key", K[1].public.text.upper()),
    ("key", "01" + "00" * 31),
    ("key", "ec" + "ff" * 30 + "7f"),
    ("key", "f0" + "ff" * 31),
    ("since", "2026-11-31"),
    ("since", "2026-11-11"),
    ("since", None),
    ("replaced_until", "2026-10-31"),
    ("replaced_until", []),
    ("replaces", []),
    ("replaces", {}),
    ("replaces", None),
    ("replaces", 1),
    ("replaces", ""),
    ("replaces", K[0].public.id.upper() + "0"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_wrong_statements_are_refused_and_followed_by_nobody(name: str, value: Any) -> None:
    payload = canonical_json({**json.loads(GOOD), name: value})
    with pytest.raises(ParameterError):
        KeyStatement.from_bytes(payload)
    trust = Trust.of(K[0].public)
    assert trust.following([sealed(payload, K[0], K[1])]) == trust


@pytest.mark.parametrize("raw", [b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f", bytes(32)], ids=bytes.hex)
def test_nobody_is_led_to_a_key_for_which_anybody_signs(raw: bytes) -> None:
    """The old key vouches, and the new one's signature is forged: at most 16 tries until one is good."""
    trust = Trust.of(K[0].public)
    for attempt in range(1, 17):
        replaced = {"key": raw.hex(), "replaced_until": day(10 + attempt % 16).isoformat()}
        payload = canonical_json({**json.loads(GOOD), **replaced})
        forged = Signature(hashlib.sha256(raw).hexdigest()[:16], b"\x01" + bytes(63))
        envelope = Envelope(KEY_TYPE, payload, (K[0].sign(KEY_TYPE, payload), forged))
        assert trust.following([envelope]) == trust


def test_exactly_the_fields() -> None:
    plain = json.loads(GOOD)
    assert KeyStatement.from_bytes(GOOD) == statement(K[0], K[1], 1, 10)
    assert plain == {"format": KEY_FORMAT, **asdict(statement(K[0], K[1], 1, 10))}
    for name in plain:
        with pytest.raises(ParameterError):
            KeyStatement.from_bytes(canonical_json({other: plain[other] for other in plain if other != name}))
    with pytest.raises(ParameterError):
        KeyStatement.from_bytes(canonical_json({**plain, "more": 1}))
