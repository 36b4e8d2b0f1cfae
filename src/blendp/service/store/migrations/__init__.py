"""Versions of the schema, one file each under ``versions/``, applied in order by Alembic.

A database changes its schema only when an operator says so (``blendp migrate``), never because a newer program came by:
another one may still be using it. Every step can be taken back, so that what came in since is not lost with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from blendp._version import __version__
from blendp.errors import EngineError, require_choice
from blendp.service.store.one_call import put_in_place

_HERE = Path(__file__).parent
_LOCK = 7235601

Act = Callable[[Connection], None]
"""Something that is done in the transaction of a step."""


class SchemaError(EngineError):
    """A database whose schema is not the one that this version of blendp works with."""


@cache
def known_schemas() -> tuple[str, ...]:
    """The versions of the schema that this version of blendp knows, the newest last: files are called by them."""
    return tuple(sorted(path.name.partition("_")[0] for path in (_HERE / "versions").glob("[0-9]*.py")))


def target_schema(to: str | None) -> str:
    """A version that this version of blendp knows; the newest if none is said."""
    schemas = known_schemas()
    require_choice("to", to or schemas[-1], schemas, "These are the schemas that this version of blendp knows.")
    return to or schemas[-1]


def schema_of(connection: Connection) -> str | None:
    """The version of a database's schema; None if it has none yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    schema: str | None = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return schema


def require_known(schema: str | None) -> None:
    """Raise if a later version of blendp made this schema."""
    if schema is not None and schema not in known_schemas():
        newest = known_schemas()[-1]
        raise SchemaError(
            f"The database has schema {schema}, which blendp {__version__} does not know, so nothing was done: run the "
            f"newer version of blendp, or take the database back with it (blendp migrate --to {newest})."
        )


def require_newest(engine: Engine) -> None:
    """Make the tables of a database that has none; raise if it has others than this version of blendp works with."""
    newest = known_schemas()[-1]
    with _changing(engine) as connection:
        schema = schema_of(connection)
        require_known(schema)
        if schema is None:
            _step(connection, "upgrade", newest)
        elif schema != newest:
            raise SchemaError(
                f"The database has schema {schema}, and blendp {__version__} works with {newest}, so nothing was done: "
                "stop the collector that uses it, then run blendp migrate."
            )
        _equip(connection)


def migrate(engine: Engine, to: str | None = None, *, alone: Act = lambda _: None, note: Act = lambda _: None) -> None:
    """Bring a database to a version of the schema, the newest if none is said, in one transaction.

    ``alone`` raises if others use it. ``note`` writes about it while the schema is the later one of the two.
    """
    schemas, target = known_schemas(), target_schema(to)
    with _changing(engine) as connection:
        alone(connection)
        schema = schema_of(connection)
        require_known(schema)
        down = schema is not None and schemas.index(target) < schemas.index(schema)
        if down:
            note(connection)
            _step(connection, "downgrade", target)
        else:
            _step(connection, "upgrade", target)
            note(connection)
        if target == schemas[-1]:
            _equip(connection)


@contextmanager
def _changing(engine: Engine) -> Iterator[Connection]:
    """A transaction that changes tables; several processes may try at once."""
    with engine.connect() as connection:
        connection.execution_options(blendp_writes=True)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            yield connection


def _step(connection: Connection, verb: Literal["upgrade", "downgrade"], to: str) -> None:
    """By Alembic, which is loaded for it: most often there is nothing to do."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_HERE))
    config.attributes["connection"] = connection
    getattr(command, verb)(config, to)


def _equip(connection: Connection) -> None:
    """Give the newest schema what :mod:`~blendp.service.store.one_call` needs."""
    if connection.dialect.name == "postgresql":
        put_in_place(connection)
