"""Every named case on SQLite, many on PostgreSQL, and those of several workers there."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.service.postgres import Postgres
from tests.simulation.database import Databases
from tests.simulation.named_cases import (
    CASES,
    deletions_race_their_reports,
    deletions_while_releasing,
    release_while_batches_are_in_flight,
    same_report_at_once,
    two_releases_at_once,
)
from tests.simulation.servers import Nursery
from tests.simulation.world import World

Case = Callable[[World], None]
TOGETHER = (
    same_report_at_once,
    release_while_batches_are_in_flight,
    deletions_while_releasing,
    deletions_race_their_reports,
    two_releases_at_once,
)


_TELLING = (
    "whole_flow",
    "everywhere",
    "commit",
    "taken",
    "duplicate_ids",
    "database",
    "overtakes_a",
    "race",
    "at_once",
)
ON_POSTGRESQL = [
    case for case in CASES if "BLENDP_ALL_CASES" in os.environ or any(word in case.__name__ for word in _TELLING)
]
"""Those in which the databases differ most; all of them if BLENDP_ALL_CASES is set."""


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Databases:
    return Databases(tmp_path_factory.mktemp("sqlite"), None)


@pytest.fixture(scope="module")
def on_postgresql(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Databases:
    return Databases(tmp_path_factory.mktemp("postgres"), postgres)


def run(case: Case, nursery: Nursery, databases: Databases, workers: int = 1) -> None:
    world = World(nursery, databases, workers)
    try:
        case(world)
        world.finish()
    finally:
        world.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_on_sqlite(case: Case, nursery: Nursery, on_sqlite: Databases) -> None:
    run(case, nursery, on_sqlite)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("case", ON_POSTGRESQL, ids=lambda case: case.__name__)
def test_on_postgresql(case: Case, nursery: Nursery, on_postgresql: Databases) -> None:
    run(case, nursery, on_postgresql)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("case", TOGETHER, ids=lambda case: case.__name__)
def test_by_two_workers(case: Case, nursery: Nursery, on_postgresql: Databases) -> None:
    run(case, nursery, on_postgresql, workers=2)
