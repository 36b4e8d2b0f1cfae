"""``blendp client send``: what waits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from blendp.cli import REFUSED, SYSTEM
from blendp.cli.client.options import FOLDER, AsJson, DeviceFolder, opened
from blendp.cli.client.options import device as device_option
from blendp.cli.client.sentences import moment, reason_words, summary_words, tell
from blendp.cli.console import print_json
from blendp.cli.progress import spinner

EXAMPLES = """Examples:

- `blendp client send`
- `blendp client send --wait`
- `blendp client send --json`
"""


def send(
    wait: Annotated[
        bool, device_option("--wait", help="Go on until nothing waits, or nothing is due within the hour.")
    ] = False,
    device: DeviceFolder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Send what is due: reports, opt-in records, deletion requests. What fails is tried again later, unchanged.

    Ends with exit code 6 if something was refused for good, else with 5 if something still waits because its collector
    could not be reached or was busy, else with 0.
    """
    with opened(device) as own_device:
        before = {item.id for item in own_device.items if item.state == "waiting"}
        with spinner("sending; what waits is kept if you stop (Ctrl-C)", shown=wait):
            summary = own_device.send(wait=wait)
        items = own_device.items
    refused = [item for item in items if item.id in before and item.state == "refused"]
    waiting = [item for item in items if item.state == "waiting"]
    if as_json:
        print_json(asdict(summary))
    else:
        for item in refused:
            tell(f"{item.campaign}: {item.kind} refused ({reason_words(item)}).")
        for item in waiting:
            tell(f"{item.campaign}: {item.kind} waits ({reason_words(item)}); the next try is due {moment(item.due)}.")
        tell(summary_words(summary))
    if refused:
        raise typer.Exit(REFUSED)
    if any(item.reason for item in waiting):
        raise typer.Exit(SYSTEM)
