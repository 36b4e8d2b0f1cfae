"""Collectors under load, killed at random moments: nothing that was acknowledged is lost, nothing counts twice."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from blendp.service.clock import utc_today
from tests.service.postgres import Postgres
from tests.simulation.database import Databases, read
from tests.simulation.load import Load
from tests.simulation.named_cases import published
from tests.simulation.servers import Nursery, Server
from tests.simulation.world import Held, World

KILLS, KILLS_OF_WORKERS, KILLS_OF_COMMAND = 100, 20, 3
_SEED = 20261116


def report_ids(server: Server) -> set[bytes]:
    """The ids of all reports that the database holds, each once."""
    rows = read(server.data, server.database, "SELECT report_id, COUNT(*) FROM report GROUP BY report_id")
    assert all(count == 1 for _, count in rows)
    return {bytes(report_id) for report_id, _ in rows}


def settle(world: World, load: Load) -> None:
    """Everything is sent until it is acknowledged, and the release counts it all, once."""
    load.retry()
    assert report_ids(world.server) == set(load.sent)
    world.model.reports = {report_id: Held(report) for report_id, report in load.sent.items()}
    world.model.accepted = len(load.sent)
    world.check()
    world.release()
    assert world.model.state == "released"
    assert load.answers
    assert load.silences, "The load never met a dead server."


def test_killed_a_hundred_times_on_sqlite(nursery: Nursery, tmp_path: Path) -> None:
    chance = random.Random(_SEED)
    world = World(nursery, Databases(tmp_path, None))
    published(world)
    server = world.server
    try:
        with Load(world, _SEED) as load:
            for kill in range(KILLS):
                if chance.random() < 0.8:
                    server.wait(server.pids)
                time.sleep(chance.uniform(0.0, 0.05))
                acknowledged = load.so_far()
                server.kill()
                server.start_all()
                if kill % 10 == 9:
                    assert acknowledged <= report_ids(server)
        server.start()
        assert load.acknowledged <= report_ids(server) <= set(load.sent)
        settle(world, load)
        world.finish()
        print(f"{KILLS} kills, {len(load.sent)} reports, {load.answers} answers, {load.silences} silences")
    finally:
        world.close()
    world.integrity()


@pytest.mark.xdist_group("postgres")
def test_workers_killed_on_postgresql(nursery: Nursery, postgres: Postgres, tmp_path: Path) -> None:
    chance = random.Random(_SEED)
    world = World(nursery, Databases(tmp_path, postgres), workers=2)
    published(world)
    server = world.server
    try:
        with Load(world, _SEED) as load:
            for _ in range(KILLS_OF_WORKERS):
                server.wait(server.pids)
                time.sleep(chance.uniform(0.05, 0.2))
                acknowledged = load.so_far()
                server.kill(None if chance.random() < 0.3 else chance.choice(server.pids))
                server.start_all()
                assert acknowledged <= report_ids(server)
        server.start()
        assert load.acknowledged <= report_ids(server) <= set(load.sent)
        settle(world, load)
        world.finish()
        print(f"{KILLS_OF_WORKERS} kills, {len(load.sent)} reports, {load.answers} answers, {load.silences} silences")
    finally:
        world.close()


def test_command_killed(nursery: Nursery, tmp_path: Path) -> None:
    """The command itself, as people start it."""
    chance = random.Random(_SEED)
    world = World(nursery, Databases(tmp_path, None), today=utc_today())
    published(world)
    world.server.kill()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [str(Path(sys.executable).with_name("blendp")), "serve", "--rate", "0", "--port", str(port)]
    try:
        with Load(world, _SEED, port) as load:
            for _ in range(KILLS_OF_COMMAND):
                before = load.answers
                with (
                    (tmp_path / "command").open("ab") as log,
                    subprocess.Popen([*program, "--data", str(world.server.data)], stdout=log, stderr=log) as command,
                ):
                    deadline = time.monotonic() + 60
                    while load.answers == before:
                        assert command.poll() is None, (tmp_path / "command").read_text()
                        assert time.monotonic() < deadline
                        time.sleep(0.01)
                    time.sleep(chance.uniform(0.0, 0.3))
                    command.kill()
        world.server.start()
        assert load.acknowledged <= report_ids(world.server) <= set(load.sent)
        settle(world, load)
        world.finish()
    finally:
        world.close()
