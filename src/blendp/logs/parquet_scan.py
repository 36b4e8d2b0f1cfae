"""Parquet files read by the database where they lie."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from blendp.engines.staged import StagedLog
from blendp.engines.usable import RowRule
from blendp.logs.columns import Columns, positions, same_levels
from blendp.logs.filters import compiled, require_truth
from blendp.logs.parquet_footer import footer_of
from blendp.logs.reading import HowRead, LogReading
from blendp.logs.sources import compression_of
from blendp.normalise import literal

_ROW, _ROW_OF_SEVERAL = "file_row_number::UBIGINT", "(file_index::UBIGINT << 40) + file_row_number::UBIGINT"


@dataclass(frozen=True)
class ParquetScan:
    """Files whose columns the database reads as blendp does: texts, whole numbers, truth values and UUIDs."""

    paths: tuple[Path, ...]
    names: dict[str, str]
    all_names: tuple[str, ...]
    levels: int
    rows: int
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    def staged(
        self,
        where: str,
        reading: LogReading,
        how: HowRead,
        progress: Callable[[int], None] | None,
        instead: Callable[[], StagedLog],
    ) -> StagedLog:
        """The log of these files; ``instead`` reads them if they hold texts that are not UTF-8."""
        roles = {"user": "person", "query": "query", "url": "url", "opt_in": "opt_in"}
        columns = ", ".join(
            f"{_quoted(self.names[role])}::VARCHAR AS {name}" if role in self.names else f"NULL::VARCHAR AS {name}"
            for role, name in roles.items()
        )
        files = ", ".join(literal(str(path)) for path in self.paths)
        row_number = _ROW if len(self.paths) == 1 else _ROW_OF_SEVERAL
        source = f"read_parquet([{files}], hive_partitioning = false)"
        filter = compiled(reading.filter, self.all_names, where, self.connection)
        looked_at = "".join(
            f", {_quoted(self.all_names[at])} AS {alias}" for alias, at in filter.over(self.all_names, where).items()
        )
        rows = f"SELECT {row_number} AS place, {columns}{looked_at} FROM {source}"
        if filter:
            require_truth(filter, rows, self.connection, reading.where)
            rows = f"SELECT place, {', '.join(roles.values())}, {filter.sql} AS kept FROM ({rows})"
        return StagedLog(
            rows,
            RowRule(self.levels, "opt_in" in self.names, reading.normalise, bool(filter)),
            where,
            reading.max_broken,
            self.connection,
            has_reasons=False,
            total_rows=self.rows,
            progress=progress,
            instead=instead,
            how=how,
        )


def scan_parquet(
    paths: Sequence[Path], columns: Columns, connection: duckdb.DuckDBPyConnection, *, filtered: bool = False
) -> ParquetScan | None:
    """The scan of these files, or None where their columns or names ask for the careful way.

    The database reads every file by the types of the first, so all must have the same: of the columns of the log, and
    of all where a filter may look at any.
    """
    names: dict[str, str] = {}
    all_names: list[str] = []
    kinds: set[tuple[str, ...]] = set()
    levels: int | None = None
    rows = 0
    for path in paths:
        if glob.has_magic(str(path)) or compression_of(path):
            return None
        footer = footer_of(path, connection)
        all_names = all_names or footer.names
        position_of = positions(footer.names, columns, str(path))
        levels = same_levels(position_of, levels, str(path))
        names = {role: footer.names[position] for role, position in position_of.items()}
        if not all(column.is_scannable for column in footer.columns if column.name in names.values()):
            return None
        looked_at = sorted(set(footer.names)) if filtered else names.values()
        kind_of = {column.name: column.kind for column in footer.columns}
        kinds.add(tuple(kind_of[name] for name in looked_at if footer.names.count(name) == 1))
        rows += footer.rows
    if len(kinds) != 1:
        return None
    return ParquetScan(tuple(paths), names, tuple(all_names), levels or 1, rows, connection)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
