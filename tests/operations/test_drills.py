"""The drills of docs/operations.md, by its own commands, and what devices notice of them."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from blendp.client import Consent
from blendp.service.backup import make_backup
from tests.operations.machine import CAMPAIGN, Machine, commands
from tests.operations.versions import install_ahead


@pytest.fixture(params=["sqlite"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with Machine(tmp_path, postgres) as machine:
        machine.prepare()
        _, key = make_backup(machine.settings, tmp_path / "first.backup", with_keys=False)
        machine.environment["BACKUP_KEY"] = key.text
        machine.start()
        yield machine


both = pytest.mark.parametrize(
    "machine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))], indirect=True
)


def replayed(machine: Machine, name: str) -> str:
    """What becomes of the report that a device has sent, sent once more."""
    with machine.device(name) as device:
        (item,) = device.items
    request = Request(item.url, item.body, {"content-type": str(item.media_type)}, method=item.method)
    with urlopen(request) as answer:
        return str(json.load(answer)["outcome"])


def test_backup_drill(machine: Machine) -> None:
    (drill,) = commands("Backup drill")
    machine.report("first")
    printed = machine.run(drill)
    assert "1 client of at least 2" in printed
    assert machine.key in printed
    assert not (machine.folder / "var/lib/blendp-drill").exists()


@both
def test_after_a_loss_devices_continue(machine: Machine) -> None:
    """The copy takes the collector's place: what was in the backup is known, what was not yet sent is taken."""
    backup, restore, keys, *_ = commands("Backup drill")[0].splitlines()
    machine.report("first")
    machine.run(backup)
    with machine.device("patient") as patient:
        patient.set_consent(Consent.LOCAL)
        patient.take_part(CAMPAIGN, [("query 1", "http://site1.example")])
    machine.stop()
    shutil.move(machine.data, machine.folder / "lost")
    if machine.settings.database is not None:
        machine.change_database()
    machine.run(restore.replace("blendp-drill", "blendp"))
    machine.run(keys.replace("/var/lib/blendp/keys", "lost/keys").replace("blendp-drill", "blendp"))
    machine.start()
    with machine.device("patient") as patient:
        assert patient.send().sent == 1
    assert replayed(machine, "first") == "duplicate"
    assert "the result of 2 clients is public" in machine.run(f"blendp campaign release {CAMPAIGN} --yes")


def test_key_rotation_drill(machine: Machine) -> None:
    """Devices follow; when the old key had its day, its private part is destroyed, and nobody needs it."""
    (drill,) = commands("Key rotation drill")
    machine.report("before")
    new_key = machine.run(drill).split("clients.\n")[1].split()[0]
    assert new_key != machine.key
    machine.report("follower")
    machine.report("newcomer", knows=new_key)

    machine.stop()
    install_ahead(machine.folder / "opt/blendp-later", 40)
    machine.run("ln -sfn /opt/blendp-later /opt/blendp")
    machine.start()
    later = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=40)
    assert "In doubt" in machine.run("blendp clock show")
    assert len(list((machine.data / "keys").glob("signing-*"))) == 2
    machine.run(f"blendp clock accept {later}")
    machine.stop()
    machine.start()
    assert len(list((machine.data / "keys").glob("signing-*"))) == 1
    assert "destroy-key" in machine.run("blendp campaign audit")
    machine.report("sleeper", days_ahead=40)
    assert "the result of 4 clients is public" in machine.run(f"blendp campaign release {CAMPAIGN} --yes")
