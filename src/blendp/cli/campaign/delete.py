"""``blendp campaign delete``: everything of a campaign, gone."""

from __future__ import annotations

from blendp.cli.campaign.options import CampaignName, CollectorOptions, Yes, agreed, require_answer, say
from blendp.cli.panels import takes_job

EXAMPLES = """Examples:

- `blendp campaign delete trends-2026-11`
- `blendp campaign delete trends-2026-11 --yes`
"""


@takes_job
def delete(job: CollectorOptions, campaign: CampaignName, yes: Yes = False) -> None:
    """Delete records, reports, documents and keys of a campaign, whatever its state. Its name is never used again."""
    if not yes:
        require_answer("It deletes for good.")
        if not agreed(f"Delete everything of {campaign} for good?", "Nothing was deleted."):
            return
    with job.client() as client:
        client.delete(campaign)
    say(f"{campaign} is deleted.")
