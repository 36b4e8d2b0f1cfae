"""Upgrade and roll-back by the commands of docs/operations.md: two versions of blendp, real collectors and devices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked import Parent
from tests.operations.machine import CAMPAIGN, Machine, commands
from tests.operations.versions import NEXT, THIS, install, next_version

OLD, NEW = "/opt/blendp-old/bin/blendp", "/opt/blendp-new/bin/blendp"


@pytest.fixture(scope="session")
def later(tmp_path_factory: pytest.TempPathFactory) -> Parent:
    """The next version."""
    return next_version(tmp_path_factory.mktemp("later"))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def machine(request: pytest.FixtureRequest, tmp_path: Path, later: Parent) -> Iterator[Machine]:
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with Machine(tmp_path, postgres) as machine:
        install(tmp_path / "opt/blendp-new", later)
        machine.prepare()
        yield machine


def clients(machine: Machine) -> int:
    status = json.loads(machine.run(f"blendp campaign status {CAMPAIGN} --json"))
    return int(status["clients"]["reports"])


def test_up_and_back_without_losing_a_report(machine: Machine) -> None:
    (up,), (back,) = commands("Upgrade"), commands("Roll back, and keep everything")
    machine.start()
    machine.report("before")
    in_use = machine.run(f"{NEW} migrate --data /var/lib/blendp --backup early.backup", code=5)
    assert "stop the collector" in in_use

    assert f"from schema {THIS} to {NEXT}" in machine.run(up)
    machine.report("between")
    assert clients(machine) == 2
    refused = machine.run(f"{OLD} serve --data /var/lib/blendp --port 8322", code=5)
    assert f"The database has schema {NEXT}, which blendp" in refused
    assert f"blendp migrate --to {THIS}" in refused

    assert f"from schema {NEXT} to {THIS}" in machine.run(back.replace("0001", THIS))
    machine.report("after")
    assert "3 clients" in machine.run(f"blendp campaign release {CAMPAIGN} --yes")
    acts = [entry["act"] for entry in json.loads(machine.run("blendp campaign audit --json"))["entries"]]
    assert acts[:3] == ["release", "migrate", "migrate"]


def test_back_to_the_backup(machine: Machine) -> None:
    (back,) = commands("Roll back to the backup")
    unmigrated = machine.run(f"{NEW} serve --data /var/lib/blendp --port 8322", code=5)
    assert f"has schema {THIS}" in unmigrated
    assert "then run blendp migrate" in unmigrated
    machine.run(f"{NEW} migrate --data /var/lib/blendp --backup /var/lib/blendp-backup/before.backup")
    if machine.settings.database is not None:
        restore = back.splitlines()[1]
        assert f"has schema {NEXT}" in machine.run(restore, code=5)
        machine.change_database()
        back = back.replace(" --overwrite", "")
    machine.run(back)
    machine.report("after")
    assert clients(machine) == 1
