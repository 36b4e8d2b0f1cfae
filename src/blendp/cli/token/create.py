"""``blendp token create``: a token for an operator, shown once."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Option

from blendp.cli.lost_output import printing
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, address, note, opened
from blendp.errors import require_choice

EXAMPLES = """Examples:

- `blendp token create --name alice`
- `blendp token create --name dashboard --scope read > token.txt`
"""


def create(
    name: Annotated[str, Option(help="Whose token it is.")],
    scope: Annotated[
        list[str] | None,
        Option(
            help="read (status, export, audit, metrics), manage (create, enrol, publish, delete, clock), release; "
            "may be repeated."
        ),
    ] = None,
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
) -> None:
    """Print a new token, for all scopes if none is said. It is shown this once, and kept nowhere."""
    from blendp.service.settings import DATABASE_FILE, Settings
    from blendp.wire.tokens import SCOPES

    for one in scope or ():
        require_choice("scope", one, SCOPES)
    settings = Settings(data=data, database=address(database))
    new = settings.database is None and not (data / DATABASE_FILE).is_file()
    with opened(settings) as collector:
        token = collector.tokens.create(name, scope or SCOPES)
    if new:
        note(f"Made a new collector in {data.absolute()}: there was none.")
    note("Shown this once: put it into BLENDP_TOKEN, or into a file that only you can read (--token-file).")
    with printing():
        sys.stdout.write(token + "\n")
