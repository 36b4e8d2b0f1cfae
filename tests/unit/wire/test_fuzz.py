"""Every decoder against bytes of all kinds: it reads them, or says that they are wrong, and does nothing else."""

import json
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest, SigningKey, Terms, UploadedReport
from blendp.wire.keys import KeyStatement
from blendp.wire.reports import Binding, Upload, read_batch, read_report, write_batch, write_report
from tests.support import WHO

BINDING, NAME = Binding("ab" * 32, "cd" * 8), "01" * 16
SOME = [UploadedReport(bytes([n]) * 16, bytes([n + 9]) * 16, n % 3, bytes([n]) * (1 + n % 3)) for n in range(4)]
TERMS = Terms("c1", "Title", **WHO, opens="2026-11-01", opt_in_until="2026-11-20", reports_until="2026-11-30")
LIST = HeadList.of_records([("a", "u"), ("a", "v"), ("b", "ü")])
KEYS = [SigningKey.of_raw(bytes([n]) * 32) for n in (1, 2)]
STATEMENT = KeyStatement(KEYS[1].public.text, "2026-11-01", KEYS[0].public.id, "2026-11-30")


def _kept(upload: Upload) -> list[UploadedReport]:
    return [UploadedReport(*row) for row in upload.rows]


def _batch(body: bytes) -> None:
    upload = read_batch(body)
    assert read_batch(write_batch(upload.binding, _kept(upload))) == upload


def _report(body: bytes) -> None:
    upload = read_report(NAME, body)
    assert read_report(NAME, write_report(upload.binding, *_kept(upload))) == upload


def _envelope(data: bytes) -> None:
    envelope = Envelope.from_bytes(data)
    assert Envelope.from_bytes(envelope.to_bytes()) == envelope


def _terms(data: bytes) -> None:
    assert Terms.from_bytes(data).to_bytes() == data


def _manifest(data: bytes) -> None:
    assert Manifest.from_bytes(data).to_bytes() == data


def _list(data: bytes) -> None:
    assert HeadList.from_bytes(data).to_bytes() == data


def _statement(data: bytes) -> None:
    assert KeyStatement.from_bytes(data).sealed(*KEYS).payload == data


DECODERS: dict[str, tuple[Callable[[bytes], None], bytes]] = {
    "batch": (_batch, write_batch(BINDING, SOME)),
    "report": (_report, write_report(BINDING, SOME[0])),
    "envelope": (_envelope, Envelope.sealed("a/b", b"payload", KEYS).to_bytes()),
    "terms": (_terms, TERMS.to_bytes()),
    "manifest": (_manifest, Manifest(TERMS, LIST.sha256, 3, 100, 0.5, "2026-11-20").to_bytes()),
    "list": (_list, LIST.to_bytes()),
    "statement": (_statement, STATEMENT.sealed(*KEYS).payload),
}
JSON = [name for name in DECODERS if name != "batch"]

decoders = pytest.mark.parametrize("name", DECODERS)


def read_or_refused(name: str, data: bytes) -> None:
    """Whatever else comes out is an error of the test."""
    with suppress(ParameterError):
        DECODERS[name][0](data)


@decoders
def test_valid_bytes_are_read(name: str) -> None:
    read, valid = DECODERS[name]
    read(valid)


@decoders
def test_random_bytes(name: str) -> None:
    chance = random.Random(1)
    for data in (b"", b"\xff" * 100, b"[" * 20_000, b"9" * 5000):
        read_or_refused(name, data)
    for _ in range(1000):
        read_or_refused(name, chance.randbytes(chance.randrange(301)))


def test_random_sections() -> None:
    """Headers of sections that are nearly possible, before bodies of any length."""
    chance = random.Random(2)
    for _ in range(3000):
        parts = [b"blR1", chance.randbytes(32)]
        for _ in range(chance.randrange(5)):
            question, width, count = (chance.randrange(5) for _ in range(3))
            body = chance.randbytes(chance.choice([count * (32 + width), chance.randrange(201)]))
            parts.append(bytes([question, 0, width, 0, 0, 0, count]) + body)
        read_or_refused("batch", b"".join(parts))


def flipped(data: bytes, bit: int) -> bytes:
    at = bit // 8 % len(data)
    return data[:at] + bytes([data[at] ^ 1 << bit % 8]) + data[at + 1 :]


@decoders
def test_every_bit_flipped(name: str) -> None:
    valid = DECODERS[name][1]
    for bit in range(8 * len(valid)):
        read_or_refused(name, flipped(valid, bit))


@decoders
def test_every_truncation(name: str) -> None:
    valid = DECODERS[name][1]
    for length in range(len(valid)):
        read_or_refused(name, valid[:length])
        read_or_refused(name, valid[length:])


@decoders
def test_splices(name: str) -> None:
    """Pieces of valid bytes cut out, doubled, moved, or replaced by others."""
    chance = random.Random(3)
    for _ in range(2000):
        data = DECODERS[name][1]
        for _ in range(chance.randint(1, 3)):
            start, end, at = sorted(chance.randint(0, len(data)) for _ in range(3))
            piece = chance.choice([b"", data[start:end], data[:start], chance.randbytes(chance.randrange(9))])
            data = chance.choice([data[:start] + piece + data[end:], data[:at] + piece + data[at:]])[:5000]
        read_or_refused(name, data)


NUMBERS = [0, 1, -1, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), 0.0, -0.0, 0.5, 1.0, 2.0, 5e-324, 1e308]
TEXTS = ["", " ", "a", "\0", "\n", "ü", "\ud800", "\U0010ffff", "ab" * 16, "2026-11-01", "blendp", "a" * 2000]
PLAIN = [None, True, False, *NUMBERS, *TEXTS]
NESTED: list[Any] = [[], {}, [[]], [None], {"": {}}, {"format": 1}, [["a", "u"], ["a", "u"]]]


def _any_json(chance: random.Random, depth: int = 3) -> Any:
    kind = chance.randrange(6 if depth else 4)
    if kind == 0:
        return chance.choice(PLAIN)
    if kind == 1:
        return chance.randint(-(2 ** chance.randrange(80)), 2 ** chance.randrange(80))
    if kind == 2:
        return chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300)
    if kind == 3:
        return _any_text(chance, 20)
    inner = [_any_json(chance, depth - 1) for _ in range(chance.randrange(4))]
    return inner if kind == 4 else {_any_text(chance, 10): value for value in inner}


def _any_text(chance: random.Random, max_length: int) -> str:
    last = chance.choice([0x7F, 0x7FF, 0xFFFF, sys.maxunicode])
    return "".join(chr(chance.randint(0, last)) for _ in range(chance.randint(0, max_length)))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, item in inner for deeper in _paths(item, (*path, key)))]


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", JSON)
def test_any_value_in_any_place(name: str) -> None:
    """In canonical form, so that it is the value that is looked at; with a field too much, too."""
    chance, value = random.Random(4), json.loads(DECODERS[name][1])
    for path in _paths(value):
        for new in [*PLAIN, *NESTED, *(_any_json(chance) for _ in range(20))]:
            changed = _replaced(value, path, new)
            _read_value_or_refused(name, changed)
            if isinstance(changed, dict):
                more = chance.choice(["format", "more", "terms", "reports", "id"])
                _read_value_or_refused(name, changed | {more: _any_json(chance)})


def _read_value_or_refused(name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    read_or_refused(name, text.encode("utf-8", "surrogatepass"))
