"""Outputs appear whole or not at all; nothing is destroyed by accident."""

import os
from pathlib import Path

import pytest

from blendp.errors import OutputExistsError
from blendp.outputs import whole

OWN = ("a.txt",)


def write(target: Path, text: str, *, overwrite: bool = False, directory: bool = False) -> None:
    with whole(target, overwrite=overwrite, own_files=OWN if directory else ()) as made:
        (made / "a.txt" if directory else made).write_text(text)


def read(target: Path) -> str:
    return (target / "a.txt" if target.is_dir() else target).read_text()


@pytest.mark.parametrize("directory", [False, True])
def test_an_output_appears_with_its_parents_and_without_traces(directory: bool, tmp_path: Path) -> None:
    target = tmp_path / "new" / "out"
    write(target, "new", directory=directory)
    assert read(target) == "new"
    assert [path.name for path in target.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("directory", [False, True])
def test_an_earlier_output_is_replaced_only_when_told(directory: bool, tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "old", directory=directory)
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write(target, "new", directory=directory)
    assert read(target) == "old"
    write(target, "new", overwrite=True, directory=directory)
    assert read(target) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("directory", [False, True])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, ValueError])
def test_a_failure_leaves_no_trace_and_keeps_the_old(
    failure: type[BaseException], directory: bool, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    write(target, "old", directory=directory)

    def fail() -> None:
        with whole(target, overwrite=True, own_files=OWN if directory else ()) as made:
            (made / "a.txt" if directory else made).write_text("half")
            raise failure

    with pytest.raises(failure):
        fail()
    assert read(target) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def race() -> None:
        with whole(target, overwrite=False) as made:
            made.write_text("mine")
            target.write_text("theirs")

    with pytest.raises(OutputExistsError):
        race()
    assert target.read_text() == "theirs"


def test_kinds_are_not_confused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputExistsError, match="is a file"):
        write(tmp_path / "file", "new", overwrite=True, directory=True)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputExistsError, match="is a directory"):
        write(tmp_path / "folder", "new", overwrite=True)
    (tmp_path / "folder" / "holiday.jpg").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"holiday\.jpg"):
        write(tmp_path / "folder", "new", overwrite=True, directory=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(OutputExistsError, match="current directory"):
        write(Path(), "new", overwrite=True, directory=True)


@pytest.mark.parametrize("directory", [False, True])
def test_links_are_followed(directory: bool, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    write(link, "through a dangling link", directory=directory)
    write(link, "again", overwrite=True, directory=directory)
    assert read(real) == "again"
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("directory", [False, True])
def test_a_folder_that_cannot_be_written_to_is_refused_at_once(
    directory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(PermissionError, match="cannot be written to"):
        write(tmp_path / "new" / "out", "x", directory=directory)
    assert list(tmp_path.iterdir()) == []
