"""A PostgreSQL server of the tests' own, from Debian's package, on a socket in a temporary folder."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

_SETTINGS = ("listen_addresses=", "max_connections=100", "shared_buffers=64MB", "logging_collector=off")


def programs() -> Path:
    """The folder of PostgreSQL's programs."""
    initdbs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if initdbs:
        return initdbs[-1].parent
    named = shutil.which("initdb")
    assert named is not None, "PostgreSQL is missing: run scripts/setup dev"
    return Path(named).resolve().parent


class Postgres:
    """A server that can be stopped, killed and started again; it runs as an ordinary user, as it must."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = None if os.getuid() else pwd.getpwnam("postgres").pw_name
        if self._user:
            shutil.chown(folder, self._user)
        self._numbers = itertools.count()
        self._run("initdb", "--pgdata", str(self.data), "--username", "blendp", "--auth", "trust", "--encoding", "UTF8")
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str) -> str:
        return f"postgresql://blendp@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"test{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def start(self) -> None:
        options = " ".join(f'-c "{setting}"' for setting in (*_SETTINGS, f"unix_socket_directories={self.folder}"))
        self._control("start", "--log", str(self.folder / "log"), "--options", options)

    def stop(self) -> None:
        """Go away at once, as after a crash of the machine."""
        self._control("stop", "--mode", "immediate")

    def kill(self) -> None:
        """Kill the main process; its children follow."""
        pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)

    def _control(self, verb: str, *options: str) -> None:
        self._run("pg_ctl", verb, "--wait", "--silent", "--pgdata", str(self.data), *options)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [programs() / program, *arguments],
            check=True,
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
        )


def temporary_folder() -> Path:
    """A short path that another user may enter, as sockets and PostgreSQL need."""
    folder = Path(tempfile.mkdtemp(prefix="blendp-pg-"))
    folder.chmod(0o755)
    return folder
