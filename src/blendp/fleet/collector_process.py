"""A real collector in a process of its own, on a free port of loopback, that can be put to any day.

It reads lines from its standard input: a day, at which its clock stands from then on, or nothing, from when on it goes
with the system's. When its input ends it stops, so it never outlives the process that started it, however that ends.
"""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Self

from blendp.errors import EngineError
from blendp.service.clock import utc_today

_STOP_SECONDS = 20
_ENDING_SECONDS = 2


class CollectorProcess:
    """A collector that keeps everything in one folder."""

    def __init__(self, folder: Path, operators: Mapping[str, tuple[str, ...]]) -> None:
        """Start it, with a token for each operator, good for these scopes."""
        self._log = folder / "collector.log"
        command = [sys.executable, "-P", "-m", __name__, str(folder / "data"), json.dumps(dict(operators))]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )

    def __enter__(self) -> Self:
        """The collector itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    @property
    def url(self) -> str:
        """Its address."""
        return str(self._started["url"])

    @property
    def tokens(self) -> Mapping[str, str]:
        """Operators' tokens, by the names of those who have them."""
        return MappingProxyType(self._started["tokens"])

    @cached_property
    def _started(self) -> dict[str, Any]:
        """What it says when it listens."""
        started: dict[str, Any] = json.loads(self._answer())
        return started

    def put_to(self, day: datetime.date | None) -> None:
        """Have its clock stand at a day; with None, go with the system's."""
        _ = self._started
        with self.explaining():
            print(day or "", file=self._process.stdin, flush=True)
        self._answer()

    def stop(self) -> None:
        """End it, and wait until it has."""
        with suppress(BrokenPipeError):
            _open(self._process.stdin).close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _open(self._process.stdout).close()

    def require_running(self) -> None:
        """Raise if it has ended."""
        if self._process.poll() is not None:
            raise self._ended()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Where a request fails because the collector has ended, say that."""
        try:
            yield
        except OSError:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING_SECONDS)
            self.require_running()
            raise

    def _answer(self) -> str:
        line: str = _open(self._process.stdout).readline()
        if not line:
            raise self._ended()
        return line

    def _ended(self) -> EngineError:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return EngineError(f"The collector has ended. Its last words: {lines[-1] if lines else 'none'}")


class _StagedClock:
    """A clock that stands still at a day, or goes with the system's."""

    day: datetime.date | None = None

    def __call__(self) -> datetime.date:
        """The day."""
        return self.day or utc_today()

    def follow(self, lines: IO[str], answers: IO[str]) -> None:
        """Do as the lines say; when they end, have this process stop: at once, unless the web server has begun, which
        then ends well. (An interrupt could be swallowed by a module that is being loaded.)"""
        for line in lines:
            self.day = datetime.date.fromisoformat(line.strip()) if line.strip() else None
            print("done", file=answers, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)


def _serve(data: Path, operators: Mapping[str, list[str]]) -> None:
    """What the process does. Everybody shares one address, so no peer is limited."""
    from blendp.service.collector import CollectorService
    from blendp.service.server import serve
    from blendp.service.settings import Settings

    settings, clock = Settings(data, port=0, rate=0.0), _StagedClock()

    def tell(url: str) -> None:
        collector = CollectorService.open(settings, clock)
        tokens = {name: collector.tokens.create(name, scopes) for name, scopes in operators.items()}
        collector.close()
        print(json.dumps({"url": url, "tokens": tokens}), flush=True)
        threading.Thread(target=clock.follow, args=(sys.stdin, sys.stdout), daemon=True).start()

    serve(settings, tell, clock=clock)


def _open(stream: IO[Any] | None) -> IO[Any]:
    if stream is None:
        raise EngineError("The collector has no such stream.")
    return stream


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), json.loads(sys.argv[2]))
