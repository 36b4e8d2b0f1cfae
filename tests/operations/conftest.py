"""Fixtures of the drills."""

from tests.service.conftest import postgres

__all__ = ["postgres"]
