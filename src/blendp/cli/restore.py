"""``blendp restore``: a backup, put in place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from blendp.cli.console import errors, results
from blendp.cli.failures import NoSuchFileError
from blendp.cli.panels import output
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, address, kept, note, note_act
from blendp.wire import VerifyKey

EXAMPLES = """Examples:

- `blendp restore collector-2026-11-16.tar --data /var/lib/blendp --key 5d1e...`
- `blendp restore collector.tar --database postgresql://collector@db/blendp --overwrite`
"""


def restore(
    file: Annotated[Path, Argument(help="A backup that blendp backup made.", metavar="FILE")],
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
    key: Annotated[
        str | None,
        kept(help="Public backup key that blendp backup told, 64 hexadecimal digits (that of --data, if it has one)."),
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace the collector that is there.")] = False,
) -> None:
    """Put a backup in place of nothing, or of the collector that is there, and bring it to the newest schema.

    A backup that the backup key did not sign is refused: whoever made or altered it could have put in a token of their
    own. Stop the collector first. Backups of the embedded database and of PostgreSQL are not interchangeable.
    """
    from blendp.service.backup import restore_backup
    from blendp.service.settings import Settings

    known = None if key is None else VerifyKey.of_text(key)
    settings = Settings(data=data, database=address(database))
    if not file.exists():
        raise NoSuchFileError("FILE", file)
    restored, missing = restore_backup(file, settings, overwrite=overwrite, key=known)
    note_act(settings, "restore", f"a backup of {restored.day}")
    note(
        f"All is as it was on {restored.day}: what was deleted since is back, so delete it again; a list or result "
        f"that was published since must not be made anew, since that would spend the promise twice."
    )
    if missing:
        errors.print(
            f"Put the missing keys back by hand, into {data / 'keys'}: {', '.join(missing)}.",
            style="yellow",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    results.print(f"Restored {file} to {data}.", markup=False, highlight=False, soft_wrap=True)
