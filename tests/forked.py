"""Commands in processes of their own, forked from one that has loaded the modules: real processes, started at once.

What a cold start loads, and how long it takes, is tested elsewhere.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "COLUMNS": "160",
    "HOME": os.environ.get("HOME", "/"),
    "BLENDP_REMEMBER": "0",
}
_MAX_MESSAGE = 1 << 16
_LATE = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "pandas", "pyarrow.dataset", "pydantic")
"""What libraries load when they are first used: DuckDB looks for pandas, for instance."""

OF_COLLECTORS = (
    "alembic.command",
    "anyio._backends._asyncio",
    "blendp.cli.app",
    "blendp.cli.campaign.status",
    "blendp.cli.migrate",
    "blendp.cli.restore",
    "blendp.service.bounded_http",
    "blendp.service.migration",
    "blendp.service.server",
    "httptools",
    "httpx",
    "psycopg",
    "pyarrow.dataset",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
)
"""What a collector and its operator's commands load, now or later."""


class Command:
    """A forked ``blendp``, which can be signalled and waited for as a process of :mod:`subprocess`."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._parent = parent
        self._ended = os.pidfd_open(pid)

    def send_signal(self, number: int) -> None:
        signal.pidfd_send_signal(self._ended, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def ends_within(self, seconds: float) -> bool:
        return self.returncode is not None or bool(select.select([self._ended], [], [], seconds)[0])

    def poll(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        if self.returncode is None and self.ends_within(0):
            self.returncode = int(self._parent.ask({"reap": self.pid})["code"])
            os.close(self._ended)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; it is killed after so many seconds, which is an error."""
        if not (in_time := timeout is None or self.ends_within(timeout)):
            self.kill()
        if self.returncode is None:
            select.select([self._ended], [], [])
        code = self.poll()
        assert code is not None
        if not in_time:
            raise subprocess.TimeoutExpired("blendp", timeout or 0.0)
        return code


class Parent:
    """A process with modules loaded, which forks commands."""

    def __init__(self, *modules: str, source: Path | None = None) -> None:
        """With these modules, all of the command line if none is named; of the package in this folder, if it is given.

        Several workers are no matter for it: a collector's metrics decide when they are loaded how they are added up.
        """
        self._socket, theirs = socket.socketpair()
        self._folder = tempfile.TemporaryDirectory(prefix="forks-")
        self.address = f"{self._folder.name}/socket"
        with theirs, socket.socket(socket.AF_UNIX) as shells:
            shells.bind(self.address)
            shells.listen()
            passed = [theirs.fileno(), shells.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", *map(str, passed), *modules],
                cwd=Path(__file__).parents[1],
                env={**os.environ, **({} if source is None else {"PYTHONPATH": str(source)})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=passed,
            )
        atexit.register(self.close)

    def start(
        self,
        arguments: list[str],
        cwd: Path,
        env: Mapping[str, str],
        files: list[IO[bytes]],
        descriptors: tuple[int, int] | None = None,
    ) -> Command:
        """A command with these as its standard input, output and error, and with these limits of file descriptors."""
        request = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "descriptors": descriptors}
        return Command(self, self.ask(request, [file.fileno() for file in files])["pid"])

    def ask(self, request: dict[str, Any], files: list[int] | None = None) -> dict[str, int]:
        socket.send_fds(self._socket, [json.dumps(request).encode()], files or [])
        reply: dict[str, int] = json.loads(self._socket.recv(_MAX_MESSAGE))
        return reply

    def close(self) -> None:
        self._socket.close()
        self._process.wait()
        self._folder.cleanup()


@cache
def parent() -> Parent:
    """The one of this process of tests."""
    return Parent()


@cache
def parent_of_collectors() -> Parent:
    """The one of this process of tests that has loaded what collectors and their operators need."""
    return Parent(*OF_COLLECTORS)


