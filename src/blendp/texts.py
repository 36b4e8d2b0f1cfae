"""Which texts can be part of a record, in logs, on devices and at collectors."""

from __future__ import annotations

MAX_TEXT_BYTES = 8192
"""A user, query or URL of more bytes than this is none."""


def is_usable(text: str) -> bool:
    """Whether a text is short enough, holds no NUL and can be written in UTF-8."""
    try:
        return "\0" not in text and len(text.encode("utf-8")) <= MAX_TEXT_BYTES
    except UnicodeEncodeError:
        return False
