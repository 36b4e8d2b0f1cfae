"""How a collector is run, validated at birth."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from blendp.errors import ParameterError, require_count, require_number
from blendp.service.never_list import NeverList
from blendp.service.peers import Proxies
from blendp.wire.messages import MAX_BODY_BYTES

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

DATABASE_FILE = "collector.db"


@dataclass(frozen=True)
class Settings:
    """Where a collector keeps what it holds, where it listens, and its limits."""

    data: Path
    """The folder of the embedded database and of the keys; readable by its owner alone."""

    database: str | None = field(default=None, repr=False)
    """The address of a PostgreSQL database; None for the embedded one."""

    never_list: Path | None = None
    """A file of texts that are never listed, one a line; None for none."""

    host: str = "127.0.0.1"
    port: int = 8321
    workers: int = 1
    """Processes that serve; more than one needs PostgreSQL."""

    tls_certificate: Path | None = None
    tls_key: Path | None = None

    behind_proxy: str | None = None
    """IP addresses or networks of proxies that end TLS and whose word about peers is taken; nobody else is served."""

    rate: float = 200.0
    """Reports, or other requests, a second of one peer, after a burst of as many in ten seconds; 0 for no limit."""

    max_body: int = MAX_BODY_BYTES
    """Bytes of a request body."""

    max_waiting: int = 50_000
    """Reports that may wait for the store; more are asked to come back later."""

    max_requests: int = 1000
    """Requests that are served at a time."""

    max_connections: int | None = None
    """Connections of a process; None for as many as the system lets it have, at most 10000."""

    max_of_peer: int = 256
    """Connections of one peer to a process, and at most a quarter of all."""

    patience: float = 10.0
    """Seconds for a TLS handshake or a request's head; thrice as many for a body, or to take a part of an answer."""

    def __post_init__(self) -> None:
        """Refuse what is not safe or cannot work."""
        require_count("workers", self.workers, min_value=1, remedy="One process for each core is usual.")
        require_count("port", self.port, min_value=0, remedy="8321 is usual; 0 takes a free one.")
        require_number("port", self.port, max_value=65_535, legal="at most 65535", remedy="8321 is usual.")
        require_count("max_body", self.max_body, min_value=1024, remedy="1048576 is usual.")
        require_count("max_waiting", self.max_waiting, min_value=1, remedy="50000 is usual.")
        require_count("max_requests", self.max_requests, min_value=1, remedy="1000 is usual.")
        if self.max_connections is not None:
            require_count("max_connections", self.max_connections, min_value=4, remedy="10000 is usual.")
        require_count("max_of_peer", self.max_of_peer, min_value=1, remedy="256 is usual.")
        require_number(
            "patience", self.patience, min_value=0.1, max_value=600, legal="0.1 to 600 seconds", remedy="10 is usual."
        )
        require_number(
            "rate", self.rate, min_value=0, legal="a number from 0 on", remedy="200 is usual, 0 is no limit."
        )
        if self.workers > 1 and self.database is None:
            raise ParameterError(
                "workers", self.workers, "1 with the embedded database", "Give --database postgresql://..."
            )
        for one, other in (("tls_certificate", "tls_key"), ("tls_key", "tls_certificate")):
            if getattr(self, one) is None and getattr(self, other) is not None:
                flag = f"--{other.replace('_', '-')}"
                raise ParameterError(one, None, f"given together with {flag}", "Give both or none.")
        NeverList(self.never_list).require_readable()
        _ = self.proxies
        if self.database is not None:
            _require_postgresql(self.database)
        if not (self.loopback or self.tls or self.behind_proxy):
            raise ParameterError(
                "host",
                self.host,
                "a loopback address without TLS",
                "Give --tls-certificate and --tls-key, or --behind-proxy with the address of a proxy that ends TLS.",
            )

    @property
    def tls(self) -> bool:
        """Whether the collector itself speaks TLS."""
        return self.tls_certificate is not None

    @property
    def proxies(self) -> Proxies | None:
        """The proxies that everybody must pass, if any."""
        return None if self.behind_proxy is None else Proxies.parse(self.behind_proxy)

    @property
    def body_seconds(self) -> float:
        """How long a body may take to arrive."""
        return 3 * self.patience

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the collector."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def url(self, port: int) -> str:
        """The address that is listened at."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{port}"

    @property
    def database_url(self) -> URL:
        """The database's address for the SQL toolkit."""
        from sqlalchemy.engine import URL, make_url

        if self.database is None:
            return URL.create("sqlite", database=str(self.data / DATABASE_FILE))
        return make_url(self.database).set(drivername="postgresql+psycopg")


def _require_postgresql(database: str) -> None:
    """The address itself stays out of the error: it may hold a password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    remedy = "For instance postgresql://collector@localhost/blendp, with the password in a .pgpass file."
    try:
        name = make_url(database).get_backend_name()
    except ArgumentError:
        name = None
    if name != "postgresql":
        raise ParameterError("database", "(not shown)", "the address of a PostgreSQL database", remedy)
