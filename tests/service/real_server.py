"""A collector in a process of its own, and connections to it that no HTTP library would make."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import blendp
from tests.forked import Command, parent_of_collectors

_SOURCE = str(Path(blendp.__file__).parents[1])
_WAIT = 60.0
LIVE = b"GET /health/live HTTP/1.1\r\nhost: here\r\n\r\n"


class RealServer:
    """``blendp serve`` on a free port of loopback."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        descriptors: tuple[int, int] | None = None,
        start: Sequence[str] | None = None,
    ) -> None:
        """Forked, with these limits of file descriptors, soft and hard, if they are given.

        ``start`` is another command that starts a collector, and says where its data is.
        """
        self.log = folder / "log"
        options = ("--port", "0", *options)
        environment = {**os.environ, "PYTHONPATH": _SOURCE, "COLUMNS": "160"}
        self.process: subprocess.Popen[bytes] | Command
        with self.log.open("wb") as log, Path(os.devnull).open("r+b") as nothing:
            if start is not None:
                self.process = subprocess.Popen([*start, *options], env=environment, stderr=log)
            else:
                arguments = ["serve", "--data", str(folder / "data"), *options]
                files: list[IO[bytes]] = [nothing, nothing, log]
                self.process = parent_of_collectors().start(arguments, folder, environment, files, descriptors)
        self.wait_for("startup complete")
        (self.url,) = (line["url"] for line in self.lines() if line["event"] == "serving")
        self.port = urlsplit(self.url).port or 0

    def lines(self) -> list[dict[str, Any]]:
        """What it wrote about itself."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + _WAIT
        while text not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A connection from an address of this machine."""
        connection = socket.create_connection(("127.0.0.1", self.port), _WAIT, (source, 0))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def megabytes(self, figure: str) -> float:
        """Memory of the process: VmRSS now, VmHWM at the most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(rf"{figure}:\s+(\d+) kB", status)
        assert match is not None
        return int(match[1]) / 1024

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> RealServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def everything(connection: socket.socket) -> bytes:
    """All that is sent until the other side closes."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def answer_on(connection: socket.socket) -> bytes:
    """One answer, whose body is announced; what came before the end if the other side closes."""
    text = b""
    with suppress(ConnectionError):
        while (head := text.partition(b"\r\n\r\n"))[1] == b"" or len(head[2]) < _length(head[0]):
            part = connection.recv(1 << 16)
            if not part:
                break
            text += part
    return text


def _length(head: bytes) -> int:
    match = re.search(rb"content-length: (\d+)", head)
    return int(match[1]) if match else 0


def status_of(answer: bytes) -> int:
    """The status of an answer; 0 if there is none."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0
