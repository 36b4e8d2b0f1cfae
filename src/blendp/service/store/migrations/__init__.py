"""Versions of the schema, one file each under ``versions/``, applied in order by Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy.engine import Engine

from blendp.errors import EngineError
from blendp.service.store.one_call import put_in_place


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the database to a version of the schema, in one transaction; several processes may try at once.

    A database of the newest version has what :mod:`~blendp.service.store.one_call` needs, too.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with engine.connect() as connection:
        connection.execution_options(blendp_writes=True)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7235601)")
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, revision)
            except CommandError as error:
                raise EngineError(f"The database needs a newer version of blendp: {error}.") from error
            if engine.dialect.name == "postgresql":
                put_in_place(connection)
