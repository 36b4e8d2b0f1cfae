"""Collectors in processes of their own, which can be killed and started again, and a plain client of them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.service.faults import Control
from tests.simulation.database import FIRST_DAY
from tests.simulation.nursery import bound_socket

_PATIENCE = 30.0
_LOOK_SECONDS = 0.01


class NoAnswer(Exception):  # noqa: N818 - what a client sees, not an error of ours
    """The server died, or cannot be reached."""


class Nursery:
    """The process that starts collectors."""

    def __init__(self) -> None:
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.simulation.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def ask(self, **asked: Any) -> dict[str, int]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        reply: dict[str, int] = json.loads(self._process.stdout.readline())
        return reply


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str | None:
        """The last part of the problem's type."""
        if self.headers.get("content-type") != "application/problem+json":
            return None
        body = self.json
        assert body["status"] == self.status
        return str(body["type"]).rpartition(":")[2]


class Client:
    """One connection that is kept, and opened anew when need be."""

    def __init__(self, port: int, timeout: float = _PATIENCE) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def ask(
        self, method: str, path: str, body: bytes | None = None, media_type: str | None = None, token: str | None = None
    ) -> Answer:
        """The answer; raises :class:`NoAnswer` if none came."""
        headers = {"content-type": media_type} if media_type else {}
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoAnswer(repr(error)) from error

    def close(self) -> None:
        self._connection.close()


class Server:
    """A collector on a port that stays the same: one process, or several workers on PostgreSQL."""

    def __init__(self, nursery: Nursery, folder: Path, database: str | None = None, workers: int = 1) -> None:
        self.folder, self.database, self.workers = folder, database, workers
        self.data, self.log = folder / "data", folder / "log"
        self.control = Control(folder / "control")
        self.control.today = FIRST_DAY
        self._nursery = nursery
        self._kept = bound_socket(0)
        self.port: int = self._kept.getsockname()[1]
        self.pids: list[int] = []
        self.client = Client(self.port)

    def start(self) -> None:
        """Start what is missing, and wait until it answers."""
        self.wait(self.start_all())
        self.client.close()

    def wait(self, fresh: list[int]) -> None:
        """Until somebody answers; raises :class:`NoAnswer` if one of these processes dies first."""
        deadline = time.monotonic() + _PATIENCE
        while not self.answers():
            for pid in fresh:
                if self._nursery.ask(do="poll", pid=pid)["gone"]:
                    self.pids.remove(pid)
                    raise NoAnswer(self.log_text())
            assert time.monotonic() < deadline, self.log_text()
            time.sleep(_LOOK_SECONDS)

    def start_all(self) -> list[int]:
        """Start what is missing."""
        return [self._start_one() for _ in range(self.workers - len(self.pids))]

    def _start_one(self) -> int:
        asked: dict[str, Any] = {"data": str(self.data), "database": self.database, "workers": self.workers}
        files = {"log": str(self.log), "control": str(self.folder / "control")}
        self.pids.append(self._nursery.ask(do="start", port=self.port, **asked, **files)["pid"])
        return self.pids[-1]

    def answers(self) -> bool:
        """Whether somebody listens."""
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self, pid: int | None = None) -> None:
        """Kill one process, or all."""
        for one in [pid] if pid else list(self.pids):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
            self._gone(one)

    def stop(self) -> None:
        """Stop as a signal asks to; in order, or not at all."""
        for one in list(self.pids):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGTERM)
            if self._gone(one) not in (0, signal.SIGTERM):
                raise NoAnswer(self.log_text())

    def _gone(self, pid: int) -> int:
        status = self._nursery.ask(do="wait", pid=pid)["status"]
        self.pids.remove(pid)
        self.client.close()
        return status

    def died(self, within: float = _PATIENCE) -> bool:
        """Whether a process has died of itself; it is forgotten then."""
        deadline = time.monotonic() + within
        while True:
            for pid in list(self.pids):
                if self._nursery.ask(do="poll", pid=pid)["gone"]:
                    self.pids.remove(pid)
                    self.client.close()
                    return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_SECONDS)

    def close(self) -> None:
        self.kill()
        self.client.close()
        self._kept.close()
        self.control.close()

    def log_text(self) -> str:
        """The end of the log."""
        return self.log.read_text()[-2000:] if self.log.exists() else "nothing"

    def failures(self) -> list[str]:
        """Lines of the log that tell of failures."""
        if not self.log.exists():
            return []
        return [line for line in self.log.read_text().splitlines() if '"level": "error"' in line or "Traceback" in line]
