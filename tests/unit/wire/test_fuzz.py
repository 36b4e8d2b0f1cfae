"""Every decoder against bytes of all kinds: it reads them, or says that they are wrong, and does nothing else."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest, SigningKey, Terms, UploadedReport
from blendp.wire.keys import KeyStatement
from blendp.wire.reports import Upload, read_batch, read_report, write_batch, write_report
from tests.support import WHO

HASH, NAME = "ab" * 32, "01" * 16
SOME = [UploadedReport(bytes([n]) * 16, bytes([n + 9]) * 16, n % 3, bytes([n]) * (1 + n % 3)) for n in range(4)]
TERMS = Terms("c1", "Title", **WHO, opens="2026-11-01", opt_in_until="2026-11-20", reports_until="2026-11-30")
LIST = HeadList.of_records([("a", "u"), ("a", "v"), ("b", "ü")])
KEYS = [SigningKey.of_raw(bytes([n]) * 32) for n in (1, 2)]
STATEMENT = KeyStatement(KEYS[1].public.text, "2026-11-01", KEYS[0].public.id, "2026-11-30")


def _kept(upload: Upload) -> list[UploadedReport]:
    return [UploadedReport(*row) for row in upload.rows]


def _batch(body: bytes) -> None:
    upload = read_batch(body)
    assert read_batch(write_batch(upload.manifest, _kept(upload))) == upload


def _report(body: bytes) -> None:
    upload = read_report(NAME, body)
    assert read_report(NAME, write_report(upload.manifest, *_kept(upload))) == upload


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
    "batch": (_batch, write_batch(HASH, SOME)),
    "report": (_report, write_report(HASH, SOME[0])),
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
@settings(max_examples=150)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\xff" * 100)
@example(b"[" * 20_000)
@example(b"9" * 5000)
def test_random_bytes(name: str, data: bytes) -> None:
    read_or_refused(name, data)


@settings(max_examples=200)
@given(
    st.binary(min_size=32, max_size=32),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.binary(max_size=200)), max_size=4),
)
def test_random_sections(manifest: bytes, sections: list[tuple[int, int, int, bytes]]) -> None:
    parts = (bytes([question, 0, width, 0, 0, 0, count]) + body for question, width, count, body in sections)
    read_or_refused("batch", b"blR1" + manifest + b"".join(parts))


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
@settings(max_examples=150)
@given(st.data())
def test_splices(name: str, data: st.DataObject) -> None:
    """Pieces of valid bytes cut out, doubled, moved, or replaced by others."""
    valid = DECODERS[name][1]
    for _ in range(data.draw(st.integers(1, 3))):
        start, end, at = sorted(data.draw(st.tuples(*[st.integers(0, len(valid))] * 3)))
        piece = data.draw(st.sampled_from([b"", valid[start:end], valid[:start]]) | st.binary(max_size=8))
        valid = data.draw(st.sampled_from([valid[:start] + piece + valid[end:], valid[:at] + piece + valid[at:]]))[
            :5000
        ]
    read_or_refused(name, valid)


any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**64, 1.0, 2.0, -0.0, 1e308])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, held in inner for deeper in _paths(held, (*path, key)))]


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", JSON)
@settings(max_examples=200)
@given(st.data())
def test_any_value_in_any_place(name: str, data: st.DataObject) -> None:
    """In canonical form, so that it is the value that is looked at."""
    value = json.loads(DECODERS[name][1])
    path = data.draw(st.sampled_from(_paths(value)))
    changed = _replaced(value, path, data.draw(any_json))
    if isinstance(changed, dict) and data.draw(st.booleans()):
        changed |= {data.draw(st.sampled_from(["format", "more", "terms", "reports", "id"])): data.draw(any_json)}
    text = json.dumps(changed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    read_or_refused(name, text.encode("utf-8", "surrogatepass"))
