"""``blendp clock show``: the day that a collector goes by."""

from __future__ import annotations

from blendp.cli.campaign.options import AsJson, CollectorOptions, say, warn
from blendp.cli.console import print_json
from blendp.cli.panels import takes_job

EXAMPLES = """Examples:

- `blendp clock show`
- `blendp clock show --json`
"""


@takes_job
def show(job: CollectorOptions, as_json: AsJson = False) -> None:
    """Show the day that the collector goes by, and why, if that is not the day of its system's clock."""
    with job.client() as client:
        answer = client.clock()
    if as_json:
        print_json(answer.to_dict())
        return
    say(f"The collector goes by {answer.day}.")
    if answer.doubt is not None:
        warn(f"In doubt: {answer.doubt}.")
