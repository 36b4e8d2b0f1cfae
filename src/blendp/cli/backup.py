"""``blendp backup``: all that a collector holds, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.console import results
from blendp.cli.panels import output
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, note, note_act, stored
from blendp.outputs import whole

EXAMPLES = """Examples:

- `blendp backup --out collector-2026-11-16.tar`
- `blendp backup --data /var/lib/blendp --with-keys --out /safe/collector.tar`
"""


def backup(
    out: Annotated[Path, output(help="File for the backup, readable by you alone.")],
    with_keys: Annotated[
        bool, output("--with-keys", help="Put the keys into it too: whoever has it can then read and sign everything.")
    ] = False,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier backup.")] = False,
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
) -> None:
    """Write a backup of a collector, as it is at one moment, also while it runs.

    It is signed with the collector's backup key, whose private part is in the folder of keys and never in a backup.

    Of PostgreSQL with pg_dump. Backups of the embedded database and of PostgreSQL are not interchangeable.
    """
    settings = stored(data, database)
    from blendp.service.backup import make_backup

    with whole(out, overwrite=overwrite) as new:
        written, key = make_backup(settings, new, with_keys=with_keys)
    note_act(settings, "backup", "with keys" if with_keys else "without keys")
    if with_keys:
        note("It holds the private keys: keep it as safe as the collector itself.")
    elif written.keys:
        note(
            f"The {len(written.keys)} keys are not in it: without {data / 'keys'} it is of no use, so copy that "
            "elsewhere."
        )
    note(f"Signed with the backup key {key.text}: note that elsewhere, since a restore asks for it (--key).")
    note("Delete it when the campaigns in it are released: it keeps what people may have deleted since.")
    results.print(f"Backup in {out}.", markup=False, highlight=False, soft_wrap=True)
