"""``blendp clock show``: the day that a collector goes by."""

from __future__ import annotations

from blendp.cli.campaign.options import AsJson, Where, say, warn
from blendp.cli.console import print_json
from blendp.cli.options import takes_job

EXAMPLES = """Examples:

- `blendp clock show`
- `blendp clock show --json`
"""


@takes_job
def show(job: Where, as_json: AsJson = False) -> None:
    """Show the day that the collector goes by, and why, if that is not the day of its system's clock."""
    with job.client() as client:
        told = client.clock()
    if as_json:
        print_json(told)
        return
    say(f"The collector goes by {told['day']}.")
    if told["doubt"] is not None:
        warn(f"In doubt: {told['doubt']}.")
