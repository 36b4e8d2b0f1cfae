"""``blendp campaign publish``: the list of the opt-in people's records."""

from __future__ import annotations

from blendp.cli.campaign.options import AsJson, CampaignName, Where, counted, say, warn
from blendp.cli.console import print_json
from blendp.cli.options import takes_job
from blendp.client import Policy

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
    for caution in cautions(made["records"], made["opt_in_people"]):
        warn(caution)
    if as_json:
        print_json(made)
        return
    people = counted(made["opt_in_people"], "opt-in person", "opt-in people")
    say(f"{campaign}: {people} made a list of {counted(made['records'], 'record', 'records')}; it is public.")
    say(f"Manifest {made['manifest_sha256']}, list {made['list_sha256']}.")


def cautions(records: int, people: int) -> list[str]:
    """What keeps devices from reporting about a list."""
    told = []
    if not records:
        told.append("No record passed the threshold: more opt-in people, or a larger epsilon or delta, are needed.")
    elif records < Policy.least_records:
        listed = counted(records, "record", "records")
        told.append(
            f"The list has {listed}: devices refuse fewer than {Policy.least_records} unless they are told otherwise "
            f"(--least-records)."
        )
    if people < Policy.least_opt_in:
        told.append(
            f"{counted(people, 'person', 'people')} made the list: devices refuse fewer than {Policy.least_opt_in} "
            f"unless they are told otherwise (--least-opt-in)."
        )
    return told
