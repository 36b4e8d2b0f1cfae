"""``blendp client forget``: have a campaign delete what this device sent."""

from __future__ import annotations

from dataclasses import asdict

from blendp.cli.client.options import FOLDER, AsJson, CampaignName, DeviceFolder, opened
from blendp.cli.client.sentences import plain, summary_words, tell
from blendp.cli.console import print_json

EXAMPLES = """Examples:

- `blendp client forget trends-2026-11`
"""


def forget(name: CampaignName, device: DeviceFolder = FOLDER, as_json: AsJson = False) -> None:
    """Drop what was not sent to a campaign, and ask its collector to delete what was.

    If the collector cannot be reached the request waits like a report (blendp client send). What taking part cost
    stays in the ledger and is not refunded: what was learnt cannot be unlearnt.
    """
    with opened(device) as known:
        summary = known.forget(name)
        spent = [entry.budget for entry in known.ledger.entries if entry.campaign == name]
    if as_json:
        print_json({"campaign": name, **asdict(summary), "not_refunded": plain(spent[0]) if spent else None})
        return
    if summary.sent or summary.refused or summary.waiting:
        tell(f"{name} is asked to forget this device. Deletion requests: {summary_words(summary)}")
    else:
        tell(f"{name} holds nothing of this device that is not deleted, and nothing waits to be sent.")
    for budget in spent:
        tell(f"What it cost, {budget}, is not refunded: what was learnt cannot be unlearnt.")
