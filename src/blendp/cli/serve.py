"""``blendp serve``: the collector service; and how commands find the store of one."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from typer import Option

from blendp.cli.console import errors
from blendp.errors import ParameterError
from blendp.service.operator_client import DEFAULT_SERVER
from blendp.wire.messages import MAX_BODY_BYTES

if TYPE_CHECKING:
    from blendp.service.collector import CollectorService
    from blendp.service.settings import Settings

EXAMPLES = """Examples:

- `blendp serve`
- `blendp serve --data /var/lib/blendp --host 0.0.0.0 --tls-certificate cert.pem --tls-key key.pem`
- `blendp serve --database postgresql://collector@db/blendp --workers 4 --behind-proxy 10.0.0.2 --host 10.0.0.3`
"""

FOLDER = Path("blendp-data")
DATABASE = "BLENDP_DATABASE"

kept = partial(Option, rich_help_panel="Where it is kept")
listening = partial(Option, rich_help_panel="Where it listens")
limits = partial(Option, rich_help_panel="Limits")

DataFolder = Annotated[Path, kept("--data", help="Folder of the embedded database and of the keys.")]
DatabaseAddress = Annotated[
    str | None,
    kept("--database", help=f"Address of a PostgreSQL database, without a password (or ${DATABASE}, with or without)."),
]


def serve(
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
    never_list: Annotated[
        Path | None,
        kept(help="File of queries and URLs, one a line, that are left out of every list; read when one is made."),
    ] = None,
    host: Annotated[str, listening(help="Address; other than loopback needs TLS or a proxy.")] = "127.0.0.1",
    port: Annotated[int, listening(help="Port; 0 takes a free one.")] = 8321,
    workers: Annotated[int, listening(help="Processes; more than one needs PostgreSQL.")] = 1,
    tls_certificate: Annotated[Path | None, listening(help="Certificate chain in PEM form.")] = None,
    tls_key: Annotated[Path | None, listening(help="Private key of the certificate, in PEM form.")] = None,
    behind_proxy: Annotated[
        str | None,
        listening(help="IP address or network of a proxy that ends TLS and whose word about peers is taken."),
    ] = None,
    rate: Annotated[float, limits(help="Reports, or other requests, a second of one peer; 0 for no limit.")] = 200.0,
    max_body: Annotated[int, limits(help="Bytes of a request body.")] = MAX_BODY_BYTES,
    max_waiting: Annotated[int, limits(help="Reports that may wait for the store.")] = 50_000,
    max_requests: Annotated[int, limits(help="Requests that are served at a time.")] = 1000,
    max_connections: Annotated[
        int | None, limits(help="Connections of a process; as many as the system allows, at most 10000, if not given.")
    ] = None,
    max_of_peer: Annotated[int, limits(help="Connections of one peer, at most a quarter of all.")] = 256,
    patience: Annotated[
        float,
        limits(help="Seconds for a TLS handshake or a head; thrice as many for a body, or to take some of an answer."),
    ] = 10.0,
) -> None:
    """Run a collector: it takes opt-in records and reports, and publishes lists and results, all signed.

    Makes the folder, the database and the first signing key if there are none, and serves until it is told to stop
    (SIGTERM, SIGINT). What it acknowledged is on the disk.
    """
    from blendp.service.server import serve as serve_until_stopped
    from blendp.service.settings import Settings

    settings = Settings(
        data=data,
        database=address(database),
        never_list=never_list,
        host=host,
        port=port,
        workers=workers,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
        rate=rate,
        max_body=max_body,
        max_waiting=max_waiting,
        max_requests=max_requests,
        max_connections=max_connections,
        max_of_peer=max_of_peer,
        patience=patience,
    )
    if tls_certificate is not None:
        _require_certificate(tls_certificate, tls_key)
    serve_until_stopped(settings, partial(_tell, settings, database))


def note(sentence: str) -> None:
    """Say something on the side, to the person at the terminal."""
    errors.print(sentence, style="dim", markup=False, highlight=False, soft_wrap=True)


def address(database: str | None) -> str | None:
    """The database that was named here or in the environment; here without a password."""
    if database is None:
        return os.environ.get(DATABASE) or None
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(database)
        secret = url.password is not None or any("password" in name.lower() for name in url.query)
    except (ArgumentError, ValueError):
        secret = False
    if secret:
        raise ParameterError(
            "database",
            "(not shown)",
            "without a password, since everybody on this machine can see it in the list of processes",
            f"Put the address into the environment variable {DATABASE}, or the password into a .pgpass file.",
        )
    return database


def stored(data: Path, database: str | None) -> Settings:
    """The settings of a collector that there is."""
    from blendp.service.settings import DATABASE_FILE, Settings

    settings = Settings(data=data, database=address(database))
    if settings.database is None and not (data / DATABASE_FILE).is_file():
        raise ParameterError(
            "--data", str(data), "the folder of a collector", "Name another, or make one: blendp serve."
        )
    return settings


@contextmanager
def opened(settings: Settings) -> Iterator[CollectorService]:
    """A collector's store, also while the collector runs."""
    from blendp.service.collector import CollectorService

    collector = CollectorService.open(settings)
    try:
        yield collector
    finally:
        collector.close()


def note_act(settings: Settings, act: str, detail: str) -> None:
    """Note in the audit trail what was done here to a collector; a store that cannot be written keeps no note."""
    from blendp.service.audit import LOCAL, Trail
    from blendp.service.refusal import Refused
    from blendp.service.store import open_store
    from blendp.service.store.migrations import SchemaError

    try:
        store = open_store(settings)
        Trail(store).note_now(LOCAL, act, detail=detail)
        store.close()
    except (Refused, SchemaError) as error:
        note(f"It is not in the audit trail: {error}")


def _require_certificate(certificate: Path, key: Path | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ParameterError(
            "tls_certificate", str(certificate), "a certificate in PEM form that fits --tls-key", f"{reason}."
        ) from None


def _tell(settings: Settings, database: str | None, url: str) -> None:
    """Say to people what programs read in the log."""
    keeps = f"{settings.data.absolute()}" + (", keys alone; the rest in PostgreSQL" if settings.database else "")
    server = "" if url == DEFAULT_SERVER else f" BLENDP_SERVER={url}"
    store = f"--data {quote(str(settings.data))}" + ("" if database is None else f" --database {quote(database)}")
    for line in (
        f"Listens at {url}; stop it with Ctrl-C.",
        f"Keeps its data in {keeps}.",
        f"Next: export BLENDP_TOKEN=$(blendp token create {store} --name me){server}",
        "      blendp campaign create --help",
    ):
        note(line)