def run(
    *arguments: str, cwd: Path, env: Mapping[str, str] = ENVIRONMENT, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """What ``blendp`` with these arguments says, and its exit code."""
    with Path(os.devnull).open("rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = parent().start(list(arguments), cwd, env, [nothing, out, err]).wait(timeout)
        texts = [_text(file) for file in (out, err)]
    return subprocess.CompletedProcess(["blendp", *arguments], code, *texts)


FORK_CLIENT = f'"{sys.executable}" -SEs "{Path(__file__).parent / "fork_client.py"}" "$@"'
SHELL_FUNCTION = f"blendp() {{ {FORK_CLIENT}; }}\n"
"""``blendp`` for scripts of a shell whose environment is :func:`shell_environment`."""


def shell_environment(forked_by: Parent | None = None) -> dict[str, str]:
    """What tells the shell's ``blendp`` where to have itself forked."""
    return {"BLENDP_TEST_FORKS": (forked_by or parent()).address}


def write_program(path: Path, forked_by: Parent) -> None:
    """A program ``blendp`` that has itself forked there."""
    path.write_text(f'#!/bin/sh\nBLENDP_TEST_FORKS="{forked_by.address}" exec {FORK_CLIENT}\n')
    path.chmod(0o755)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _fork_on_demand(connection: socket.socket, shells: socket.socket) -> list[str]:
    """Answer until the other side is gone; in a forked process, the arguments of its command."""
    waiting: set[int] = set()
    while True:
        ready, _, _ = select.select([connection, shells], [], [])
        if shells in ready:
            waiting = {pid for pid in waiting if not os.waitpid(pid, os.WNOHANG)[0]}
            shell, _ = shells.accept()
            with shell:
                if not (pid := os.fork()):
                    connection.close()
                    shells.close()
                    return _fork_for_shell(shell)
            waiting.add(pid)
            continue
        message, files, _, _ = socket.recv_fds(connection, _MAX_MESSAGE, 3)
        if not message:
            sys.exit()
        request = json.loads(message)
        if "reap" in request:
            _, status = os.waitpid(request["reap"], 0)
            reply = {"code": os.waitstatus_to_exitcode(status)}
        elif pid := os.fork():
            reply = {"pid": pid}
        else:
            connection.close()
            shells.close()
            _become(request, files)
            return list(request["arguments"])
        for number in files:
            os.close(number)
        connection.send(json.dumps(reply).encode())


def _fork_for_shell(shell: socket.socket) -> list[str]:
    """In a forked process, the arguments of its command; the one that forks it sends its exit code, and ends.

    The command is terminated if its shell's process says so, and killed if that is gone.
    """
    message, files, _, _ = socket.recv_fds(shell, _MAX_MESSAGE, 3)
    request = json.loads(message)
    if pid := os.fork():
        command = os.pidfd_open(pid)
        while command not in select.select([command, shell.fileno()], [], [])[0]:
            signal.pidfd_send_signal(command, signal.SIGTERM if (there := shell.recv(1)) else signal.SIGKILL)
            if not there:
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        shell.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    shell.close()
    _become(request, files)
    return list(request["arguments"])


def _become(request: dict[str, Any], files: list[int]) -> None:
    for standard, number in enumerate(files):
        os.dup2(number, standard)
        os.close(number)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    tempfile.tempdir = None
    if descriptors := request.get("descriptors"):
        resource.setrlimit(resource.RLIMIT_NOFILE, descriptors)


def _load() -> None:
    """All that commands load, now or later: those of the command line, pages, plots, and what the package names."""
    import pkgutil

    import blendp
    import blendp.cli
    import blendp.cli.app
    import blendp.render

    for package in (blendp.cli, blendp.render):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in _LATE:
        importlib.import_module(name)
    for name in blendp.__all__:
        getattr(blendp, name)


def _serve() -> None:
    connection, shells = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    if modules := sys.argv[3:]:
        for name in modules:
            importlib.import_module(name)
    else:
        _load()
    from blendp.cli import command

    gc.freeze()
    sys.argv = ["blendp", *_fork_on_demand(connection, shells)]
    command()


if __name__ == "__main__":
    _serve()
