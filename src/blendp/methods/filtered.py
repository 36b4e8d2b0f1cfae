"""Which rows of a log count, in words: the same on every result, whatever it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rows_that_count(reading: Mapping[str, Any] | None) -> str | None:
    """Which rows count, and of whom shares are then, from how the log was read; None if all rows do."""
    rows = (reading or {}).get("rows")
    if not rows:
        return None
    said = [f"{name} {rows[name]}" for name in ("where", "since", "until") if rows.get(name) is not None]
    return f"Only rows count {', '.join(said)}. Shares are of all people in the log, with such rows or without."
