"""The shipped configurations of nginx and Caddy, started on free ports of loopback in front of a collector."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.certificates import certified
from tests.deploy.tools import KIT, replaced, tool
from tests.ports import free_pair

DOMAIN = "collector.example.org"
OPERATOR = "127.0.0.1"
"""The only address of loopback that the shipped configurations take for an operator's."""

_WAIT = 60.0
_OURS = ("nginx.conf", "blendp.conf", "Caddyfile", "certificate.pem", "key.pem")

_NGINX = """
error_log {folder}/main.log info;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/blendp.conf;
}}
"""
"""As Debian's: with logs of its own, which the shipped file must not let addresses into."""


@dataclass(frozen=True)
class Listening:
    """Where a proxy listens, and what it needs to know."""

    folder: Path
    tls: int
    plain: int
    collector: int

    @property
    def certificates(self) -> dict[str, str]:
        """The changes that put the tests' certificate where the operator's is."""
        names = ("certificate.pem", "key.pem")
        return {f"/etc/blendp/{name}": str(self.folder / name) for name in names}


def _nginx(at: Listening, changes: Mapping[str, str]) -> list[str]:
    ours = {
        "listen 443 ": f"listen 127.0.0.1:{at.tls} ",
        "listen 80 ": f"listen 127.0.0.1:{at.plain} ",
        "    listen [::]:443 ssl http2 default_server;\n": "",
        "    listen [::]:80 default_server;\n": "",
        "127.0.0.1:8321": f"127.0.0.1:{at.collector}",
        "/var/log/nginx": str(at.folder),
        **at.certificates,
    }
    text = replaced((KIT / "nginx/blendp.conf").read_text(), {**changes, **ours})
    (at.folder / "blendp.conf").write_text(text)
    (at.folder / "nginx.conf").write_text(_NGINX.format(folder=at.folder))
    return [tool("nginx"), "-p", str(at.folder), "-c", str(at.folder / "nginx.conf"), "-g", "daemon off;"]


def _caddy(at: Listening, changes: Mapping[str, str]) -> list[str]:
    ours = {
        "admin off\n": f"admin off\n\thttp_port {at.plain}\n\thttps_port {at.tls}\n\tdefault_bind 127.0.0.1\n",
        "127.0.0.1:8321": f"127.0.0.1:{at.collector}",
        **at.certificates,
    }
    text = replaced((KIT / "caddy/Caddyfile").read_text(), {**changes, **ours})
    (at.folder / "Caddyfile").write_text(text)
    return [tool("caddy"), "run", "--config", str(at.folder / "Caddyfile")]


COMMANDS: dict[str, Callable[[Listening, Mapping[str, str]], list[str]]] = {"nginx": _nginx, "caddy": _caddy}


class Proxy:
    """A running nginx or Caddy."""

    def __init__(self, kind: str, folder: Path, collector: int, changes: Mapping[str, str]) -> None:
        """Try pairs of ports until one is free: proxies share ports without a word, so each is looked at first."""
        self.kind, self.folder = kind, folder
        certified(folder, DOMAIN)
        for _ in range(20):
            self.at = Listening(folder, *free_pair(), collector)
            if self._start(COMMANDS[kind](self.at, changes)):
                return
        raise AssertionError(self.said())

    def _start(self, command: list[str]) -> bool:
        """Whether it listens; it ends by itself if somebody else does there."""
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder)}
        with (self.folder / "stderr").open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)
        until = time.monotonic() + _WAIT
        while self.process.poll() is None:
            if all(_listens(self.process.pid, port) for port in (self.at.tls, self.at.plain)):
                return True
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)
        assert "in use" in self.said(), self.said()
        return False

    def said(self) -> str:
        """All that it wrote into any file."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name not in _OURS)
        return "\n".join(path.read_bytes().decode(errors="replace") for path in files)

    def client(self, address: str, **options: Any) -> httpx.Client:
        """Somebody at this address of loopback, who trusts the certificate."""
        transport = httpx.HTTPTransport(verify=self.context(), local_address=address, limits=httpx.Limits())
        return _Named(transport=transport, base_url=f"https://127.0.0.1:{self.at.tls}", timeout=_WAIT, **options)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "certificate.pem"))

    def connect(self, address: str, port: int | None = None) -> socket.socket:
        """A bare connection from this address."""
        return socket.create_connection(("127.0.0.1", port or self.at.tls), _WAIT, (address, 0))

    def secure(self, address: str) -> ssl.SSLSocket:
        """A connection from this address, with TLS."""
        return self.context().wrap_socket(self.connect(address), server_hostname=DOMAIN)

    def stop(self) -> None:
        """Stop as the service manager does; everything is written by then."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class _Named(httpx.Client):
    """Asks for the collector by its name, at whatever address it is."""

    def build_request(self, *arguments: Any, **options: Any) -> httpx.Request:
        request = super().build_request(*arguments, **options)
        request.headers["host"] = DOMAIN
        request.extensions = {**request.extensions, "sni_hostname": DOMAIN}
        return request


@contextmanager
def running(kind: str, folder: Path, collector: int, changes: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """A proxy in front of the collector at this port, with a few words of its configuration changed."""
    folder.mkdir(parents=True, exist_ok=True)
    proxy = Proxy(kind, folder, collector, changes or {})
    try:
        yield proxy
    finally:
        if proxy.process.poll() is None:
            proxy.stop()


def _listens(pid: int, port: int) -> bool:
    """Whether this process listens at a port of loopback; not if it has just ended."""
    with suppress(OSError):
        lines = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        sockets = {f"socket:[{line[9]}]" for line in lines if line[1] == f"0100007F:{port:04X}" and line[3] == "0A"}
        return any(str(path.readlink()) in sockets for path in Path(f"/proc/{pid}/fd").iterdir())
    return False
