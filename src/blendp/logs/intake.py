"""Where the rows of all formats come together, as they stand in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blendp.arrow import pa
from blendp.engines.database import connect
from blendp.engines.quality import Described
from blendp.engines.staged import STAGED, StagedLog, Witness
from blendp.engines.usable import RowRule
from blendp.logs.fields import Cut
from blendp.logs.filters import ALIAS, CompiledFilter, RowFilter, compiled, require_truth

_ROLES = ("user", "query", "url", "opt_in")
_CHUNK = 1 << 16
_COLUMNS = "person, query, url, opt_in, reason, kept"


class RowIntake:
    """A log on its way in.

    A row with a readable user makes that user part of the population, even if the row is broken otherwise;
    rows that are ignored never come here, and rows that cannot be cut into fields name no user.
    ``levels`` is set by the reader of the format, and ``columns``, the column of each role, by that of delimited text.
    """

    def __init__(
        self,
        rule: str,
        *,
        opt_in: bool,
        rows: RowFilter | None = None,
        memory_limit: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Start an empty log under a rule of :mod:`blendp.normalise`, with or without an opt-in column.

        ``rows`` says which rows count; the reader calls :meth:`filter_by` once it knows the columns.
        ``progress`` is told how many rows have come in, every now and then.
        """
        self.connection = connect(memory_limit)
        self.levels: int | None = None
        self.columns: dict[str, str] = {}
        self._fields: Counter[int] = Counter()
        self._rule = rule
        self._opt_in = opt_in
        self._progress = progress
        self._next_row = 0
        self._broken: Counter[str] = Counter()
        self._ignored: Counter[str] = Counter()
        self._rows = rows or RowFilter()
        self._filter: CompiledFilter | None = None
        self.connection.execute(f"""
            CREATE TABLE {STAGED} (
                place UBIGINT, person VARCHAR, query VARCHAR, url VARCHAR, opt_in VARCHAR, reason VARCHAR, kept BOOLEAN)
        """)

    def filter_by(self, names: Sequence[str] | None, where: str, schema: pa.Schema | None = None) -> CompiledFilter:
        """The filter, once the names of all columns are known (None: rows alone have them), and their types if any."""
        if self._filter is None:
            self._filter = compiled(self._rows, names, where, self.connection)
            require_truth(self._filter, self._shape(names, schema, where), self.connection, self._rows.where)
        return self._filter

    def _shape(self, names: Sequence[str] | None, schema: pa.Schema | None, where: str) -> str | None:
        """SQL for the columns that the filter looks at, if they have types."""
        if schema is None or names is None or not self._filter:
            return None
        fields = {alias: schema.field(at) for alias, at in self._filter.over(names, where).items()}
        shape = pa.schema([field.with_name(alias) for alias, field in fields.items()])
        self.connection.register("shape", shape.empty_table())
        return "FROM shape"

    def count_broken(self, reason: str, rows: int) -> None:
        """Count rows that are broken and name no user."""
        self._broken[reason] += rows

    def count_flawed(self, cut: Cut) -> None:
        """Count the lines that could not be cut."""
        for reason, lines in cut.flawed.items():
            self.count_broken(reason, len(lines))

    def note_columns(self, names: Sequence[str], position_of: Mapping[str, int], where: str) -> None:
        """Note the column of each role, and that of the time if it counts, in the first file."""
        if not self.columns:
            self.columns = {role: names[position] for role, position in position_of.items()}
            if self._rows.bounds:
                self.columns["time"] = self._rows.time_name(names, where)

    def count_fields(self, fields: NDArray[np.int64]) -> None:
        """Note how many fields rows have."""
        self._fields.update(dict(zip(*(part.tolist() for part in np.unique(fields, return_counts=True)), strict=True)))

    @property
    def usual_fields(self) -> int | None:
        """How many fields most rows have, None if no number is that of most."""
        ((fields, rows),) = self._fields.most_common(1) or [(0, 0)]
        return fields if 2 * rows > self._fields.total() else None

    def count_ignored(self, reason: str, rows: int) -> None:
        """Count rows that hold no record by the rules of the format."""
        self._ignored[reason] += rows

    def numbered(self, table: pa.Table) -> pa.Table:
        """The table with the column ``row``, and with text where a column of bytes is UTF-8 throughout."""
        row = np.arange(self._next_row, self._next_row + table.num_rows, dtype=np.uint64)
        self._next_row += table.num_rows
        if self._progress is not None:
            self._progress(self._next_row)
        columns = {name: _as_text(table[name]) for name in table.column_names}
        numbered = pa.table({"row": pa.array(row), **columns})
        return pa.Table.from_batches(numbered.to_batches(max_chunksize=_CHUNK), numbered.schema)

    def add(self, table: pa.Table) -> None:
        """Take in rows with the columns user, query and, if the log has them, url, opt_in and those of the filter."""
        if not table.num_rows:
            return
        block = self.numbered(table)
        texts = {role: _text(block.schema, role) for role in _ROLES}
        unread = " OR ".join(
            f'("{role}" IS NOT NULL AND {text} IS NULL)' for role, text in texts.items() if "decode" in text
        )
        reason = f"CASE WHEN {unread} THEN 'not UTF-8' END" if unread else "NULL"
        texts |= {alias: _text(block.schema, alias) for alias in block.column_names if alias.startswith(ALIAS)}
        selected = ", ".join(f'{text} AS "{role}"' for role, text in texts.items())
        self.connection.register("block", block)
        self.add_rows(f"SELECT row, {selected}, {reason} AS reason FROM block")
        self.connection.unregister("block")

    def add_rows(self, rows: str) -> None:
        """Take in the rows of an SQL query: row, user, query, url, opt_in as text, and why a row is broken.

        The columns that the filter looks at come with them.
        """
        self.connection.execute(
            f'INSERT INTO {STAGED} SELECT row, "user", query, url, opt_in, reason, {self._kept} FROM ({rows})'
        )

    def finish(self, max_broken: float, where: str, how: Described | None = None) -> StagedLog:
        """The log, ready to be drawn from."""
        rows = f"SELECT place, {_COLUMNS} FROM {STAGED}"
        return StagedLog(
            rows,
            self._row_rule,
            where,
            max_broken,
            self.connection,
            broken=self._broken,
            ignored=self._ignored,
            how=how,
        )

    def scanned(
        self,
        rows: str,
        max_broken: float,
        where: str,
        progress: Callable[[int], None] | None,
        instead: Callable[[], StagedLog],
        witness: Witness,
        rows_of_chosen: str,
        how: Described | None = None,
        *,
        nul: bool = True,
    ) -> StagedLog:
        """The log of the rows of an SQL query, and of those that come in once the witness has seen all.

        The columns that the filter looks at come with the rows; ``nul`` says whether they may hold NUL bytes. The
        database does not know how many rows there are,
        and would keep them where it should keep those who are looked for: joins are done as they are written, the
        smaller side second.
        """
        self.connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        own = f"SELECT person, query, url, opt_in, reason, {self._kept} AS kept FROM "
        more = f" UNION ALL SELECT {_COLUMNS} FROM {STAGED}"
        return StagedLog(
            f"{own} ({rows}) {more}",
            replace(self._row_rule, nul=nul),
            where,
            max_broken,
            self.connection,
            has_places=False,
            broken=self._broken,
            ignored=self._ignored,
            progress=progress,
            instead=instead,
            witness=witness,
            rows_of_chosen=f"{own} ({rows_of_chosen}) {more}",
            how=how,
        )

    @property
    def _kept(self) -> str:
        """SQL for whether a row counts."""
        return self._filter.sql if self._filter else "true"

    @property
    def _row_rule(self) -> RowRule:
        return RowRule(self.levels or 1, self._opt_in, self._rule, bool(self._filter))


@contextmanager
def register_lines(intake: RowIntake, cut: Cut) -> Iterator[str]:
    """SQL for the lines of a cut with their row numbers; one that is not UTF-8 is NULL, those too long are counted."""
    intake.count_flawed(cut)
    block = intake.numbered(pa.table({"line": cut.column(np.ones(len(cut.first), dtype=bool), 0)}))
    intake.connection.register("block", block)
    yield f"SELECT row, {_text(block.schema, 'line')} AS line FROM block"
    intake.connection.unregister("block")


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bytes as text, if all of them are UTF-8; what is no bytes stays what it is."""
    if not _is_binary(column.type):
        return column
    try:
        return column.cast(pa.large_string() if pa.types.is_large_binary(column.type) else pa.string())
    except pa.ArrowInvalid:
        return column


def _text(schema: pa.Schema, role: str) -> str:
    if role not in schema.names:
        return "NULL::VARCHAR"
    kind = schema.field(role).type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return f'"{role}"' if is_text or not _is_binary(kind) else f'try(decode("{role}"))'
