"""Running the collector: one process on the embedded database, or several on PostgreSQL."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors import Multiprocess

from blendp.errors import EngineError
from blendp.service.clock import Clock
from blendp.service.descriptors import raise_descriptor_limit
from blendp.service.journal import journal, start_journal, tell
from blendp.service.settings import Settings

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_PROTOCOL = "blendp.service.bounded_http:Entrance"
"""By its name: a worker says that it is alive as soon as it knows its settings, and loads the rest afterwards."""

_STOP_SECONDS = 10
_IDLE_SECONDS = 75
"""How long a connection may be idle: longer than proxies keep theirs, so that they are the ones to close it."""

_SILENT_SECONDS = 15
"""How long a worker may say nothing before another takes its place: on a busy machine one that starts needs time."""

_SENDING_BYTES = 1 << 17
"""What the system may hold of an answer on its way to one peer."""


def serve(settings: Settings, started: Callable[[str], None] = lambda _: None, *, clock: Clock | None = None) -> None:
    """Serve until a signal says stop; what was acknowledged is on the disk by then, as ever.

    ``started`` is told the address once it is taken and the store could be opened; before, nothing is made or said.
    The days are those of the system's clock, unless another is given.
    """
    with journal():
        raise_descriptor_limit()
        _serve(settings, started, clock)
        tell("stopped")


def _serve(settings: Settings, started: Callable[[str], None], clock: Clock | None) -> None:
    with _listening(settings) as listening, _shared_metrics(settings):
        from blendp.service.collector import (
            CollectorService,  # the metrics ask where to keep numbers when first imported
        )

        CollectorService.open(settings, clock).close()
        config = uvicorn.Config(
            partial(worker, settings, clock),
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            http=_PROTOCOL,
            ws="none",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=settings.behind_proxy is not None,
            forwarded_allow_ips=settings.behind_proxy,
            timeout_graceful_shutdown=_STOP_SECONDS,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_worker_healthcheck=_SILENT_SECONDS,
        )
        url = settings.url(listening.getsockname()[1])
        started(url)
        tell("serving", url=url, workers=settings.workers)
        if settings.workers == 1:
            _run(uvicorn.Server(config), listening)
        else:
            Multiprocess(config, sockets=[listening]).run()


def _listening(settings: Settings) -> socket.socket:
    """The socket to listen at; the web server's own would end the process without a word where there is none."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)
        raise OSError(error.errno, reason, f"{settings.host}:{settings.port}") from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENDING_BYTES)  # connections have it from here
    listener.set_inheritable(True)
    return listener


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve in this process; the web server repeats the signal that stopped it."""
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return
    if not server.started:
        raise EngineError("The service could not start: the line before tells why.")


def worker(settings: Settings, clock: Clock | None = None) -> Starlette:
    """The application of one process."""
    from blendp.service.collector import CollectorService
    from blendp.service.http import make_app

    start_journal()
    return make_app(lambda: CollectorService.open(settings, clock))


@contextmanager
def _shared_metrics(settings: Settings) -> Iterator[None]:
    """A folder in which several processes add their numbers up."""
    if settings.workers == 1:
        yield
        return
    folder = tempfile.mkdtemp(prefix="blendp-metrics-")
    os.environ[_METRICS] = folder
    try:
        yield
    finally:
        del os.environ[_METRICS]
        shutil.rmtree(folder, ignore_errors=True)
