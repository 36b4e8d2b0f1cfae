"""Which texts can be part of a record, in logs, on devices and at collectors."""

from __future__ import annotations

import re

MAX_TEXT_BYTES = 8192
"""A user, query or URL of more bytes than this is none."""

WHITE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The 25 code points with the property White_Space of Unicode, for the brackets of a regular expression."""

_BLANK = re.compile(f"[{WHITE}]*")
_UNSHOWN = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls, and what changes the direction or the look of a text without being seen."""


def is_presentable(text: str, max_length: int) -> bool:
    """Whether people can be shown a text: not too long, not blank, with no control, format or separator characters.

    The characters are listed, not looked up, so that every version of Unicode says the same.
    """
    shown = len(text) <= max_length and _BLANK.fullmatch(text) is None
    return shown and _UNSHOWN.search(text) is None


def printable(text: str) -> str:
    """The text, as Python writes it where it has signs that cannot be seen or act on a terminal."""
    return text if text.isprintable() else repr(text)


def is_usable(text: str) -> bool:
    """Whether a text is short enough, holds no NUL and can be written in UTF-8."""
    try:
        return "\0" not in text and len(text.encode("utf-8")) <= MAX_TEXT_BYTES
    except UnicodeEncodeError:
        return False
