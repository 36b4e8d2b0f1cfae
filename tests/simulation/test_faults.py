"""The disk is full, the database is gone: refusals say when to come back, nothing is lost, and it goes on."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service.postgres import Postgres
from tests.simulation.database import Databases
from tests.simulation.named_cases import published, ready, released
from tests.simulation.servers import Answer, Nursery
from tests.simulation.world import BATCH, NEW, PEOPLE, REPLAY, SINGLE, World


@pytest.fixture
def on_sqlite(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from _world(nursery, Databases(tmp_path_factory.mktemp("sqlite"), None))


@pytest.fixture
def on_postgresql(nursery: Nursery, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from _world(nursery, Databases(tmp_path_factory.mktemp("postgres"), postgres))


def _world(nursery: Nursery, databases: Databases) -> Iterator[World]:
    world = World(nursery, databases)
    try:
        yield world
    finally:
        world.close()


def send_new(world: World, count: int = 1, form: str = BATCH) -> Answer:
    """New reports, kept by the model if they are acknowledged."""
    drawn = [world.draw(NEW, 0) for _ in range(count)]
    body, kind, path = world.body(form, drawn)
    answer = world.server.client.ask("PUT" if form == SINGLE else "POST", path, body, kind)
    if answer.status in (200, 201):
        for _, report in drawn:
            assert world.model.keep(report)
            world.sent.append(report)
    return answer


def ask(world: World, method: str, path: str, body: object = None, token: str | None = None) -> Answer:
    data, kind = (None, None) if body is None else (json.dumps(body).encode(), "application/json")
    return world.server.client.ask(method, path, data, kind, token)


def assert_refused(answer: Answer, status: int, problem: str) -> None:
    assert (answer.status, answer.problem) == (status, problem), answer
    assert int(answer.headers["retry-after"]) > 0


def fill(world: World, form: str = BATCH) -> int:
    """Send until the disk is full; how many were kept."""
    for kept in range(1000):
        answer = send_new(world, 1 if form == SINGLE else 20, form)
        if answer.status not in (200, 201):
            assert_refused(answer, 507, "storage-full")
            return kept
    raise AssertionError("The disk never was full.")


@pytest.mark.parametrize("form", [SINGLE, BATCH])
def test_full_disk_is_told_and_forgotten_when_there_is_space_on_sqlite(on_sqlite: World, form: str) -> None:
    world = on_sqlite
    ready(world)
    pids = list(world.server.pids)
    for turn in range(2):
        world.control.full = True
        fill(world, form)
        assert ask(world, "GET", "/health/live").status == 200
        if turn == 0:
            assert_refused(ask(world, "GET", "/health/ready"), 503, "busy")
        world.check()
        world.control.full = False
        assert send_new(world, 1 if form == SINGLE else 20, form).status in (200, 201)
        world.check()
    assert world.server.pids == pids
    world.integrity()
    released(world)
    world.finish()


def test_release_on_a_full_disk_is_refused_and_works_afterwards_on_sqlite(on_sqlite: World) -> None:
    """The door is closed by then, and opened again; nothing is shown, nothing deleted."""
    world = on_sqlite
    published(world)
    world.control.full = True
    fill(world)
    assert_refused(ask(world, "POST", f"{world.path}/release", token=world.token), 507, "storage-full")
    world.check()
    world.control.full = False
    released(world)
    world.finish()


def test_enrolments_on_a_full_disk_are_all_made_or_none_on_sqlite(on_sqlite: World) -> None:
    world = on_sqlite
    world.control.full = True
    enrolled = 0
    for _ in range(100):
        answer = ask(world, "POST", f"{world.path}/enrolments", {"count": 100}, world.token)
        if answer.status != 201:
            break
        enrolled += 100
    assert_refused(answer, 507, "storage-full")
    counts = ask(world, "GET", f"{world.path}/status", token=world.token).json["opt_in"]
    assert counts["enrolments"] == PEOPLE + enrolled
    world.control.full = False
    assert ask(world, "POST", f"{world.path}/enrolments", {"count": 100}, world.token).status == 201


@pytest.mark.xdist_group("postgres")
def test_full_disk_on_postgresql(on_postgresql: World) -> None:
    """PostgreSQL says so when it commits; here a fault says it in its words."""
    world = on_postgresql
    ready(world)
    world.control.full = True
    for form in (SINGLE, BATCH):
        assert_refused(send_new(world, 1, form), 507, "storage-full")
    assert_refused(ask(world, "POST", f"{world.path}/release", token=world.token), 507, "storage-full")
    assert ask(world, "GET", "/health/ready").json["reason"] == "storage-full"
    world.control.full = False
    world.check()
    assert send_new(world, 3).status == 200
    wait_until(lambda: ask(world, "GET", "/health/ready").status == 200)
    world.check()
    released(world)
    world.finish()


def test_files_that_may_not_grow(on_sqlite: World) -> None:
    """The operating system refuses to let any file grow: an error of the disk, told as busy, and it passes."""
    world = on_sqlite
    ready(world)
    (pid,) = world.server.pids
    largest = max(path.stat().st_size for path in world.server.data.glob("collector.db*"))
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest, before[1]))
    answers = [send_new(world, 20) for _ in range(60)]
    refused = [answer for answer in answers if answer.status != 200]
    assert refused
    for answer in refused:
        assert answer.status in (503, 507), answer
        assert int(answer.headers["retry-after"]) > 0
    assert ask(world, "GET", "/health/live").status == 200
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert send_new(world, 20).status == 200
    world.check()
    assert world.server.pids == [pid]
    world.restart(graceful=False)
    released(world)
    world.finish()


def assert_gone(world: World) -> None:
    """What a collector says whose database is gone."""
    for form in (SINGLE, BATCH):
        assert_refused(send_new(world, 1, form), 503, "busy")
    assert_refused(ask(world, "GET", "/health/ready"), 503, "busy")
    assert ask(world, "GET", "/health/live").status == 200
    for path in ("/v1/keys", "/v1/campaigns", f"{world.path}/manifest", f"{world.path}/list"):
        assert_refused(ask(world, "GET", path), 503, "busy")
    for verb in ("publish", "release"):
        assert_refused(ask(world, "POST", f"{world.path}/{verb}", token=world.token), 503, "busy")
    deletion = {"deletion_key": "00" * 32}
    assert_refused(ask(world, "POST", f"{world.path}/deletions", deletion), 503, "busy")


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_database_goes_and_comes_back(on_postgresql: World, postgres: Postgres, end: str) -> None:
    world = on_postgresql
    ready(world)
    pids = list(world.server.pids)
    getattr(postgres, end)()
    try:
        if end == "kill":
            wait_until(lambda: ask(world, "GET", "/health/ready").status == 503)
        assert_gone(world)
    finally:
        start(postgres)
    assert send_new(world, 3).status == 200
    wait_until(lambda: ask(world, "GET", "/health/ready").status == 200)
    world.check()
    world.upload(BATCH, [REPLAY] * 3)
    assert world.server.pids == pids
    released(world)
    world.finish()


@pytest.mark.xdist_group("postgres")
def test_database_goes_during_a_release(on_postgresql: World, postgres: Postgres) -> None:
    """In the last step of a release: it is refused, nothing is half done, and the next one works.

    Until then, or until the collector keeps house, the campaign cannot be opened again, and asks to come back."""
    world = on_postgresql
    ready(world)
    world.control.hold = True
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, world, "POST", f"{world.path}/release", token=world.token)
        wait_until(lambda: world.control.holding)
        postgres.stop()
        world.control.hold = False
        try:
            assert_refused(asked.result(), 503, "busy")
        finally:
            start(postgres)
    world.model.state = "signing"
    world.check()
    body, kind, path = world.body(BATCH, [world.draw(NEW, 0)])
    assert_refused(world.server.client.ask("POST", path, body, kind), 503, "busy")
    assert_refused(
        world.server.client.ask("POST", f"{world.path}/deletions", world.deletion(1), "application/json"), 503, "busy"
    )
    world.model.state = "reporting"
    world.restart(graceful=False)
    world.upload(BATCH, [NEW, REPLAY])
    released(world)
    world.finish()


def start(postgres: Postgres) -> None:
    """Start, also after a kill that has left processes behind for a moment."""
    wait_until(lambda: _started(postgres))


def _started(postgres: Postgres) -> bool:
    try:
        postgres.start()
    except subprocess.CalledProcessError:
        return False
    return True


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
