"""``blendp client take-part``: the one randomised report to a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.client.options import AsJson, CampaignName, DeviceOptions
from blendp.cli.client.people_records import counts_sentence, read_records
from blendp.cli.client.sentences import future, remaining_plain, remaining_sentence, tell
from blendp.cli.console import print_json
from blendp.cli.panels import takes_job
from blendp.cli.reading import reading
from blendp.errors import ParameterError
from blendp.reports import QUESTIONS

EXAMPLES = """Examples:

- `blendp client take-part trends-2026-11 --records mine.csv`
- `history-tool | blendp client take-part trends-2026-11 --records -`
- `blendp client take-part trends-2026-11 --server https://collector.example.org --key 8f0c... --records mine.csv`
- `blendp client take-part trends-2026-11 --no-records`
"""

_ABOUT = {"query": "the query of one of your records", "record": "one of your records", "cell": "one of your records"}


@takes_job
def take_part(
    job: DeviceOptions,
    name: CampaignName,
    records: Annotated[
        Path | None, reading(help="Your records, lines of query,url in CSV; - is standard input.")
    ] = None,
    no_records: Annotated[
        bool, reading("--no-records", help="You have none: report as somebody who searched for nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Randomise one report about your records and queue it, once: a second call draws nothing.

    Needs --records or, if there are none, --no-records: a report about nothing costs as much. Lines that are no
    records, or that the campaign cannot use, are left out and counted for you; also without any left there is a
    report, for whether you report must not tell what you hold.

    Your records are not kept. The report, its cost and the queue are written down in one step before anything is
    sent (blendp client send).
    """
    if records is None and not no_records:
        raise ParameterError("records", None, "given unless --no-records is", "A report about nothing costs as much.")
    if records is not None and no_records:
        raise ParameterError("records", str(records), "left out with --no-records", "Give one of the two.")
    with job.opened(name) as device:
        before = device.participation(name)
        own = None if records is None or before is not None else read_records(records)
        done = device.take_part(name, [] if own is None else own.records)
        counts = None if own is None else own.counts(device, name)
        ledger = device.ledger
        items = device.items
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
                "records": counts,
                **remaining_plain(ledger),
            }
        )
        return
    if done.silent:
        already = (
            "" if before is None else f" That was decided on {done.day} already; these records were not looked at."
        )
        tell(f"{name}: this device was not drawn and keeps silent; that costs nothing.{already}")
        return
    next_step = future(items, name, "report")
    about = _ABOUT[question or "record"] if counts is None or counts["usable"] else "nothing"
    when = f"drawn on {done.day}" + ("" if before is None else " already; these records were not looked at")
    tell(f"{name}: one report about {about}, {when}. {next_step}")
    if counts is not None:
        tell(counts_sentence(counts))
    tell(remaining_sentence(ledger))
