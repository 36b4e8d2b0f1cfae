"""Two versions of blendp side by side, as an operator has them: this one, and one with a further step of the schema.

The later version is this program, all of it, with one more migration and the table that it adds: the step alone is
invented.
"""

from __future__ import annotations

import sys
from pathlib import Path

import blendp
from blendp.service.store.migrations import known_schemas
from tests.forked import OF_COLLECTORS, Parent, parent_of_collectors, write_program

THIS, NEXT = known_schemas()[-1], f"{int(known_schemas()[-1]) + 1:04d}"

_SOURCE = Path(blendp.__file__).parent
_STEP = f'''"""A step that is invented: a column on two tables that have rows, and a table."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{THIS}"


def upgrade() -> None:
    """Add them."""
    op.add_column("campaign", sa.Column("language", sa.String(8), nullable=False, server_default="en"))
    op.add_column("report", sa.Column("weight", sa.SmallInteger, nullable=False, server_default="1"))
    op.create_table("remark", sa.Column("number", sa.Integer, primary_key=True), sa.Column("text", sa.String(100)))


def downgrade() -> None:
    """Take them away."""
    op.drop_table("remark")
    op.drop_column("report", "weight")
    op.drop_column("campaign", "language")
'''
_TABLE = """
remark = Table("remark", metadata, Column("number", Integer, primary_key=True), Column("text", String(100)))
"""


def install(folder: Path, version: Parent | None = None) -> None:
    """A folder with ``bin/blendp``, as a virtual environment has it: of this version, or of another."""
    program = folder / "bin" / "blendp"
    program.parent.mkdir(parents=True)
    write_program(program, version or parent_of_collectors())


def install_ahead(folder: Path, days: int) -> None:
    """This version on a machine whose clock is so many days ahead."""
    install(folder)
    start = f"""import datetime, runpy
from blendp.service import clock
clock.utc_today = lambda: datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days={days})
runpy.run_module("blendp", run_name="__main__")
"""
    (folder / "start.py").write_text(start)
    (folder / "bin" / "blendp").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/start.py" "$@"\n')


def next_version(folder: Path) -> Parent:
    """The later version, written into a folder, and loaded."""
    package = folder / "blendp"
    store = Path("service/store")
    for inner in (Path(), Path("service"), store, store / "migrations", store / "migrations/versions"):
        (package / inner).mkdir(parents=True)
        for path in (_SOURCE / inner).iterdir():
            target = package / inner / path.name
            if path.name != "__pycache__" and (
                path.is_file() or path.name not in (*store.parts, "migrations", "versions")
            ):
                target.symlink_to(path)
    (package / store / "migrations/versions" / f"{NEXT}_invented.py").write_text(_STEP)
    _replace(package / "_version.py", '__version__ = "999.0"\n')
    _replace(package / store / "schema.py", (_SOURCE / store / "schema.py").read_text() + _TABLE)
    return Parent(*OF_COLLECTORS, source=folder)


def _replace(link: Path, text: str) -> None:
    link.unlink()
    link.write_text(text)
