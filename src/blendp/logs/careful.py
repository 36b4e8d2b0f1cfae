"""The careful way to read a log: every row is taken into the database, as the format's own reader cuts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from blendp.engines.database import failed
from blendp.engines.staged import StagedLog
from blendp.logs.delimited import read_aol, read_delimited
from blendp.logs.encodings import UTF_8
from blendp.logs.intake import RowIntake
from blendp.logs.ndjson import read_ndjson
from blendp.logs.reading import HowRead, LogReading
from blendp.logs.tabular import read_parquet
from blendp.logs.yandex import read_yandex


def read_carefully(
    paths: Sequence[Path],
    how: HowRead,
    reading: LogReading,
    where: str,
    memory_limit: str | None,
    progress: Callable[[int], None] | None,
) -> StagedLog:
    """The log of these files, all rows taken in; ``where`` names it in messages."""
    columns, encoding = reading.columns, reading.encoding or UTF_8
    intake = RowIntake(
        reading.normalise,
        opt_in=columns.opt_in is not None,
        rows=reading.filter,
        memory_limit=memory_limit,
        progress=progress,
    )
    try:
        if how.format == "aol":
            read_aol(paths, intake, encoding)
        elif how.format == "yandex":
            read_yandex(paths, intake, encoding)
        elif how.format == "ndjson":
            read_ndjson(paths, columns, intake, where, encoding)
        elif how.dialect is None:
            read_parquet(paths, columns, intake)
        else:
            read_delimited(paths, how.dialect, columns, intake, reading.names)
            how = _seen(how, intake, reading)
    except duckdb.Error as error:
        raise failed(where, error) from error
    return intake.finish(reading.max_broken, where, how)


def _seen(how: HowRead, intake: RowIntake, reading: LogReading) -> HowRead:
    """How delimited files were read, with what is known only now: a pipe's columns, and fields that have no name."""
    usual = intake.usual_fields
    named = len(reading.names or ())
    wrong = (usual, named) if usual is not None and usual > 1 and named not in (0, usual) else None
    return replace(how, columns=how.columns or intake.columns, wrong_fields=wrong)
