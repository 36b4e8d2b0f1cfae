"""The options that the client commands share: which device, and which collector to believe."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from blendp.cli.panels import output
from blendp.client import Collector, Device, Http, Policy
from blendp.errors import ParameterError
from blendp.wire import VerifyKey

device = partial(Option, rich_help_panel="Device")
trust = partial(Option, rich_help_panel="Whom to believe")

FOLDER = Path("~/.local/share/blendp")

DeviceFolder = Annotated[
    Path, device("--device", envvar="BLENDP_DEVICE", help="Folder of this device: ledger, reports, queue.")
]
AsJson = Annotated[bool, output("--json", help="Print JSON for programs.")]
CampaignName = Annotated[str, Argument(help="The campaign's name.", metavar="CAMPAIGN")]


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """A device, a collector and whom to believe, as given on the command line; told once, they are remembered."""

    device: DeviceFolder = FOLDER
    server: Annotated[
        str | None,
        trust(envvar="BLENDP_SERVER", help="Address of the collector (the campaign's, or the last one visited)."),
    ] = None
    key: Annotated[
        list[str] | None, trust(help="Public key of the collector, 64 hexadecimal digits; may be repeated.")
    ] = None
    witness: Annotated[
        list[str] | None, trust(help="Another address that serves the same manifests; may be repeated.")
    ] = None
    trust_on_first_use: Annotated[
        bool, trust("--trust-on-first-use", help="Believe the keys that the collector names on the first visit.")
    ] = False
    allow_http: Annotated[bool, trust("--allow-http", help="Allow addresses without encryption.")] = False
    min_records: Annotated[int, trust(help="Shortest list to report about.")] = Policy.min_records
    max_records: Annotated[int, trust(help="Longest list to report about.")] = Policy.max_records
    min_opt_in: Annotated[int, trust(help="Fewest opt-in people behind a list.")] = Policy.min_opt_in
    max_epsilon: Annotated[
        float | None, trust(help="Largest epsilon of one campaign (only the caps of the ledger if none is said).")
    ] = Policy.max_epsilon

    @contextmanager
    def opened(self, campaign: str | None = None) -> Iterator[Device]:
        """The device, with the collector that was told or is remembered."""
        folder, http = self.device.expanduser(), Http()
        with explained(folder):
            with Device(folder, http=http) as known:
                server = known.server(self.server and self.server.rstrip("/"), campaign)
            if server is None and self.server is None:
                raise ParameterError("server", None, "given on the first visit", "Say where the campaign is run.")
            url = server.url if server is not None else str(self.server)
            collector = Collector(
                url,
                keys=[VerifyKey.of_text(key) for key in self.key or []],
                witnesses=self.witness or (server.witnesses if server is not None else ()),
                policy=Policy(
                    min_records=self.min_records,
                    min_opt_in=self.min_opt_in,
                    max_records=self.max_records,
                    max_epsilon=self.max_epsilon,
                ),
                trust_on_first_use=self.trust_on_first_use,
                allow_http=self.allow_http or server is not None,
                http=http,
            )
            with Device(folder, collector, http=http) as opened_device:
                yield opened_device


@contextmanager
def opened(folder: Path) -> Iterator[Device]:
    """The device alone."""
    with explained(folder), Device(folder.expanduser(), http=Http()) as opened_device:
        yield opened_device


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Say which file it is that cannot be used."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"{folder}: the device's file cannot be used ({error}).") from error
