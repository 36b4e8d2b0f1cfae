"""Folders and files that others could read or change are refused, wherever a collector is opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from blendp.errors import ParameterError
from blendp.service.backup import make_backup
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from tests.service.postgres import Postgres
from tests.unit.cli.test_serve import blendp

STRANGER = 54_321


def new_settings(tmp_path: Path) -> Settings:
    """The settings of a collector that there is."""
    settings = Settings(tmp_path / "data")
    CollectorService.open(settings).close()
    return settings


def moved_behind_a_link(path: Path) -> None:
    elsewhere = path.parent.parent / f"elsewhere-{path.name}"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def dangling(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parent.parent / "nothing")


def only_key(data: Path) -> Path:
    (key,) = (data / "keys").iterdir()
    return key


SPOILED: dict[str, tuple[Callable[[Path], Path], Callable[[Path], None], str]] = {
    "open folder": (lambda data: data, lambda path: path.chmod(0o755), "chmod 700"),
    "folder of a group": (lambda data: data, lambda path: path.chmod(0o770), "chmod 700"),
    "folder that all may write": (lambda data: data, lambda path: path.chmod(0o702), "chmod 700"),
    "open folder of keys": (lambda data: data / "keys", lambda path: path.chmod(0o710), "chmod 700"),
    "linked folder of keys": (lambda data: data / "keys", moved_behind_a_link, "no symbolic link"),
    "linked key": (only_key, moved_behind_a_link, "neither a symbolic link"),
    "linked database": (lambda data: data / "collector.db", moved_behind_a_link, "neither a symbolic link"),
    "dangling database": (lambda data: data / "collector.db", dangling, "neither a symbolic link"),
    "linked log": (lambda data: data / "collector.db-wal", dangling, "neither a symbolic link"),
    "linked shared memory": (lambda data: data / "collector.db-shm", dangling, "neither a symbolic link"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_others_can_reach_is_refused(tmp_path: Path, name: str) -> None:
    where, spoil, complaint = SPOILED[name]
    settings = new_settings(tmp_path)
    path = where(settings.data)
    spoil(path)
    with pytest.raises(ParameterError, match=complaint) as caught:
        CollectorService.open(settings)
    assert caught.value.value == str(path)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("path", ["", "keys", "collector.db"])
def test_what_others_own_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Neither others' folders, nor folders of the user under which a command was run by mistake before."""
    settings = new_settings(tmp_path)
    own = os.lstat
    owner = own(settings.data).st_uid

    def of_a_stranger(self: Path) -> os.stat_result:
        status = own(self)
        if self != settings.data / path:
            return status
        return os.stat_result((*status[:4], STRANGER, *status[5:]))

    monkeypatch.setattr(Path, "lstat", of_a_stranger)
    with pytest.raises(ParameterError, match=f"user {STRANGER} owns it.*chown -hR {owner}") as caught:
        CollectorService.open(settings)
    assert caught.value.value == str(settings.data / path)


def test_every_command_looks(tmp_path: Path) -> None:
    settings = new_settings(tmp_path)
    _, key = make_backup(settings, tmp_path / "b.tar", with_keys=False)
    settings.data.chmod(0o755)
    data = ("--data", str(settings.data))
    for command in (
        ("serve", "--port", "0", *data),
        ("token", "create", "--name", "me", *data),
        ("key", "list", *data),
        ("backup", "--out", str(tmp_path / "c.tar"), *data),
        ("restore", str(tmp_path / "b.tar"), "--key", key.text, "--overwrite", *data),
    ):
        code, shown, printed = blendp(*command)
        assert (code, shown) == (2, ""), command
        assert f"chmod 700 {settings.data}" in printed.replace("\n", " ")
    settings.data.chmod(0o700)
    assert blendp("key", "list", *data)[0] == 0


def test_a_link_of_ones_own_to_the_folder_is_fine(tmp_path: Path) -> None:
    settings = new_settings(tmp_path)
    (tmp_path / "link").symlink_to(settings.data)
    CollectorService.open(Settings(tmp_path / "link")).close()


@pytest.mark.xdist_group("postgres")
def test_the_folder_of_a_collector_on_postgresql_is_private_too(postgres: Postgres, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "data", postgres.new_database())
    CollectorService.open(settings).close()
    assert {path.stat().st_mode & 0o777 for path in (settings.data, settings.data / "keys")} == {0o700}
    settings.data.chmod(0o750)
    with pytest.raises(ParameterError, match="chmod 700"):
        CollectorService.open(settings)
