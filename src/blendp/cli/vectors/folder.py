"""Where vectors are, and which of them are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from blendp.conformance.vectors import VectorFile, own_vectors, read_vectors
from blendp.errors import require_choice

VectorFolder = Annotated[
    Path | None, Option("--vectors", help="The folder with good/ and bad/; blendp's own if none is named.")
]


def files_of(folder: Path | None, kinds: list[str] | None = None) -> list[VectorFile]:
    """The vectors of a folder, of these kinds if any are named."""
    files = list(read_vectors(folder or own_vectors()))
    known = tuple(dict.fromkeys(file.kind for file in files))
    for kind in kinds or ():
        require_choice("kind", kind, known)
    return [file for file in files if not kinds or file.kind in kinds]
