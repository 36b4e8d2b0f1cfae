"""``blendp clock accept``: an operator's word that the clock is right."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from blendp.cli.campaign.options import CollectorOptions, say
from blendp.cli.panels import takes_job

EXAMPLES = """Examples:

- `blendp clock accept 2026-11-16`
"""


@takes_job
def accept(
    job: CollectorOptions,
    day: Annotated[str, Argument(help="Today in UTC, which the collector's clock must say.", metavar="DAY")],
) -> None:
    """Say that the clock of the collector's machine is right, after it jumped or the collector was off for long.

    What is due by that day happens within minutes: campaigns past their grace are published, released or deleted.
    """
    with job.client() as client:
        answer = client.accept_clock(day)
    say(f"The collector goes by {answer.day}.")
