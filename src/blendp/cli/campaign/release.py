"""``blendp campaign release``: the result."""

from __future__ import annotations

from blendp.cli.campaign.options import AsJson, CampaignName, Where, counted, say, warn
from blendp.cli.console import print_json
from blendp.cli.options import takes_job

EXAMPLES = """Examples:

- `blendp campaign release trends-2026-11`
"""


@takes_job
def release(job: Where, campaign: CampaignName, as_json: AsJson = False) -> None:
    """Compute the result, publish it, and delete reports and pseudonyms. No more reports are taken.

    Refused below the campaign's minimum of clients.
    """
    with job.client() as client:
        made = client.release(campaign)
    for caution in made.get("cautions", []):
        warn(caution)
    if as_json:
        print_json(made)
        return
    clients = counted(made["clients"], "client", "clients")
    say(f"{campaign}: the result of {clients} is public. Release {made['release_sha256']}.")
    say(f"Next: blendp campaign export {campaign} --out {campaign}")
