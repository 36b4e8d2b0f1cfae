"""Databases as earlier versions left them, as SQL text, are continued by this version: on both databases."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from blendp.headlist import HeadList
from blendp.render.release.document import release_of_document
from blendp.service.campaigns import find, overview, payload
from blendp.service.collector import CollectorService
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store import migrations
from blendp.service.store.migrations import known_schemas
from blendp.wire import Manifest
from tests.operations.freeze import HERE, REPORTS, take
from tests.service.helpers import on, reports
from tests.service.postgres import Postgres, programs
from tests.unit.cli.test_serve import blendp

FOLDERS = sorted(HERE.glob("schema_*"))
NEW = 5


def test_every_schema_is_kept() -> None:
    assert [folder.name.removeprefix("schema_") for folder in FOLDERS] == list(known_schemas())


def test_files_are_called_by_the_schema_that_they_make() -> None:
    steps = ScriptDirectory(str(Path(migrations.__file__).parent)).walk_revisions()
    assert [step.revision for step in steps][::-1] == list(known_schemas())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def test_it_continues(request: pytest.FixtureRequest, tmp_path: Path, folder: Path, kind: str) -> None:
    """Up, back to where it was, and up again: then everything is there."""
    settings = Settings(tmp_path / "data", _loaded(request, kind, folder, tmp_path))
    old, new = folder.name.removeprefix("schema_"), known_schemas()[-1]
    for number, schema in enumerate((new, old, new) if old != new else (new,)):
        _migrate(settings, schema, tmp_path / f"{number}.backup")
    collector = CollectorService.open(settings, on())
    states = {one.campaign: one.state for one in overview(collector.store)}
    assert states == {"opting": "opt-in", "running": "reporting", "over": "released"}
    assert collector.lifecycle.publish("opting").records > 0
    with collector.store.reading() as connection:
        number = find(connection, "running").number
        manifest = Manifest.from_bytes(payload(connection, number, "manifest") or b"")
        head_list = HeadList.from_bytes(payload(connection, number, "list") or b"")
        over = find(connection, "over").number
        result, of_result = (payload(connection, over, kind) or b"" for kind in ("release", "list"))
    read = release_of_document(json.loads(result), HeadList.from_bytes(of_result))
    assert read.groups.client == REPORTS
    assert read.how_listed.startswith("The list was made of one record of each opt-in person.")
    assert set(take(collector, "running", reports(manifest, head_list, NEW))) == {"accepted"}
    _, release = collector.lifecycle.release("running")
    collector.close()
    assert release.groups.client == REPORTS + NEW


def _migrate(settings: Settings, schema: str, backup: Path) -> None:
    database = () if settings.database is None else ("--database", settings.database)
    code, _, said = blendp("migrate", "--data", str(settings.data), *database, "--backup", str(backup), "--to", schema)
    assert code == 0, said


def _loaded(request: pytest.FixtureRequest, kind: str, folder: Path, tmp_path: Path) -> str | None:
    """The address of the database, None for the embedded one; keys are where they were."""
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "keys").mkdir(mode=0o700)
    for name, key in json.loads((folder / f"{kind}.keys.json").read_text()).items():
        file = tmp_path / "data" / "keys" / name
        file.touch(mode=0o600)
        file.write_text(f"{key}\n")
    if kind == "sqlite":
        with closing(sqlite3.connect(tmp_path / "data" / DATABASE_FILE)) as connection:
            connection.executescript((folder / "sqlite.sql").read_text())
        return None
    server: Postgres = request.getfixturevalue("postgres")
    database = server.new_database()
    command = [str(programs() / "psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", database]
    with (folder / "postgresql.sql").open() as script:
        subprocess.run(command, stdin=script, check=True)
    return database
