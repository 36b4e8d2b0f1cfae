"""``blendp client show``: everything that leaves or left this device."""

from __future__ import annotations

from blendp.cli.client.options import FOLDER, AsJson, DeviceFolder, opened
from blendp.cli.client.sentences import moment, print_pairs, tell
from blendp.cli.console import print_json
from blendp.client import Item

EXAMPLES = """Examples:

- `blendp client show`
- `blendp client show --json`
"""


def show(device: DeviceFolder = FOLDER, as_json: AsJson = False) -> None:
    """Show every payload exactly as it was or will be sent, and its fate.

    Opt-in records are shown until they arrived, then wiped. Enrolment tokens are never shown.
    """
    with opened(device) as own_device:
        items = own_device.items
    if as_json:
        print_json([_plain(item) for item in items])
        return
    if not items:
        tell("Nothing has left this device, and nothing waits to.")
    for item in items:
        print_pairs(
            (
                (f"{item.kind} {item.id}", f"{item.campaign}, {moment(item.created)}"),
                ("request", f"{item.method} {item.url}"),
                ("payload", _payload(item) or ("none" if item.kind == "opt-in-deletion" else "wiped")),
                ("fate", f"{item.state}{f' ({item.reason})' if item.reason else ''}, attempts: {item.attempts}"),
            )
        )
        tell("")


def _plain(item: Item) -> dict[str, object]:
    return {
        "id": item.id,
        "campaign": item.campaign,
        "kind": item.kind,
        "method": item.method,
        "url": item.url,
        "media_type": item.media_type,
        "payload": _payload(item),
        "created": moment(item.created),
        "due": moment(item.due) if item.state == "waiting" else None,
        "attempts": item.attempts,
        "state": item.state,
        "reason": item.reason,
    }


def _payload(item: Item) -> str | None:
    return None if item.body is None else item.body.decode("utf-8")
