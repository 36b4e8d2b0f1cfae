"""The spool: clients' reports in Parquet files, and counting them, each report at most once.

One row a report, whoever wrote it:

    report_id    BINARY       exactly 16 bytes, drawn by the device; a retry has the same
    list_sha256  STRING       the name of the head list that the report is about
    question     STRING       query or record (blendp method, subset selection), cell (published method)
    items        LIST<INT32>  the reported set, ascending: rows of queries for query, else cells of the list

A row that cannot be a report about the list is refused, and refused rows are put aside before anything else: they
shadow no report, whatever their id. Of the rows left, those with one id count once: the smallest by (question,
items), in the order of UTF-8 bytes, then of numbers. So what is counted depends on the set of rows alone, never on
their order, on files, or on the engine.

Few ids come twice, so what must be remembered of every row is a *mark* alone, a hash of its id in 8 bytes. Every row is
added up; then the rows whose mark is shared are taken away again, and what counts of them is put back:

    supports = sum over rows  -  sum over rows with a shared mark  +  sum over the smallest row of each of their ids

Ids that differ and share a mark are told apart there: whoever forges marks makes the engine work more, not count wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from blendp.engines.database import connect, failed
from blendp.errors import LogError, ParameterError, require_choice
from blendp.estimate import Split, Tally
from blendp.headlist import HeadList
from blendp.outputs import whole
from blendp.reports import QUESTIONS, ListQuestions, Report, ReportSums
from blendp.spelling import counted as number_of
from blendp.wire.reports import ID_BYTES

REASONS = ("bad id", "other list", "unknown question", "impossible report")
"""Why a row is refused: the first of these that holds."""


SCHEMA = pa.schema(
    {"report_id": pa.binary(), "list_sha256": pa.string(), "question": pa.string(), "items": pa.list_(pa.int32())}
)

_TYPES = {"report_id": "BLOB", "list_sha256": "VARCHAR", "question": "VARCHAR", "items": "INTEGER[]"}
_REPEATED_COLUMNS = ["list_sha256", "question"]
_ROW_GROUP = 1 << 17
_NO_ITEM = np.iinfo(np.int32).max

_MARKS_IN_MEMORY, _MAX_PARTS = 1 << 20, 64
"""How many marks are looked through at a time, and the parts of the marks beyond which there may be more."""

_MARK = "hash(report_id)"

_MARKS = """
    CREATE TEMP TABLE marks AS SELECT {mark} AS mark FROM judged WHERE reason IS NULL;
    CREATE TEMP TABLE shared (mark UBIGINT);
"""

_SHARED = """
    INSERT INTO shared SELECT mark FROM marks WHERE mark % {parts} = {part} GROUP BY mark HAVING count(*) > 1
"""

_REPEATED = """
    DROP TABLE marks;
    CREATE TEMP TABLE repeated AS
        SELECT report_id, question, items, count(*) AS times
        FROM judged SEMI JOIN shared ON {mark} = mark WHERE reason IS NULL GROUP BY ALL;
    CREATE TEMP TABLE kept AS
        SELECT min(struct_pack(question, items)) AS report, count(*) > 1 AS conflict
        FROM repeated GROUP BY report_id;
"""

_SUMS = """
    SELECT question, item, sum(n)::BIGINT AS n FROM (
        SELECT question, unnest(items) AS item, 1 AS n FROM judged WHERE reason IS NULL
        UNION ALL SELECT question, unnest(items), -times FROM repeated
        UNION ALL SELECT report.question, unnest(report.items), 1 FROM kept
    ) GROUP BY question, item
