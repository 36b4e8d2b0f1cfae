"""``blendp client consent``: what the person agrees to."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from typer import Argument

from blendp.cli.client.options import FOLDER, AsJson, DeviceFolder, opened
from blendp.cli.client.sentences import summary_words, tell
from blendp.cli.console import print_json
from blendp.client import Consent

EXAMPLES = """Examples:

- `blendp client consent`
- `blendp client consent local`
- `blendp client consent off`
"""

_MEANS = {
    Consent.OFF: "nothing is made or sent",
    Consent.LOCAL: "reports that were randomised on this device may be sent",
    Consent.OPT_IN: "records may also be sent as they are, to campaigns that you enrol in",
}


def consent(
    choice: Annotated[
        Consent | None, Argument(help="off, local or opt-in; shows the present choice if left out.", metavar="[CHOICE]")
    ] = None,
    device: DeviceFolder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Show or set what you agree to: off (nothing), local (randomised reports) or opt-in (also records).

    What a new choice no longer covers is dropped if it was not sent, and asked to be deleted if it was.
    """
    with opened(device) as own_device:
        summary = None if choice is None else own_device.set_consent(choice)
        now = own_device.consent
    if as_json:
        print_json({"consent": now.value, "deletions": None if summary is None else asdict(summary)})
        return
    tell(f"Consent: {now.value} ({_MEANS[now]}).")
    if summary is not None and (summary.sent or summary.refused or summary.waiting):
        tell(f"Deletion requests: {summary_words(summary)}")
