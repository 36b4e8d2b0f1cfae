"""``blendp vectors write``: make the vectors anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blendp.cli.serve import note
from blendp.conformance.vectors import BAD, GOOD, write_vectors
from blendp.errors import OutputExistsError

EXAMPLES = """Examples:

- `blendp vectors write vectors`
"""


def write(
    folder: Annotated[Path, typer.Argument(help="Where good/ and bad/ are written.")],
    overwrite: Annotated[bool, typer.Option(help="Write over files that are there.")] = False,
) -> None:
    """Make all vectors anew with this version of blendp, the same bytes every time."""
    from blendp.conformance.cases import all_vectors

    if not overwrite and any((folder / group).exists() for group in (GOOD, BAD)):
        raise OutputExistsError(f"{folder} has vectors already: name another folder, or say --overwrite.")
    files = list(all_vectors())
    write_vectors(folder, files)
    note(f"{sum(len(file.vectors) for file in files)} vectors of {len(files)} kinds are in {folder}.")
