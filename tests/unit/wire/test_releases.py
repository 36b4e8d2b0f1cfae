"""A signed release is written and read in one form."""

from __future__ import annotations

from typing import Any

import pytest

from blendp.canonical import canonical_json
from blendp.errors import ParameterError
from blendp.wire.releases import RELEASE_FORMAT, read_release, write_release

MEMBERS: dict[str, Any] = {
    "campaign": "c1",
    "manifest_sha256": "ab" * 32,
    "released": "2026-11-30",
    "card": {"method": "blendp"},
    "estimates": [{"query": "ü", "probability": 0.25}],
    "trends": [],
    "groups": {},
}


def test_what_is_written_is_read() -> None:
    assert read_release(write_release(**MEMBERS)) == {"format": RELEASE_FORMAT, **MEMBERS}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_that_is_missing_is_refused(name: str) -> None:
    rest = {"format": RELEASE_FORMAT, **{key: value for key, value in MEMBERS.items() if key != name}}
    with pytest.raises(ParameterError, match=name):
        read_release(canonical_json(rest))


def test_other_members_formats_and_spellings_are_refused() -> None:
    good = write_release(**MEMBERS)
    for bad in (
        canonical_json({"format": RELEASE_FORMAT, **MEMBERS, "more": 1}),
        canonical_json({"format": "blendp/release/2", **MEMBERS}),
        good.replace(b":", b": ", 1),
        good[:-1],
        b"[]",
    ):
        with pytest.raises(ParameterError, match="release"):
            read_release(bad)
