"""Fixtures that tests of the service share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import psycopg
import pytest

from tests.service.postgres import Postgres, temporary_folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server; tests that use it are of the xdist group "postgres"."""
    server = Postgres(temporary_folder())
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:  # or a start after a crash takes long
        connection.execute("ALTER SYSTEM SET recovery_init_sync_method = 'syncfs'")
    yield server
    server.stop()
    shutil.rmtree(server.folder)
