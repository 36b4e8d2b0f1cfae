"""Canonical bytes: one spelling of a value, and one encoder for every format."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blendp
from blendp.canonical import canonical_json, read_canonical, sha256
from blendp.errors import ParameterError

SOURCE = Path(blendp.__file__).parent

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_vector() -> None:
    data = canonical_json({"b": [1, 2.5, None, True], "a": 'ü\u2028"', "format": "f"})
    assert data == '{"a":"ü\u2028\\"","b":[1,2.5,null,true],"format":"f"}'.encode()
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(st.dictionaries(st.text(max_size=5), plain, max_size=4))
def test_round_trip(value: dict[str, Any]) -> None:
    data = canonical_json({**value, "format": "f"})
    assert canonical_json(read_canonical(data, "value", "f")) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"format":"g"}',
        b'{"format": "f"}',
        b'{"format":"f"} ',
        b'{"format":"f","a":1}',
        b'{"a":1,"a":1,"format":"f"}',
        b'{"a":1.00,"format":"f"}',
        b'{"a":"\\u00fc","format":"f"}',
        b'{"a":NaN,"format":"f"}',
        b'\xef\xbb\xbf{"format":"f"}',
        b'{"a":"\xff","format":"f"}',
        b"[" * 100_000,
    ],
)
def test_other_spellings_are_refused(data: bytes) -> None:
    with pytest.raises(ParameterError):
        read_canonical(data, "value", "f")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": value})


def test_there_is_no_second_encoder() -> None:
    spelt = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"sort_keys=True|order=\"(sorted|deterministic)\"", path.read_text("utf-8"))
    ]
    assert spelt == ["canonical.py"]
