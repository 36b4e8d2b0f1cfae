"""``blendp key rotate``: a new key to sign with."""

from __future__ import annotations

import sys
from typing import Annotated

from blendp.cli.lost_output import printing
from blendp.cli.panels import privacy
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, note, opened, stored

EXAMPLES = """Examples:

- `blendp key rotate`
- `blendp key rotate --overlap-days 90`
"""


def rotate(
    overlap_days: Annotated[int, privacy(help="Days for which the old key stays good.")] = 30,
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
) -> None:
    """Make a new signing key, vouched for by the old one, and sign every document with it. Prints the public key.

    Clients that know the old key and visit within the overlap learn the new one by themselves.
    """
    with opened(stored(data, database)) as collector:
        new = collector.lifecycle.rotate_keys(overlap_days)
        old = collector.keys.known()[-2]
    note(f"The key {old.public} is good until {old.until}; put the new one into new clients.")
    with printing():
        sys.stdout.write(new.public + "\n")
