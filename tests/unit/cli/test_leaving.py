"""A command's process ends at once, and still does all that Python does at its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

START = """
import atexit, sys, threading, time
from blendp.cli.leaving import leave
"""


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def ended(code: str, stdout: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A process that has run this, its output in a file if one is named."""
    command = [sys.executable, "-c", START + code]
    if stdout is None:
        return subprocess.run(command, env=BUFFERED, capture_output=True, text=True, check=False, timeout=60)
    with stdout.open("w") as file:
        return subprocess.run(
            command, env=BUFFERED, stdout=file, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )


def test_exit_functions_are_called_and_all_output_is_written() -> None:
    process = ended("atexit.register(print, 'tidied'); print('result'); print('remark', file=sys.stderr); leave(7)")
    assert (process.returncode, process.stdout, process.stderr) == (7, "result\ntidied\n", "remark\n")


def test_nothing_is_given_back_piece_by_piece() -> None:
    given_back = "class Kept:\n    def __del__(self): print('given back')\nkept = Kept()\n"
    assert ended(given_back).stdout == "given back\n"
    assert ended(given_back + "leave(0)").stdout == ""


def test_a_thread_that_is_still_at_work_is_waited_for() -> None:
    slow = "threading.Thread(target=lambda: (time.sleep(0.2), print('written'))).start(); leave(0); sys.exit(3)"
    process = ended(slow)
    assert (process.returncode, process.stdout) == (3, "written\n")


def test_a_thread_that_nobody_waits_for_holds_nothing_up() -> None:
    endless = "threading.Thread(target=lambda: time.sleep(600), daemon=True).start(); leave(4)"
    assert ended(endless).returncode == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here refuses what is written")
def test_output_that_cannot_be_written_is_told() -> None:
    process = ended("print('result'); leave(0)", Path("/dev/full"))
    assert process.returncode == 120
    assert "No space left on device" in process.stderr


@pytest.mark.parametrize(("arguments", "code"), [("--version", 0), ("--help", 0), ("run nothing.csv", 3)])
def test_a_process_without_output_ends_too(arguments: str, code: int) -> None:
    command = f'exec "{sys.executable}" -m blendp {arguments} >&- 2>&-'
    assert subprocess.run(["sh", "-c", command], check=False, timeout=60).returncode == code


UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a small run wrote."""
    root = tmp_path_factory.mktemp("lost")
    (root / "log.csv").write_text("user,query\n" + "".join(f"u{i},goo\n" for i in range(2000)))
    done = forked.run("run", "log.csv", "--opt-in", "0.5", "--out", "out", cwd=root)
    assert done.returncode == 0, done.stderr
    return root / "out"


COMMANDS = [("--help",), ("--version",), ("run", "--help"), ("show", "RELEASE"), ("show", "RELEASE", "--json")]


def started(command: tuple[str, ...], release: Path, stdout: int, environment: dict[str, str]) -> tuple[int, str]:
    """The exit code of a command with this standard output, and what it says on standard error."""
    named = [str(release) if argument == "RELEASE" else argument for argument in command]
    program, env = [sys.executable, "-m", "blendp"], BUFFERED | environment
    done = subprocess.run([*program, *named], stdout=stdout, stderr=subprocess.PIPE, env=env, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here refuses what is written")
@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_output_that_is_lost_is_told_in_one_sentence(
    release: Path, command: tuple[str, ...], environment: dict[str, str]
) -> None:
    with Path("/dev/full").open("w") as full:
        code, said = started(command, release, full.fileno(), environment)
    assert said == (
        "Error: standard output cannot be written (No space left on device): make room, or send it elsewhere.\n"
    )
    assert code == 5


@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_closed_pipe_ends_a_command_without_a_word(
    release: Path, command: tuple[str, ...], environment: dict[str, str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert started(command, release, writing, environment) == (1, "")
    finally:
        os.close(writing)


def test_a_run_leaves_no_temporary_folder(tmp_path: Path) -> None:
    """The database is not closed when the process ends, so its folder has to be removed by an exit function."""
    log, temporary = tmp_path / "log.csv", tmp_path / "temporary"
    temporary.mkdir()
    log.write_text("user,query\n" + "".join(f"u{i},goo\n" for i in range(2000)))
    subprocess.run(
        [sys.executable, "-m", "blendp", "run", log, "--opt-in", "0.5", "--out", tmp_path / "out"],
        env={"TMPDIR": str(temporary), "HOME": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert not list(temporary.iterdir())
