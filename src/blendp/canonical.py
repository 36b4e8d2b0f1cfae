"""One form of bytes for a value, so that equal values have equal hashes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from blendp.errors import ParameterError

_SHA256 = re.compile("[0-9a-f]{64}")


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """Canonical JSON: sorted names, no spaces, UTF-8, numbers as Python writes them."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def read_canonical(data: bytes, what: str, *formats: str) -> dict[str, Any]:
    """The value of canonical bytes of one of these formats; refuses every other spelling, so that a hash names one
    value.
    """
    form, beginning = " or ".join(formats), data[:40].decode("utf-8", "replace").strip()
    remedy = "Fetch it again; if that does not help, it needs another version of blendp."
    try:
        value = json.loads(data)
        canonical_again = canonical_json(value) if isinstance(value, dict) else b""
    except (UnicodeError, ValueError, RecursionError) as error:
        raise ParameterError(what, beginning, f"a {form} document", remedy) from error
    if not isinstance(value, dict) or value.get("format") not in formats:
        raise ParameterError(what, beginning, f"a {form} document", remedy)
    if canonical_again != data:
        raise ParameterError(what, beginning, "in canonical form", remedy)
    return value


def sha256(data: bytes) -> str:
    """The name of these bytes: 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def is_sha256(value: object) -> bool:
    """Whether this is such a name, in its one spelling."""
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None