"""


@dataclass(frozen=True, eq=False)
class CountedReports:
    """A spool, added up: ``rows`` = ``counted`` + ``duplicates`` + all ``refused``.

    where:
        duplicates  is how many more rows there are than ids, among those that are not refused,
        conflicts   is how many ids came with different contents: one of them counts. An honest device resends the
                    bytes it sent; this one drew twice, or somebody forged a row,
        refused     is how many rows were refused, by reason,
        reports     is how many reports count, by question,
        supports    is how many of them contain each item, by question.
    """

    form: ListQuestions
    rows: int
    duplicates: int
    conflicts: int
    refused: Mapping[str, int]
    reports: Mapping[str, int]
    supports: Mapping[str, NDArray[np.int64]] = field(repr=False)

    @classmethod
    def of_sums(cls, form: ListQuestions, fates: Mapping[str | None, int], conflicts: int, sums: pa.Table) -> Self:
        """From what an engine gives back.

        where:
            fates  is how many rows have each reason to be refused, None for no reason,
            sums   has the columns question, item and n: how many of the counted reports contain the item.
        """
        question, item, n = (sums[name].to_numpy() for name in ("question", "item", "n"))
        supports, reports = {}, {}
        for name in QUESTIONS:
            own = question == name
            supports[name] = np.zeros(form.questions[name].items, dtype=np.int64)
            supports[name][item[own]] = n[own]
            reports[name] = int(supports[name].sum()) // form.questions[name].size
        refused = {reason: fates[reason] for reason in REASONS if fates.get(reason)}
        duplicates = fates.get(None, 0) - sum(reports.values())
        return cls(form, sum(fates.values()), duplicates, conflicts, refused, reports, supports)

    def __post_init__(self) -> None:
        """Refuse sums that no set of reports has, and freeze them."""
        fates = self.counted + self.duplicates + sum(self.refused.values())
        if self.rows != fates or min(self.duplicates, self.conflicts, self.duplicates - self.conflicts) < 0:
            raise LogError(
                f"The reports do not add up ({self.rows} rows, {self.counted} counted, {self.duplicates} duplicates, "
                f"{self.conflicts} conflicts): the files changed while they were read, count them again."
            )
        for name in QUESTIONS:
            supports, reports = self.supports[name], self.reports[name]
            size = self.form.questions[name].size
            if supports.shape != (self.form.questions[name].items,) or supports.sum() != size * reports:
                raise ParameterError(
                    "supports",
                    int(supports.sum()),
                    f"{size} items in each of {reports} reports about a {name}",
                    "Count the reports anew.",
                )
            supports.setflags(write=False)

    @property
    def counted(self) -> int:
        """How many reports count."""
        return sum(self.reports.values())

    @property
    def by_cell(self) -> bool:
        """Whether these are reports of the published method; raises :class:`LogError` if there are some of both."""
        cells = self.reports["cell"]
        if cells and cells < self.counted:
            raise LogError(
                f"The spool has {number_of(cells, 'report')} of the published method (cell) and "
                f"{self.counted - cells:,} of the blendp method (query, record) about this list: a list is for one "
                "method, so find out who sent the others, and count them apart."
            )
        return cells > 0

    def split(self) -> Split:
        """The reports of the blendp method, as estimators take them."""
        if self.by_cell:
            raise LogError("The spool has reports of the published method (cell), not of the blendp method.")
        return Split.of_sums(self.sums("query", "record"), self.form.head_list)

    def tally(self) -> Tally:
        """The reports of the published method, one from each person, as estimators take them."""
        if self.counted and not self.by_cell:
            raise LogError("The spool has reports of the blendp method (query, record), not of the published method.")
        return Tally.of_sums(self.sums("cell"), self.form.head_list)

    def sums(self, *questions: str) -> ReportSums:
        """The reports about these questions, as the methods take them."""
        return ReportSums(
            self.form.head_list.sha256,
            {name: self.form.questions[name] for name in questions},
            {name: self.reports[name] for name in questions},
            {name: self.supports[name] for name in questions},
        )

    def to_dict(self) -> dict[str, Any]:
        """Every number, for files."""
        return {
            "rows": self.rows,
            "counted": self.counted,
            "duplicates": self.duplicates,
            "conflicts": self.conflicts,
            "refused": dict(self.refused),
            "reports": dict(self.reports),
            "supports": {name: supports.tolist() for name, supports in self.supports.items() if self.reports[name]},
        }

    def __str__(self) -> str:
        """A line for the rows, and one for those refused."""
        reports = number_of(self.counted, "report")
        lines = [f"{number_of(self.rows, 'row')}, {reports} counted, {number_of(self.duplicates, 'duplicate')}"]
        if self.refused:
            ordered = sorted(self.refused.items(), key=lambda pair: -pair[1])
            reasons = ", ".join(f"{reason} {count}" for reason, count in ordered)
            lines.append(f"{sum(self.refused.values())} refused: {reasons}")
        return "\n".join(lines)


def count_reports(
    paths: Sequence[str | PathLike[str]], form: ListQuestions, *, memory_limit: str | None = None
) -> CountedReports:
    """Add up the reports of these Parquet files on the embedded engine.

    Raises :class:`LogError` where a file is missing, broken, or of another schema. Columns that are not asked for do
    not matter. What does not fit in ``memory_limit`` (``"4GB"``) goes to disk.
    """
    if not paths:
        raise LogError("The spool has no files: give at least one path.")
    with connect(memory_limit) as database:
        names = [str(path) for path in paths]
        for name in names:
            _require_schema(database, name)
        try:
            return _count(database, names, form)
        except duckdb.Error as error:
            raise failed("the spool", error) from error


def _require_schema(database: duckdb.DuckDBPyConnection, path: str) -> None:
    if not Path(path).is_file():
        raise LogError(f"{path} does not exist: check the path.")
    try:
        spool = database.read_parquet(_exact(path), hive_partitioning=False)
    except duckdb.Error as error:
        raise LogError(f"{path} is no readable Parquet file ({_told(error)}): write or fetch it again.") from error
    types = dict(zip(spool.columns, map(str, spool.types), strict=True))
    for name, wanted in _TYPES.items():
        if name not in types:
            raise LogError(f"{path} has no column {name!r}: a spool has {', '.join(_TYPES)}.")
        if types[name] != wanted:
            raise LogError(f"The column {name!r} of {path} holds {types[name]}: a spool has {wanted} there.")


def _exact(path: str) -> str:
    """A pattern that matches this path and no other."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _told(error: Exception) -> str:
    line = (str(error) or type(error).__name__).splitlines()[0]
    return "".join(filter(str.isprintable, line)).rstrip(".: ")


