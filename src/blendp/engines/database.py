"""The embedded database, which needs no server."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import gettempdir
from weakref import finalize

import duckdb

from blendp.errors import EngineError, LogError, ParameterError
from blendp.leftovers import FolderName, HeldFolder, hold_folder, sweep
from blendp.spelling import option

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_MIN_MEMORY = 256 * 10**6

_WHOLE_ANSWERS = "SET streaming_buffer_size = '1TB'"
"""Answers are taken whole: a worker that waits for room in the buffer of one can make the database wait for ever
(DuckDB 1.5, issue 22215; seen with a window over 250 000 rows)."""

SPILL = FolderName("blendp-database-")
"""What folders for temporary files are called."""


def connect(memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory of its own, which fetches no extension and sees no Python variable.

    What does not fit in memory, or in ``memory_limit`` (``"4GB"``), goes to a folder of its own among the system's
    temporary files, never beside the user's, that nobody else can look into. The files go when the connection is
    closed, the folder with the connection; what a killed process left is removed here. The database need not keep rows
    in order, which makes it twice as fast: whatever depends on an order asks for it.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "preserve_insertion_order": False,
    }
    if memory_limit is not None:
        config["memory_limit"] = f"{bytes_of(memory_limit)}B"
    spill = hold_temporary(SPILL)
    try:
        connection = duckdb.connect(":memory:", config=config | {"temp_directory": str(spill.path)})
        connection.execute(_WHOLE_ANSWERS)
    except BaseException:
        spill.remove()
        raise
    finalize(connection, spill.remove)
    return connection


def cursor_of(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Another connection to the same database, with the same settings."""
    return connection.cursor().execute(_WHOLE_ANSWERS)


def hold_temporary(name: FolderName) -> HeldFolder:
    """A folder for what does not fit in memory, after abandoned ones of that name are removed.

    ``TMPDIR`` is taken at its word, since people's rows may go there.
    """
    parent = os.environ.get("TMPDIR")
    try:
        parent = parent or gettempdir()
        sweep(Path(parent), name)
        return hold_folder(Path(parent), name)
    except OSError as error:
        raise EngineError(
            f"Temporary files cannot be kept in {parent or 'any folder'} ({error.strerror}): "
            "make that folder, or set TMPDIR to one that can be written to."
        ) from error


def bytes_of(memory_limit: str) -> int:
    """How many bytes ``"4GB"``, ``"512 MiB"`` ... are."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B)\s*", str(memory_limit), re.IGNORECASE)
    limit = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if limit < _MIN_MEMORY:
        raise ParameterError(
            "memory_limit", memory_limit, "a size of at least 256MB", "Give a number and its unit, such as 4GB."
        )
    return limit


def failed(where: str, error: Exception) -> Exception:
    """What a failure of the database, or of the memory, means to the person who asked; an interrupt stays one."""
    if isinstance(error, duckdb.InterruptException):
        return error
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    if isinstance(error, MemoryError):
        return EngineError(f"The memory of this machine does not suffice for {where} ({reason}): free some.")
    if isinstance(error, duckdb.Error) and any(hint in reason for hint in ("offload", "No space left", SPILL.before)):
        return EngineError(
            f"Temporary files find no room on the disk while reading {where} ({reason}): "
            f"free space, set TMPDIR to a folder with more, or raise {option('memory_limit')}."
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(f"The memory does not suffice for {where} ({reason}): raise {option('memory_limit')}.")
    return LogError(f"Reading {where} failed ({reason}): check the file.")
