"""Telling how far a run has come."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Told the name of each step as it starts."""


def silent(step: str) -> None:
    """Tell nobody."""