def _count(database: duckdb.DuckDBPyConnection, paths: Sequence[str], form: ListQuestions) -> CountedReports:
    database.read_parquet([_exact(path) for path in paths], hive_partitioning=False).create_view("spool")
    database.execute(f"""
        CREATE TEMP VIEW judged AS SELECT report_id, question, items, {_reason(form)} AS reason FROM spool
    """)
    fates = dict(database.execute("SELECT reason, count(*) FROM judged GROUP BY reason").fetchall())
    database.execute(_MARKS.format(mark=_MARK))
    parts = min(1 + fates.get(None, 0) // _MARKS_IN_MEMORY, _MAX_PARTS)
    for part in range(parts):
        database.execute(_SHARED.format(parts=parts, part=part))
    database.execute(_REPEATED.format(mark=_MARK))
    ((conflicts,),) = database.execute("SELECT count(*) FROM kept WHERE conflict").fetchall()
    sums = database.execute(_SUMS).to_arrow_table()
    return CountedReports.of_sums(form, fates, conflicts, sums)


def _reason(form: ListQuestions) -> str:
    """Why a row is refused, in SQL; NULL if it is not.

    The fold over the items gives the last of them if all are above the one before and the first is not negative, else a
    number that no item has; it is not tried on lists of another length.
    """
    sizes, items = (
        " ".join(f"WHEN '{name}' THEN {getattr(question, number)}" for name, question in form.questions.items())
        for number in ("size", "items")
    )
    last = f"list_reduce(items, lambda a, b: CASE WHEN a < b THEN b ELSE {_NO_ITEM} END, -1)"
    possible = f"CASE WHEN len(items) = CASE question {sizes} END THEN {last} < CASE question {items} END END"
    bad_id, other_list, unknown, impossible = (f"'{reason}'" for reason in REASONS)
    return f"""CASE
        WHEN octet_length(report_id) IS DISTINCT FROM {ID_BYTES} THEN {bad_id}
        WHEN list_sha256 IS DISTINCT FROM '{form.head_list.sha256}' THEN {other_list}
        WHEN question IS NULL OR question NOT IN {QUESTIONS} THEN {unknown}
        WHEN NOT coalesce({possible}, false) THEN {impossible}
    END"""


def spool_of_subsets(
    report_ids: NDArray[np.uint8], question: str, subsets: NDArray[np.bool_], head_list: HeadList
) -> pa.Table:
    """Reports as :meth:`~blendp.mechanisms.SubsetSelection.release` gives them: row i tells the items of report i."""
    require_choice("question", question, ("query", "record"))
    known = {"query": head_list.queries + 1, "record": head_list.cells}[question]
    if subsets.ndim != 2 or subsets.shape[1] != known:
        raise ParameterError("subsets", subsets.shape, f"a column for each of {known} items", "Take the same list.")
    return _table(report_ids, question, np.nonzero(subsets)[1], subsets.sum(axis=1), head_list.sha256)


def spool_of_cells(report_ids: NDArray[np.uint8], cells: NDArray[np.int64], head_list: HeadList) -> pa.Table:
    """Reports as :meth:`~blendp.mechanisms.TwoStage.release` gives them: a cell each."""
    return _table(report_ids, "cell", cells, np.ones(len(cells), dtype=np.int64), head_list.sha256)


def spool_of_reports(reports: Iterable[tuple[bytes, Report]], form: ListQuestions) -> pa.Table:
    """Reports as devices send them, with their ids; each is decoded by itself, so this is for thousands.

    Raises :class:`~blendp.errors.ParameterError` for a report that is impossible, or about another list.
    """
    ids: list[bytes] = []
    questions: list[str] = []
    items: list[tuple[int, ...]] = []
    for report_id, report in reports:
        if report.list_sha256 != form.head_list.sha256:
            raise ParameterError(
                "list_sha256", report.list_sha256, form.head_list.sha256, "Spool the reports of each list apart."
            )
        require_choice("question", report.question, tuple(form.questions))
        (chosen,) = form.questions[report.question].decode(report.data)
        questions.append(report.question)
        items.append(chosen)
        ids.append(report_id)
    if any(len(report_id) != ID_BYTES for report_id in ids):
        raise ParameterError("report_id", min(ids, key=len), f"{ID_BYTES} bytes long", "Draw 16 random bytes.")
    return pa.table([ids, [form.head_list.sha256] * len(ids), questions, items], schema=SCHEMA)


def _table(
    ids: NDArray[np.uint8], question: str, flat: NDArray[np.int64], lengths: NDArray[np.int64], list_sha256: str
) -> pa.Table:
    count = len(lengths)
    if ids.dtype != np.uint8 or ids.shape != (count, ID_BYTES):
        raise ParameterError(
            "report_ids", ids.shape, f"{ID_BYTES} bytes for each of {count} reports", "Draw 16 random bytes a report."
        )
    buffer = pa.py_buffer(np.ascontiguousarray(ids).tobytes())
    columns = [
        pa.FixedSizeBinaryArray.from_buffers(pa.binary(ID_BYTES), count, [None, buffer]).cast(pa.binary()),
        pa.repeat(list_sha256, count),
        pa.repeat(question, count),
        pa.ListArray.from_arrays(
            pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), pa.array(flat, pa.int32())
        ),
    ]
    return pa.table(columns, schema=SCHEMA)


def write_spool(path: str | PathLike[str], reports: pa.Table, *, overwrite: bool = False) -> None:
    """Write reports to one Parquet file, whole or not at all; a spool grows by files, never by rows."""
    if not reports.schema.equals(SCHEMA):
        raise ParameterError(
            "reports", reports.schema.names, f"a table with the columns {SCHEMA.names}", "Use spool_of_reports."
        )
    with whole(Path(path), overwrite=overwrite) as output:
        pq.write_table(reports, output, compression="zstd", use_dictionary=_REPEATED_COLUMNS, row_group_size=_ROW_GROUP)
