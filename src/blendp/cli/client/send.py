"""``blendp client send``: what waits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from blendp.cli.client.options import FOLDER, AsJson, DeviceFolder, opened
from blendp.cli.client.options import device as device_option
from blendp.cli.client.words import summary_words, tell
from blendp.cli.console import print_json

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
    """Send what is due: reports, opt-in records, deletion requests. What fails is tried again later, unchanged."""
    with opened(device) as held:
        summary = held.send(wait=wait)
    if as_json:
        print_json(asdict(summary))
        return
    tell(summary_words(summary))
