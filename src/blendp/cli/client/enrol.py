"""``blendp client enrol``: records as they are, to a campaign's curator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.client.options import AsJson, CampaignName, Where
from blendp.cli.client.people_records import read_records, usable_records
from blendp.cli.client.words import future, tell
from blendp.cli.console import print_json
from blendp.cli.options import NoSuchFileError, privacy, reading, takes_job
from blendp.client import Device, Participation
from blendp.errors import LogError

EXAMPLES = """Examples:

- `blendp client enrol trends-2026-11 --token-file token.txt --records mine.csv`
- `blendp client enrol trends-2026-11 --server https://collector.example.org --key 8f0c... --token-file t --records -`
"""

_LARGEST = 4096


@takes_job
def enrol(
    job: Where,
    name: CampaignName,
    token_file: Annotated[Path, privacy(help="File with the enrolment token that the campaign gave you.")],
    records: Annotated[Path, reading(help="Your records, lines of query,url in CSV; - is standard input.")],
    as_json: AsJson = False,
) -> None:
    """Queue some of your records, drawn at random, for the curator of a campaign that you trust.

    Needs consent opt-in. They are sent as they are (blendp client send), and wiped from this device once they arrived.
    """
    with job.opened(name) as device:
        before = device.participation(name)
        done = device.enrol(name, "", []) if before is not None else _enrolled(device, name, token_file, records)
        epsilon, delta = device.ledger.remaining
        items = device.items
    if as_json:
        left = {"epsilon": float(epsilon), "delta": float(delta)}
        print_json({"campaign": name, "group": done.group, "day": done.day, "remaining": left})
        return
    when = f"{done.day}" + ("" if before is None else " already; this token and these records were not used")
    tell(f"{name}: enrolled on {when}. {future(items, name, 'opt-in')}")
    tell(f"Remaining for life: ε = {float(epsilon):g}, δ = {float(delta):g}.")


def _enrolled(device: Device, name: str, token_file: Path, records: Path) -> Participation:
    held = read_records(records)
    with usable_records(records, name, "there is nothing to send."):
        return device.enrol(name, _read_token(token_file), held)


def _read_token(path: Path) -> str:
    """The token; never on the command line, where other users of the machine could read it."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("ascii").strip()
    except FileNotFoundError:
        raise NoSuchFileError("token_file", path) from None
    except IsADirectoryError:
        raise LogError(f"{path} is no file: --token-file names a file that holds the enrolment token.") from None
    except UnicodeDecodeError:
        raise LogError(f"{path} holds no enrolment token: it must be one line of ASCII.") from None
