"""CSV and TSV files read by the database where they lie: it splits them into lines, and every line into fields.

The database's own reading of quotes would follow them across lines, and one person's quote would decide how others are
read. So it is asked for lines alone, which end at line feeds, and cuts each of them by an expression over that line
(:mod:`blendp.logs.line_sql`). A witness counts the lines of the same files (:mod:`blendp.logs.line_witness`). Files
that seem plain, without a quote or NUL byte at the beginning, are cut into columns by the database itself; if the
witness sees a line that is not plain, wherever it stands, they are read again as lines.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from blendp.engines.second_look import CHOSEN
from blendp.engines.staged import StagedLog
from blendp.logs.columns import positions, same_levels
from blendp.logs.delimited import cut_dialect, header_of
from blendp.logs.dialect import TextDialect
from blendp.logs.fields import whole_lines
from blendp.logs.intake import RowIntake
from blendp.logs.line_sql import rows_of_columns, rows_of_lines
from blendp.logs.line_witness import NOWHERE, LinesSeen, LineWitness, TextFile, has_more_than_text
from blendp.logs.reading import HowRead, LogReading
from blendp.logs.sources import compression_of
from blendp.normalise import literal

_HEAD = 1 << 16
_MAX_HEADER_LINE = 1000


@dataclass(frozen=True)
class TextScan:
    """Text files of one dialect whose headers have been read."""

    files: tuple[TextFile, ...]
    dialect: TextDialect
    levels: int
    plain: bool
    """Whether no line has a quote or a NUL byte, as far as is known: the database may then cut the lines itself."""

    def staged(
        self,
        where: str,
        reading: LogReading,
        how: HowRead,
        memory_limit: str | None,
        progress: Callable[[int], None] | None,
        instead: Callable[[], StagedLog],
    ) -> StagedLog:
        """The log of these files; ``instead`` reads them if the database does not read them as it should."""
        if self.plain:
            quoted = replace(self, plain=False)
            instead = partial(quoted.staged, where, reading, how, memory_limit, progress, instead)
        opt_in = "opt_in" in self.files[0].position_of
        intake = RowIntake(reading.normalise, opt_in=opt_in, rows=reading.filter, memory_limit=memory_limit)
        intake.levels = self.levels
        files = tuple(replace(file, position_of=file.position_of | _filtered(file, intake)) for file in self.files)
        alike = [list(some) for _, some in groupby(files, _layout)]
        rows, rows_of_chosen = (
            " UNION ALL ".join(self._rows(some, people) for some in alike) for people in (None, CHOSEN)
        )
        witness = LineWitness(files, self.dialect, intake, plain=self.plain)
        return intake.scanned(
            rows, reading.max_broken, where, progress, instead, witness, rows_of_chosen, how, nul=not self.plain
        )

    def _rows(self, files: Sequence[TextFile], people: str | None) -> str:
        """SQL for the rows of files of one layout, of these people if some are named."""
        header_line, compression, width, _ = _layout(files[0])
        paths = ", ".join(literal(str(file.path)) for file in files)
        names = [f"column{i + 1}" for i in range(width + 1)] if self.plain else ["line"]
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
        delimiter = self.dialect.delimiter if self.plain else NOWHERE
        missing = f"null_padding = true, nullstr = {literal(NOWHERE)}," if self.plain else ""
        read = f"""
            FROM read_csv([{paths}], columns = {{{columns}}}, skip = {header_line}, delim = {literal(delimiter)},
                {missing} quote = '', escape = '', comment = '', new_line = '\\n', header = false, auto_detect = false,
                strict_mode = false, ignore_errors = true, compression = '{compression}', hive_partitioning = false)
        """
        if self.plain:
            return rows_of_columns(read, width, files[0].position_of, people)
        return rows_of_lines(read, self.dialect, width, files[0].position_of, people)


def scan_delimited(paths: Sequence[Path], dialect: TextDialect, reading: LogReading) -> TextScan | None:
    """The scan of these files, or None where their names, or how they begin, ask for the careful way.

    Raises :class:`~blendp.errors.LogError` for a file that is empty or lacks a column.
    """
    if dialect.encoding != "utf-8" or not dialect.header:
        return None
    if not all(path.is_file() and not glob.has_magic(str(path)) for path in paths):
        return None
    files: list[TextFile] = []
    levels: int | None = None
    plain = True
    for path in paths:
        cut = next(cut_dialect(path, dialect, _HEAD))
        header, header_line = reading.names or header_of(cut, dialect.quotes), int(cut.lines[0])
        position_of = positions(header, reading.columns, str(path))
        levels = same_levels(position_of, levels, str(path))
        seen, head = LinesSeen(), next(whole_lines(path, _HEAD))
        seen.look(head)
        plain = plain and not has_more_than_text(head)
        if seen.strange or header_line > _MAX_HEADER_LINE:
            return None
        files.append(TextFile(path, header_line, tuple(header), position_of))
    return TextScan(tuple(files), dialect, levels or 1, plain)


def _filtered(file: TextFile, intake: RowIntake) -> dict[str, int]:
    """Where the columns stand that the filter looks at."""
    return intake.filter_by(file.names, str(file.path)).over(file.names, str(file.path))


def _layout(file: TextFile) -> tuple[int, str, int, dict[str, int]]:
    return file.header_line, compression_of(file.path) or "none", file.width, file.position_of
