"""``blendp campaign publish``: the list of the opt-in people's records."""

from __future__ import annotations

from blendp.cli.campaign.options import AsJson, CampaignName, Where, say, warn
from blendp.cli.console import print_json
from blendp.cli.options import takes_job

EXAMPLES = """Examples:

- `blendp campaign publish trends-2026-11`
"""


@takes_job
def publish(job: Where, campaign: CampaignName, as_json: AsJson = False) -> None:
    """Make the list of the opt-in records, publish it, and delete the records. Clients report from now on.

    The list is drawn once, for good. Refused below the campaign's minimum of opt-in people.
    """
    with job.client() as client:
        made = client.publish(campaign)
    if not made["records"]:
        warn("No record passed the threshold: more opt-in people, or a larger epsilon or delta, are needed.")
    if as_json:
        print_json(made)
        return
    say(
        f"{campaign}: {made['opt_in_people']:,} opt-in people made a list of {made['records']:,} records; it is public."
    )
    say(f"Manifest {made['manifest_sha256']}, list {made['list_sha256']}.")
