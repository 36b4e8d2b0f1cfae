"""Another schema for a collector's database: a backup first, and nobody else in it meanwhile."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy.engine import Connection

from blendp.errors import OutputExistsError
from blendp.service.audit import LOCAL, Trail
from blendp.service.backup import make_backup
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store import Store, open_store
from blendp.service.store.migrations import migrate, require_known, schema_of, target_schema
from blendp.service.store.sole_use import require_alone, require_unused


@dataclass(frozen=True)
class SchemaChange:
    """From which schema to which; the same if nothing had to be done."""

    before: str
    after: str

    @property
    def needed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def __str__(self) -> str:
        """For the audit trail."""
        return f"from schema {self.before} to {self.after}"


def change_schema(settings: Settings, backup: Path, to: str | None = None) -> SchemaChange:
    """Bring a collector's database to a schema, the newest if none is said, after a backup of it as it is.

    Whatever fails, the database is as it was.
    """
    target = target_schema(to)
    change = SchemaChange(_present_schema(settings) or target, target)
    if change.needed:
        if os.path.lexists(backup):
            raise OutputExistsError(f"{backup} is there already: name a new file for the backup.")
        _require_sole_use(settings)
        make_backup(settings, backup, with_keys=False)
        _require_sole_use(settings)
        note = partial(_note, change)
        open_store(settings, partial(migrate, to=target, alone=require_alone, note=note)).close()
    return change


def _present_schema(settings: Settings) -> str | None:
    with closing(open_store(settings, lambda _: None)) as store, store.reading() as connection:
        schema = schema_of(connection)
    require_known(schema)
    return schema


def _require_sole_use(settings: Settings) -> None:
    """Raise if a collector runs; PostgreSQL is asked again in the transaction that changes the schema."""
    if settings.database is None:
        require_unused(settings.data / DATABASE_FILE)
        return
    with closing(open_store(settings, lambda _: None)) as store, store.reading() as connection:
        require_alone(connection)


def _note(change: SchemaChange, connection: Connection) -> None:
    Trail(Store(connection.engine)).note(connection, LOCAL, "migrate", detail=str(change))
