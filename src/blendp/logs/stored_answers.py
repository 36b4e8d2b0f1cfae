"""Tables of answers that may be larger than memory, read a batch of rows at a time and kept as small codes on disk.

Everything is as in :func:`blendp.logs.read_answers`, in other words for the same faults; a file is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from blendp.answers import MAX_VALUES, Attribute, Questionnaire
from blendp.arrays import Bools
from blendp.engines.stored_answers import AnswerSpool, StoredAnswers
from blendp.errors import LogError, require_choice
from blendp.logs.answer_columns import (
    FALSE,
    MISSING,
    NO_QUESTION,
    TRUE,
    WAYS,
    AnswerColumn,
    distinct_bytes,
    in_order,
    listed_attribute,
)
from blendp.logs.answers_file import AnswersFile, not_utf_8, refuse_broken
from blendp.logs.delimited import cut_dialect, header_of
from blendp.logs.dialect import TextDialect
from blendp.logs.tabular import parquet_file, remedy_of_bytes, require_plain

_BATCH = 1 << 18
_FAULTS = {
    "no choice": ("missing value{s} ({where})", "say of every person whether they opt in"),
    "choice": ("unreadable value{s} ({where})", "write true or false, 1 or 0, yes or no"),
    "missing": (
        "missing answer{s} ({where})",
        'fill them in, or use missing="drop" to leave these people out or missing="value" to count them as an answer',
    ),
    "missing unlisted": (
        f"missing answer{{s}} ({{where}}) and the questionnaire does not list {MISSING!r}",
        'list it there, or use missing="drop"',
    ),
    "unlisted": (
        "answer{s} that the questionnaire does not list ({where})",
        "correct the answers or the questionnaire",
    ),
}
"""What may be wrong with rows of a column, and what to do about it; the first kind that occurs is told."""

Batch = dict[str, AnswerColumn]


def open_answers(
    source: str | Path,
    *,
    columns: Sequence[str] | None = None,
    questionnaire: Questionnaire | None = None,
    opt_in_column: str | None = None,
    missing: str = "refuse",
    format: str = "auto",
    delimiter: str | None = None,
    quotes: bool | None = None,
    encoding: str | None = None,
    header: bool = True,
    progress: Callable[[int], None] | None = None,
) -> StoredAnswers:
    """Read a table of answers for one survey, however large: memory does not grow with the number of people.

    The options are those of :func:`read_answers`. What everybody answered is kept as one or two bytes an answer in
    temporary files, which go with the result; ``progress`` is told how many rows were read so far.
    """
    require_choice("missing", missing, WAYS)
    file = AnswersFile.of(source, columns, questionnaire, opt_in_column, format, delimiter, quotes, encoding, header)
    path = file.path
    batches = _parquet_batches(file) if file.dialect is None else _delimited_batches(file, file.dialect)
    intake: _Intake | None = None
    rows = 0
    try:
        for batch in batches:
            choice = batch.pop(opt_in_column) if opt_in_column is not None else None
            if intake is None:
                intake = _Intake(list(batch), questionnaire, missing, opt_in=choice is not None)
            rows += intake.add(list(batch.values()), choice)
            if progress is not None:
                progress(rows)
        if intake is None or not rows:
            raise LogError(f"{path} has no rows: give a file with answers.")
        return intake.finish(str(path))
    except BaseException:
        if intake is not None:
            intake.spool.drop()
        raise


@dataclass
class _Codes:
    """The codes of the answers to one question: its own list's numbers, or numbers in order of appearance."""

    name: str
    listed: Attribute | None
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def bound(self) -> int:
        """What codes stay below."""
        return MAX_VALUES if self.listed is None else self.listed.size

    def of(self, column: AnswerColumn, kept: Bools) -> NDArray[np.int64]:
        """The codes of the kept rows; -1 for an answer that is not listed."""
        number = np.full(len(column.texts) + 1, -1, dtype=np.int64)
        own = column.codes[kept]
        if self.listed is not None:
            index = pc.index_in(column.texts, pa.array(self.listed.values, pa.string()))
            number[:-1] = index.fill_null(-1).to_numpy(zero_copy_only=False)
        else:
            used = np.flatnonzero(np.bincount(own, minlength=len(column.texts)))
            for own_code, text in zip(used.tolist(), column.texts.take(pa.array(used)).to_pylist(), strict=True):
                number[own_code] = self.seen.setdefault(text, len(self.seen))
            if len(self.seen) > MAX_VALUES:
                raise column.error(f"has more than {MAX_VALUES} different answers", NO_QUESTION)
        return number[own]

    def attribute(self, where: str) -> tuple[Attribute, NDArray[np.int64]]:
        """The question, and the number in its list for every code."""
        if self.listed is not None:
            return self.listed, np.arange(self.listed.size)
        if len(self.seen) == 1:
            raise LogError(
                f"The column {self.name!r} of {where} has one answer: everybody answers the same: leave the column out"
                " (columns=...)."
            )
        values = in_order(set(self.seen))
        number = np.empty(len(values), dtype=np.int64)
        number[[self.seen[value] for value in values]] = np.arange(len(values))
        return Attribute(self.name, tuple(values)), number


