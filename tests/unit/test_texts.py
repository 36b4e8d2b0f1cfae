"""Texts of records: how long they may be, and what they may not hold."""

import pytest

from blendp.texts import MAX_TEXT_BYTES, is_usable


@pytest.mark.parametrize("text", ["", "a", "a" * MAX_TEXT_BYTES, "ü" * (MAX_TEXT_BYTES // 2), "\n"])
def test_usable(text: str) -> None:
    assert is_usable(text)


@pytest.mark.parametrize("text", ["a" * (MAX_TEXT_BYTES + 1), "ü" * (MAX_TEXT_BYTES // 2) + "a", "a\0", "\ud800"])
def test_unusable(text: str) -> None:
    assert not is_usable(text)
