"""Outputs appear whole or not at all; nothing is destroyed by accident."""

import errno
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from blendp import leftovers, outputs
from blendp.errors import OutputExistsError
from blendp.leftovers import FolderName, hold_folder
from blendp.outputs import whole

OWN = ("a.txt",)


def write(target: Path, text: str, *, overwrite: bool = False, directory: bool = False) -> None:
    with whole(target, overwrite=overwrite, own_files=OWN if directory else ()) as output:
        (output / "a.txt" if directory else output).write_text(text)


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
    with pytest.raises(OutputExistsError, match="overwrite=True"):
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
        with whole(target, overwrite=True, own_files=OWN if directory else ()) as output:
            (output / "a.txt" if directory else output).write_text("half")
            raise failure

    with pytest.raises(failure):
        fail()
    assert read(target) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def race() -> None:
        with whole(target, overwrite=False) as output:
            output.write_text("mine")
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


@pytest.fixture(params=["exchange", "two renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How an earlier output gives way: in one step, or in two where the file system cannot."""
    if request.param == "two renames":
        monkeypatch.setattr(outputs, "_exchange", lambda *_: False)
    return str(request.param)


def test_an_earlier_folder_is_replaced_in_one_step_where_the_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "in b").touch()
    if not outputs._exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("the system or the file system does not exchange folders")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["in b"]
    assert not outputs._exchange(tmp_path / "a", tmp_path / "nowhere")
    write(tmp_path / "out", "old", directory=True)
    moved = []
    rename = Path.rename

    def noted(path: Path, to: Path) -> Path:
        moved.append(path)
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", noted)
    write(tmp_path / "out", "new", overwrite=True, directory=True)
    assert read(tmp_path / "out") == "new"
    assert tmp_path / "out" not in moved


def test_or_in_two_where_it_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refused(*paths: Path) -> bool:
        asked.append(paths)
        return False

    monkeypatch.setattr(outputs, "_exchange", refused)
    write(tmp_path / "out", "old", directory=True)
    write(tmp_path / "out", "new", overwrite=True, directory=True)
    assert read(tmp_path / "out") == "new"
    assert len(asked) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("way")
def test_a_foreign_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "old", directory=True)

    def race() -> None:
        with whole(target, overwrite=True, own_files=OWN) as output:
            (output / "a.txt").write_text("new")
            (target / "holiday.jpg").write_text("mine")

    with pytest.raises(OutputExistsError, match=r"holiday\.jpg"):
        race()
    assert read(target) == "old"
    assert (target / "holiday.jpg").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("directory", [False, True])
@pytest.mark.parametrize("overwrite", [False, True])
def test_writers_that_race_leave_one_whole_result(directory: bool, overwrite: bool, tmp_path: Path) -> None:
    target, writers, rounds = tmp_path / "out", 4, 6
    texts = [[f"{writer}.{turn} " * 5_000 for turn in range(rounds)] for writer in range(writers)]
    ready = Barrier(writers)

    def race(own: list[str]) -> int:
        won = 0
        for text in own:
            ready.wait(60)
            try:
                write(target, text, overwrite=overwrite, directory=directory)
                won += 1
            except OutputExistsError:
                assert not overwrite
        return won

    with ThreadPoolExecutor(writers) as pool:
        won = sum(pool.map(race, texts))
    assert won == (writers * rounds if overwrite else 1)
    assert read(target) in [text for own in texts for text in own]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    name = FolderName(".out.", ".partial")
    dead, others, alike = (tmp_path / n for n in (name.new(), ".other.0123456789abcdef.partial", ".out.x.partial"))
    for folder in (dead, others, alike):
        (folder / "out").mkdir(parents=True)
    living = hold_folder(tmp_path, name)
    link = tmp_path / name.new()
    link.symlink_to(tmp_path / "elsewhere")
    write(tmp_path / "out", "new", directory=True)
    assert set(tmp_path.iterdir()) == {others, alike, living.path, link, tmp_path / "out"}
    living.remove()
    assert not living.path.exists()


def test_an_earlier_output_that_a_killed_process_put_aside_comes_back(tmp_path: Path) -> None:
    """Where an exchange takes two steps, a process may be killed between them."""
    aside = tmp_path / ".out.0123456789abcdef.partial" / "earlier-output-0"
    aside.mkdir(parents=True)
    (aside / "a.txt").write_text("old")
    with pytest.raises(OutputExistsError, match="earlier result"):
        write(tmp_path / "out", "new", directory=True)
    assert read(tmp_path / "out") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("directory", [False, True])
def test_what_the_disk_refuses_at_the_end_is_refused(
    directory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    write(target, "old", directory=directory)

    def full(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(target, "new", overwrite=True, directory=directory)
    assert caught.value.filename == str(target)
    assert read(target) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from blendp import leftovers, outputs

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def then_killed(step):
    def both(*given):
        done = step(*given)
        killed()
        return done
    return both

where = sys.argv[1]
if where == "before the exchange":
    outputs._exchange = killed
elif where == "after the exchange":
    outputs._exchange = then_killed(outputs._exchange)
else:
    outputs._exchange = lambda *_: False
    Path.rename = then_killed(Path.rename)
with outputs.whole(Path("out"), overwrite=True, own_files=("a.txt",)) as made:
    (made / "a.txt").write_text("new")
"""


@pytest.mark.parametrize("where", ["before the exchange", "after the exchange", "between two renames"])
def test_a_kill_at_the_worst_moment(where: str, tmp_path: Path) -> None:
    write(tmp_path / "out", "old", directory=True)
    command = [sys.executable, "-c", KILLED, where]
    assert subprocess.run(command, cwd=tmp_path, check=False, timeout=60).returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".out.*.partial"))) == 1
    if where == "between two renames":
        assert not (tmp_path / "out").exists(), "only here, and only until the next writer"
    else:
        assert read(tmp_path / "out") in ("old", "new")
    with pytest.raises(OutputExistsError, match="earlier result"):
        write(tmp_path / "out", "newest", directory=True)
    assert read(tmp_path / "out") in ("old", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("step", ["_locked", "is_dir"])
def test_an_interrupt_while_the_hidden_folder_is_made_leaves_none(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if step == "_locked":
        monkeypatch.setattr(leftovers, "_locked", interrupted)
    else:
        monkeypatch.setattr(Path, "is_dir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hold_folder(tmp_path, FolderName(".out.", ".partial"))
    assert os.listdir(tmp_path) == []  # noqa: PTH208