class _Intake:
    """Turns batches into codes, and remembers what is wrong and where it first is."""

    def __init__(self, names: list[str], questionnaire: Questionnaire | None, missing: str, *, opt_in: bool) -> None:
        self.codes = [_Codes(name, listed_attribute(questionnaire, name)) for name in names]
        self.spool = AnswerSpool([codes.bound for codes in self.codes], opt_in=opt_in)
        self.questionnaire, self.missing = questionnaire, missing
        self.faults: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, columns: list[AnswerColumn], choice: AnswerColumn | None) -> int:
        """Take a batch in; how many rows it has."""
        if choice is not None:
            self._note("no choice", choice, choice.missing)
        if self.missing == "value":
            columns = [column.filled() for column in columns]
        rows = len(columns[0].codes)
        kept = np.ones(rows, dtype=bool)
        for column in columns:
            if self.missing == "drop":
                kept &= ~column.missing
            else:
                self._note("missing", column, column.missing)
        known = []
        for codes, column in zip(self.codes, columns, strict=True):
            present = kept & ~column.missing
            number = np.full(rows, -1, dtype=np.int64)
            number[present] = codes.of(column, present)
            self._note_unlisted(codes, column, present & (number < 0))
            known.append(np.maximum(number[kept], 0))
        opt_in = None if choice is None else self._opts_in(choice)
        self.spool.add(known, None if opt_in is None else opt_in[kept])
        return rows

    def _opts_in(self, choice: AnswerColumn) -> Bools:
        lower = pc.utf8_lower(choice.texts)
        true, false = (
            np.append(pc.is_in(lower, pa.array(spellings)).to_numpy(zero_copy_only=False), False)
            for spellings in (TRUE, FALSE)
        )
        self._note("choice", choice, ~(true | false)[choice.codes] & ~choice.missing)
        chosen: Bools = true[choice.codes]
        return chosen

    def _note_unlisted(self, codes: _Codes, column: AnswerColumn, unlisted: Bools) -> None:
        if codes.listed is None or not unlisted.any():
            return
        left_out = column.codes == column.texts.index(MISSING).as_py()
        self._note("missing unlisted", column, unlisted & left_out)
        self._note("unlisted", column, unlisted & ~left_out)

    def _note(self, fault: str, column: AnswerColumn, rows: Bools) -> None:
        number = int(rows.sum())
        if number:
            before, first = self.faults.get((fault, column.name), (0, ""))
            self.faults[fault, column.name] = before + number, first or column.row_name(int(rows.argmax()))

    def finish(self, where: str) -> StoredAnswers:
        """The answers, unless something is wrong with them."""
        refuse_faults(self.faults, where)
        if not self.spool.people:
            raise LogError(f'{where} has a missing answer in every row: name fewer columns, or use missing="value".')
        questions = [codes.attribute(where) for codes in self.codes]
        return self.spool.finish(
            Questionnaire(tuple(attribute for attribute, _ in questions)),
            [number for _, number in questions],
            inferred=self.questionnaire is None,
            only_complete=self.missing == "drop",
        )


def refuse_faults(faults: Mapping[tuple[str, str], tuple[int, str]], where: str) -> None:
    """Raise if rows of a column have a fault: how many, and where the first stands."""
    for (fault, name), (number, first) in sorted(faults.items(), key=lambda item: list(_FAULTS).index(item[0][0])):
        what, remedy = _FAULTS[fault]
        on = f"first on {first}" if number > 1 else f"on {first}"
        trouble = what.format(s="s" if number > 1 else "", where=on)
        raise LogError(f"The column {name!r} of {where} has {number} {trouble}: {remedy}.")


def _row_of(before: int, row: int) -> str:
    return f"row {before + row + 1}"


def _line_of(lines: NDArray[np.int64], row: int) -> str:
    return f"line {lines[row]}"


def _parquet_batches(table_of: AnswersFile) -> Iterator[Batch]:
    where = str(table_of.path)
    with parquet_file(table_of.path) as file:
        position_of = table_of.choose([name.strip() for name in file.schema_arrow.names])
        names = {name: file.schema_arrow.names[position] for name, position in position_of.items()}
        for position in position_of.values():
            require_plain(file.schema_arrow.field(position), where)
        before = 0
        for batch in file.iter_batches(_BATCH, columns=list(names.values())):
            yield {
                name: AnswerColumn.of_bytes(
                    name,
                    where,
                    distinct_bytes(pa.chunked_array([batch.column(whole_name)])),
                    partial(_row_of, before),
                    quotes=False,
                    remedy=remedy_of_bytes(batch.column(whole_name).type),
                )
                for name, whole_name in names.items()
            }
            before += batch.num_rows


def _delimited_batches(table_of: AnswersFile, dialect: TextDialect) -> Iterator[Batch]:
    where, quotes = str(table_of.path), dialect.quotes
    position_of: dict[str, int] = {}
    width = 0
    for cut in cut_dialect(table_of.path, dialect):
        if not width:
            names = table_of.names or header_of(cut, quotes)
            table_of.require_in_pipe(cut)
            position_of, width = table_of.choose(names), len(names)
            cut = cut.after_first_row() if dialect.header else cut  # noqa: PLW2901
        refuse_broken(cut, width, dialect, where)
        every = np.ones(len(cut.first), dtype=bool)
        if len(every):
            yield {
                name: AnswerColumn.of_bytes(
                    name,
                    where,
                    cut.column(every, position).dictionary_encode(),
                    partial(_line_of, cut.lines),
                    quotes=quotes,
                    remedy=not_utf_8(),
                )
                for name, position in position_of.items()
            }
