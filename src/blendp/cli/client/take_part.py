"""``blendp client take-part``: the one randomised report to a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.client.options import AsJson, CampaignName, Where
from blendp.cli.client.people_records import read_records
from blendp.cli.client.words import tell
from blendp.cli.console import print_json
from blendp.cli.options import reading, takes_job
from blendp.wire.reports import QUESTIONS

EXAMPLES = """Examples:

- `blendp client take-part trends-2026-11 --records mine.csv`
- `history-tool | blendp client take-part trends-2026-11 --records -`
- `blendp client take-part trends-2026-11 --server https://collector.example.org --key 8f0c...`
"""


@takes_job
def take_part(
    job: Where,
    name: CampaignName,
    records: Annotated[
        Path | None, reading(help="Your records, lines of query,url in CSV; - is standard input (none if not said).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Randomise one report about your records and queue it, once: a second call draws nothing.

    Your records are not kept. The report, its cost and the queue are written down in one step before anything is
    sent (blendp client send).
    """
    held = [] if records is None else read_records(records)
    with job.opened(name) as device:
        done = device.take_part(name, held)
        epsilon, delta = device.ledger.remaining
    question = None if done.question is None else QUESTIONS[done.question]
    if as_json:
        print_json(
            {
                "campaign": name,
                "silent": done.silent,
                "day": done.day,
                "report_id": None if done.report_id is None else done.report_id.hex(),
                "question": question,
                "data": None if done.data is None else done.data.hex(),
                "remaining": {"epsilon": float(epsilon), "delta": float(delta)},
            }
        )
        return
    if done.silent:
        tell(f"{name}: this device was not drawn and keeps silent; that costs nothing.")
        return
    tell(f"{name}: one report about the {question}, drawn on {done.day}. Send it: blendp client send.")
    tell(f"Remaining for life: ε = {float(epsilon):g}, δ = {float(delta):g}.")
