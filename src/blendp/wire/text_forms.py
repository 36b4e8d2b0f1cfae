"""How bytes and days are spelt in text: each in one way."""

from __future__ import annotations

import datetime
import re

from blendp.errors import ParameterError

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def of_hex(text: object, what: str, length: int | None = None) -> bytes:
    """The bytes of lower-case hexadecimal digits; refuses every other spelling of the same bytes."""
    try:
        data = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        data = b""
    if data.hex() != text or (length is not None and len(data) != length):
        legal = "lower-case hexadecimal digits" if length is None else f"{2 * length} lower-case hexadecimal digits"
        raise ParameterError(what, str(text)[:80], legal, "Send it as the documentation says.")
    return data


def require_day(parameter: str, value: object) -> datetime.date:
    """The day that a text such as 2026-11-30 names."""
    try:
        if not isinstance(value, str) or not _DAY.fullmatch(value):
            raise ValueError
        return datetime.date.fromisoformat(value)
    except ValueError:
        raise ParameterError(parameter, value, "a day such as 2026-11-30", "Days are those of UTC.") from None
