"""One form of bytes for a value, so that equal values have equal hashes, and the text forms of bytes."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from blendp.errors import ParameterError

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def canonical(value: Mapping[str, Any]) -> bytes:
    """Canonical JSON: sorted names, no spaces, UTF-8, numbers as Python writes them."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def read_canonical(data: bytes, what: str, form: str) -> dict[str, Any]:
    """The value of canonical bytes of this format; refuses every other spelling, so that a hash names one value."""
    remedy = "Fetch it again; if that does not help, it needs another version of blendp."
    try:
        value = json.loads(data)
        canonical_again = canonical(value) if isinstance(value, dict) else b""
    except (UnicodeError, ValueError, RecursionError) as error:
        raise ParameterError(what, data[:40], f"a {form} document", remedy) from error
    if not isinstance(value, dict) or value.get("format") != form:
        raise ParameterError(what, data[:40], f"a {form} document", remedy)
    if canonical_again != data:
        raise ParameterError(what, data[:40], "in canonical form", remedy)
    return value


def sha256(data: bytes) -> str:
    """The name of these bytes."""
    return hashlib.sha256(data).hexdigest()


def of_hex(text: str, what: str, length: int | None = None) -> bytes:
    """The bytes of lower-case hexadecimal digits; refuses every other spelling of the same bytes."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if data.hex() != text or (length is not None and len(data) != length):
        legal = "lower-case hexadecimal digits" if length is None else f"{2 * length} lower-case hexadecimal digits"
        raise ParameterError(what, text[:80], legal, "Send it as the documentation says.")
    return data


def require_day(parameter: str, value: object) -> datetime.date:
    """The day that a text such as 2026-11-30 names."""
    try:
        if not isinstance(value, str) or not _DAY.fullmatch(value):
            raise ValueError
        return datetime.date.fromisoformat(value)
    except ValueError:
        raise ParameterError(parameter, value, "a day such as 2026-11-30", "Days are those of UTC.") from None
