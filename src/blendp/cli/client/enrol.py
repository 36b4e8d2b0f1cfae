"""``blendp client enrol``: records as they are, to a campaign's curator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from blendp.cli.client.options import AsJson, CampaignName, DeviceOptions
from blendp.cli.client.people_records import counts_sentence, read_records
from blendp.cli.client.sentences import future, remaining_plain, remaining_sentence, tell
from blendp.cli.console import print_json
from blendp.cli.failures import NoSuchFileError
from blendp.cli.panels import privacy, takes_job
from blendp.cli.reading import reading
from blendp.client import Item
from blendp.errors import LogError
from blendp.wire.opt_in import OptInRecords

EXAMPLES = """Examples:

- `blendp client enrol trends-2026-11 --token-file token.txt --records mine.csv`
- `blendp client enrol trends-2026-11 --server https://collector.example.org --key 8f0c... --token-file t --records -`
"""

_MAX_TOKEN_BYTES = 4096


@takes_job
def enrol(
    job: DeviceOptions,
    name: CampaignName,
    token_file: Annotated[Path, privacy(help="File with the enrolment token that the campaign gave you.")],
    records: Annotated[Path, reading(help="Your records, lines of query,url in CSV; - is standard input.")],
    as_json: AsJson = False,
) -> None:
    """Queue some of your records, drawn at random, for the curator of a campaign that you trust, to make its list of.

    How many at most, the campaign's terms say (blendp client look).

    Needs consent opt-in. They are sent as they are (blendp client send), and wiped from this device once they arrived.
    Lines that the campaign cannot use are left out and counted for you; without any left an empty list is sent, for
    whether you enrol must not tell what you hold. The curator sees how many records you send.
    """
    with job.opened(name) as device:
        before = device.participation(name)
        own = None if before is not None else read_records(records)
        done = device.enrol(name, "" if own is None else _read_token(token_file), [] if own is None else own.records)
        ledger = device.ledger
        items = device.items
        counts = None if own is None else {**own.counts(device, name), "queued": _queued(items, name)}
    if as_json:
        done_plain = {"campaign": name, "group": done.group, "day": done.day, "records": counts}
        print_json({**done_plain, **remaining_plain(ledger)})
        return
    when = f"{done.day}" + ("" if before is None else " already; this token and these records were not used")
    tell(f"{name}: enrolled on {when}. {future(items, name, 'opt-in')}")
    if counts is not None:
        tell(counts_sentence(counts))
        tell(f"{counts['queued']} of them, drawn at random, are for the curator, who makes the list of such records.")
    tell(remaining_sentence(ledger))


def _queued(items: Sequence[Item], campaign: str) -> int:
    """How many records wait to be sent to a campaign's curator."""
    bodies = [item.body for item in items if item.campaign == campaign and item.kind == "opt-in"]
    return len(OptInRecords.from_bytes(bodies[-1] or b"").records)


def _read_token(path: Path) -> str:
    """The token; never on the command line, where other users of the machine could read it."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_TOKEN_BYTES).decode("ascii").strip()
    except FileNotFoundError:
        raise NoSuchFileError("token_file", path) from None
    except IsADirectoryError:
        raise LogError(f"{path} is no file: --token-file names a file that holds the enrolment token.") from None
    except UnicodeDecodeError:
        raise LogError(f"{path} holds no enrolment token: it must be one line of ASCII.") from None
