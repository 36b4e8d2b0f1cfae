"""Fixtures of the tests that start commands."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def _heeding_interrupts() -> Iterator[None]:
    """Where the tests themselves run in the background, what they start would ignore an interrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
