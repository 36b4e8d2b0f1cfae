"""A process that has imported everything, and starts collectors by forking: a restart takes a moment.

Lines of JSON come in, a line of JSON answers each. When no more come, all that were started are killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pyarrow as pa
import pyarrow.dataset  # DuckDB loads it when it is given the first table
import uvicorn
from starlette.applications import Starlette

from blendp.cli import PandasHidden
from blendp.methods import Parameters
from blendp.methods.listed import blendp_list_maker
from blendp.service.collector import CollectorService
from blendp.service.http import make_app
from blendp.service.http.pages import web_files
from blendp.service.journal import start_journal
from blendp.service.settings import Settings
from tests.service.faults import Control, install


def main() -> None:
    sys.meta_path.insert(0, PandasHidden())
    blendp_list_maker(Parameters(epsilon=8.0, delta=0.05, size=50, opt_in_records=1), 2, many=False)  # those of World
    pa.array(["slow for the first time"])
    warm_up()
    started: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "start":
            pid = os.fork()
            if not pid:
                serve(asked)
            started.add(pid)
            reply = {"pid": pid}
        else:
            flags = os.WNOHANG if asked["do"] == "poll" else 0
            pid, status = os.waitpid(asked["pid"], flags) if asked["pid"] in started else (asked["pid"], 0)
            if pid:
                started.discard(pid)
            reply = {"gone": int(pid > 0), "status": status}
        print(json.dumps(reply), flush=True)
    for pid in started:
        os.kill(pid, signal.SIGKILL)


def warm_up() -> None:
    """Import what a server imports when it starts, and let no collector's garbage collection look at all of it."""
    config = _config(make_app(_no_collector))
    config.load()
    config.get_loop_factory()
    anyio.run(anyio.sleep, 0)
    web_files()
    gc.collect()
    gc.freeze()


def _no_collector() -> NoReturn:
    raise AssertionError("This application never starts.")


def serve(asked: dict[str, Any]) -> None:
    """Be a collector, and never return."""
    status = 1
    try:
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, log), (2, log)):
            os.dup2(source, target)
        control = Control(Path(asked["control"]))
        install(control)
        setattr(CollectorService, "meet_deadlines", _leave)  # noqa: B010 - a slow run must not do what no model knows
        start_journal()
        settings = Settings(Path(asked["data"]), database=asked["database"], rate=0, workers=asked["workers"])
        app = make_app(lambda: CollectorService.open(settings, control.clock))
        server = uvicorn.Server(_config(app))
        server.run(sockets=[bound_socket(asked["port"])])
        status = 0 if server.started else 3
    finally:
        os._exit(status)


def _leave(_collector: CollectorService) -> None:
    """Deadlines act in tests of their own."""


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app, http="httptools", access_log=False, log_config=None, timeout_keep_alive=600, timeout_graceful_shutdown=10
    )


def bound_socket(port: int) -> socket.socket:
    """A socket that shares its port: with one that keeps the port for a test, and with other workers'."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    return listener


if __name__ == "__main__":
    main()
