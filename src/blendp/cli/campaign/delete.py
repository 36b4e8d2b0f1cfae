"""``blendp campaign delete``: everything of a campaign, gone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from blendp.cli.campaign.options import CampaignName, Where, say
from blendp.cli.options import output, takes_job
from blendp.errors import ParameterError

EXAMPLES = """Examples:

- `blendp campaign delete trends-2026-11`
- `blendp campaign delete trends-2026-11 --yes`
"""


@takes_job
def delete(
    job: Where,
    campaign: CampaignName,
    yes: Annotated[bool, output("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete records, reports, documents and keys of a campaign, whatever its state. Its name is never used again."""
    if not yes:
        if not sys.stdin.isatty():
            raise ParameterError("yes", None, "given where nobody can be asked", "It deletes for good.")
        if not typer.confirm(f"Delete everything of {campaign} for good?", err=True):
            say("Nothing was deleted.")
            return
    with job.client() as client:
        client.delete(campaign)
    say(f"{campaign} is deleted.")
