"""``blendp campaign enrol``: one-time tokens for opt-in people."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from blendp.cli.campaign.options import CampaignName, CollectorOptions, say
from blendp.cli.lost_output import printing
from blendp.cli.panels import output, privacy, takes_job
from blendp.cli.serve import note
from blendp.errors import require_count
from blendp.outputs import refuse_existing, whole
from blendp.spelling import counted

EXAMPLES = """Examples:

- `blendp campaign enrol trends-2026-11 --count 500 --out tokens.txt`
- `blendp campaign enrol trends-2026-11 --count 1`
"""


@takes_job
def enrol(
    job: CollectorOptions,
    campaign: CampaignName,
    count: Annotated[int, privacy(help="How many people may opt in with them.")],
    out: Annotated[
        Path | None, output(help="File for the tokens, one a line, readable by you alone (standard output).")
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier file.")] = False,
) -> None:
    """Make one-time tokens: each lets one person send records, once. They are shown this once.

    Hand every person one of them, and do not note who got which: the collector does not know it either.
    """
    require_count("count", count, min_value=1, remedy="One token lets one person opt in.")
    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    with job.client() as client:
        tokens = "".join(f"{token}\n" for token in client.enrol(campaign, count))
    if out is None:
        note("Shown this once: hand every person one of them.")
        with printing():
            sys.stdout.write(tokens)
        return
    with whole(out, overwrite=overwrite) as draft:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(tokens)
    say(f"{counted(count, 'token', 'tokens')} in {out}: hand every person one of them.")
