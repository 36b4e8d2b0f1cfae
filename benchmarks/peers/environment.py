"""Environments for the peers, made when they are first needed, and their jobs run in them.

The peers exclude each other (one pins polars, one NumPy 1, one pandas 1), so each has a folder of its own under
``.benchmarks/environments``. The versions are those of ``requirements-<environment>.txt`` beside this file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".benchmarks"
TIMEOUT = 600.0
_INSTALLING = 1800.0


class PeerError(Exception):
    """Why a peer has no result, in one line."""


@dataclass(frozen=True)
class Peer:
    """One job of one library."""

    name: str
    """As the table shows it."""

    environment: str | None
    """Whose requirements it needs; None for the environment of the benchmark itself."""

    package: str
    """The library's name among them."""

    module: str
    """The script in this folder."""

    options: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The pinned version, or the installed one."""
        if self.environment is None:
            return version(self.package)
        for line in _requirements(self.environment).read_text().splitlines():
            name, _, pinned = line.partition("==")
            if name.lower() == self.package.lower():
                return pinned
        raise ValueError(f"{self.package} is not pinned in {_requirements(self.environment).name}")


@dataclass(frozen=True)
class Answer:
    """What a peer printed: how long its job took, without starting and importing, and its result."""

    seconds: float
    result: Mapping[str, Any]


def cache() -> Path:
    """The folder for environments and data, which ignores itself in version control."""
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    return CACHE


def ask(peer: Peer, arguments: Sequence[str], timeout: float = TIMEOUT) -> Answer:
    """Run a peer's job; raises :class:`PeerError` if it cannot be installed, fails or takes too long."""
    own = peer.environment is None
    python = Path(sys.executable) if peer.environment is None else _prepare(peer.environment)
    command = [str(python), "-m", f"benchmarks.peers.{peer.module}", *arguments, *peer.options]
    environment = {name: value for name, value in os.environ.items() if own or not name.startswith("PYTHON")}
    started = time.perf_counter()
    code, output, errors = _run(command, timeout, environment)
    if code is None:
        raise PeerError(f"> {timeout:g} s")
    if code:
        raise PeerError(f"failed after {time.perf_counter() - started:.0f} s: {_last_line(errors)}")
    answer = json.loads(_last_line(output))
    return Answer(float(answer.pop("seconds")), answer)


def attempt(peer: Peer, arguments: Sequence[str], timeout: float = TIMEOUT) -> Answer | PeerError:
    """What :func:`ask` answers or raises, as a value: a peer that fails does not end the benchmark."""
    try:
        return ask(peer, arguments, timeout)
    except PeerError as error:
        return error


def _requirements(environment: str) -> Path:
    return Path(__file__).with_name(f"requirements-{environment}.txt")


def _prepare(environment: str) -> Path:
    """The interpreter of an environment, made anew if its requirements have changed."""
    requirements = _requirements(environment)
    stamp = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    folder = cache() / "environments" / environment
    python, done = folder / "bin" / "python", folder / "complete"
    if done.exists() and done.read_text() == stamp:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print(f"installing {requirements.name} ...", file=sys.stderr, flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)]
    for command in ([sys.executable, "-m", "venv", str(folder)], install):
        code, _, errors = _run(command, _INSTALLING, dict(os.environ))
        if code != 0:
            why = "took too long" if code is None else _last_line(errors)
            raise PeerError(f"does not install: {why}")
    done.write_text(stamp)
    return python


def _run(command: Sequence[str], timeout: float, environment: Mapping[str, str]) -> tuple[int | None, str, str]:
    """Exit code (None after the timeout), output and errors of a command, whose children end with it."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, "", ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, output, errors


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
