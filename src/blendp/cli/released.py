"""Finding the result that a folder holds: the document of a release, signed or not, or the card of a survey."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blendp.cli.console import errors
from blendp.errors import ParameterError
from blendp.render.release.names import DOCUMENT
from blendp.wire import Envelope, VerifyKey
from blendp.wire.media_types import RELEASE_TYPE

SIGNED_DOCUMENT = "release.dsse.json"
SURVEY_DOCUMENT = "survey.json"

MAX_BYTES = 1 << 28
"""The largest document that is read."""


def release_in(folder: Path, key: VerifyKey | None, *, or_survey: bool = False) -> tuple[bytes, str]:
    """The release document of a directory, and what is known of its signature.

    ``or_survey`` says that a survey was looked for before, for whoever names a directory with neither.
    """
    signed, unsigned = folder / SIGNED_DOCUMENT, folder / DOCUMENT
    if signed.is_file():
        envelope = Envelope.from_bytes(bounded(signed))
        if key is not None:
            return envelope.verified(RELEASE_TYPE, (key,)), "verified"
        warning = "The signature was not checked: give the collector's public key (--key, see blendp key list)."
        errors.print(warning, style="yellow", markup=False, highlight=False, soft_wrap=True)
        return envelope.payload, "not checked"
    if not unsigned.is_file():
        documents, commands = f"{SIGNED_DOCUMENT} or {DOCUMENT}", "blendp run or blendp campaign export"
        if or_survey:
            documents = f"{SIGNED_DOCUMENT}, {DOCUMENT} or {SURVEY_DOCUMENT}"
            commands = "blendp run, blendp survey run or blendp campaign export"
        remedy = f"Name one that {commands} wrote."
        raise ParameterError("release", str(folder), f"a directory with {documents}", remedy)
    if key is not None:
        raise ParameterError("key", key.text, f"left out: {unsigned} is not signed", "blendp run signs nothing.")
    return bounded(unsigned), "none"


def survey_in(folder: Path) -> dict[str, Any] | None:
    """The survey that a directory holds; None where it holds none."""
    path = folder / SURVEY_DOCUMENT
    if not path.is_file():
        return None
    with undamaged(path):
        document = dict(json.loads(bounded(path)))
        json.dumps(document, allow_nan=False)  # raises for numbers that JSON has not, and Python reads
        return document


def bounded(path: Path) -> bytes:
    """What a file holds, unless it is larger than any result."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ParameterError(
            "release", str(path), f"of at most {MAX_BYTES:,} bytes (it has {size:,})", "Name what blendp wrote."
        )
    return data


@contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with the values of a document into one sentence."""
    try:
        yield
    except ParameterError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        remedy = "It is damaged, or another version of blendp wrote it."
        raise ParameterError("release", str(path), "a complete document", remedy) from error
