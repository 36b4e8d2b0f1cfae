"""A PostgreSQL server that these tests stop and start as they like, and a nursery of collectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.conftest import postgres
from tests.simulation.servers import Nursery

__all__ = ["nursery", "postgres"]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Starts collectors fast."""
    with Nursery() as nursery_process:
        yield nursery_process
