"""``blendp migrate``: another schema for a collector's database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.console import results
from blendp.cli.panels import output
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, kept, note, stored

EXAMPLES = """Examples:

- `blendp migrate --backup before-upgrade.tar`
- `blendp migrate --to 0001 --backup before-downgrade.tar`
"""


def migrate(
    backup: Annotated[Path, output(help="File for a backup of the database as it is, readable by you alone.")],
    to: Annotated[str | None, kept(help="Schema to bring it to: the newest, if none is said.")] = None,
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
) -> None:
    """Bring a collector's database to the schema of this version of blendp, or back to an older one.

    A backup is made first. Stop the collector before. Whatever fails, the database is as it was. To go back to an older
    version of blendp, run this with the newer version, name the older schema, and then install the older version.
    """
    settings = stored(data, database)
    from blendp.service.migration import change_schema

    change = change_schema(settings, backup, to)
    if not change.needed:
        results.print(f"The database has schema {change.after}: nothing to do.", markup=False, highlight=False)
        return
    note(f"As it was before, it is in {backup}: delete that when you are sure, since it keeps what people delete.")
    sentence = f"Migrated the database {change}."
    results.print(sentence, markup=False, highlight=False, soft_wrap=True)
