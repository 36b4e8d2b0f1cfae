"""``blendp client enrol``: records as they are, to a campaign's curator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.client.options import AsJson, CampaignName, Where
from blendp.cli.client.people_records import read_records
from blendp.cli.client.words import tell
from blendp.cli.console import print_json
from blendp.cli.options import privacy, reading, takes_job
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
    held = read_records(records)
    with job.opened(name) as device:
        done = device.enrol(name, _read_token(token_file), held)
        epsilon, delta = device.ledger.remaining
    if as_json:
        left = {"epsilon": float(epsilon), "delta": float(delta)}
        print_json({"campaign": name, "group": done.group, "day": done.day, "remaining": left})
        return
    tell(f"{name}: enrolled on {done.day}. See what will be sent: blendp client show; send it: blendp client send.")
    tell(f"Remaining for life: ε = {float(epsilon):g}, δ = {float(delta):g}.")


def _read_token(path: Path) -> str:
    """The token; never on the command line, where other users of the machine could read it."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("ascii").strip()
    except (FileNotFoundError, IsADirectoryError):
        raise LogError(f"{path} is no file: --token-file names a file that holds the enrolment token.") from None
    except UnicodeDecodeError:
        raise LogError(f"{path} holds no enrolment token: it must be one line of ASCII.") from None
