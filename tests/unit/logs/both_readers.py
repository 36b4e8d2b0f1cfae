"""The rows of a log by either reader, as they stand there, with the lines that are none by reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from blendp.engines import StagedLog
from blendp.logs.columns import Columns
from blendp.logs.delimited import read_delimited
from blendp.logs.dialect import TextDialect
from blendp.logs.intake import RowIntake

Rows = Counter[tuple[str | None, ...]]


def settled(log: StagedLog) -> StagedLog:
    """The log once its witness has seen all: this one, or one that is read in another way instead."""
    if log.witness is None:
        return log
    log.witness.start()
    ((rows,),) = log.connection.execute(f"SELECT count(*) FROM ({log.rows})").fetchall()
    if log.witness.agrees(rows):
        log.witness.put_aside()
        return log
    log.connection.close()
    assert log.instead is not None
    return settled(log.instead())


def rows_and_flaws(log: StagedLog) -> tuple[Rows, Rows]:
    """All rows of a log that is settled, and how many lines are broken or ignored by reason; closes it."""
    rows = log.connection.execute(f"SELECT person, query, url, opt_in, reason FROM ({log.rows})").fetchall()
    log.connection.close()
    nameless = Counter(why for person, _, _, _, why in rows if person is None and why is not None)
    counts: Rows = Counter({(why,): n for why, n in (log.broken + log.ignored + nameless).items()})
    return Counter(row for row in rows if row[0] is not None or row[4] is None), counts


def careful(path: Path, dialect: TextDialect, columns: Columns) -> StagedLog:
    """The log by the careful reader."""
    intake = RowIntake("blendp-1", opt_in=columns.opt_in is not None)
    read_delimited([path], dialect, columns, intake)
    return intake.finish(1, str(path))
