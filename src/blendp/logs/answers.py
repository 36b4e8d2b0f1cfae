"""Tables of answers: one row a person, one column a question.

Text files are cut by :mod:`blendp.logs.fields`, since no option of Arrow's own CSV reader makes an open quote in the
last column an error: it would swallow all rows that follow. A row is a line there, so no answer holds a line break.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.errors import LogError, ParameterError, require_choice
from blendp.logs.answer_columns import NO_QUESTION, WAYS, AnswerColumn, distinct_bytes, listed_attribute
from blendp.logs.answers_file import AnswersFile, asked_names, chosen_columns, not_utf_8, refuse_broken
from blendp.logs.delimited import cut_dialect, header_of
from blendp.logs.dialect import TextDialect
from blendp.logs.frames import ACCEPTED, WHERE, Frame, frame_columns, is_frame, not_a_frame
from blendp.logs.tabular import parquet_file, remedy_of_bytes, require_plain
from blendp.outputs import whole

_BATCH = 1 << 18
_MAX_TEXT = 1 << 30


def read_answers(
    source: str | Path | Frame,
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
) -> Answers:
    """Read a table of answers from one CSV, TSV or Parquet file, also with ``.gz``, or from a table in memory.

    Columns have names. A table is whatever :func:`~blendp.logs.open_log` takes for one: a DataFrame, for example.

    How a text file is written is recognised by its first line (:mod:`blendp.logs.recognise`) unless options say it.

    Answers are compared as texts, without white space around them; an empty one is missing, and so is a null or a
    NaN of Parquet. Its numbers are written the short way (3, not 3.0), its truth values ``true`` and ``false``. One
    row that cannot be read refuses the file: nobody is left out unless ``missing`` says so.

    Args:
        source: The file, or the table.
        columns: The questions, in this order; all of the questionnaire, or all columns but ``opt_in_column``, unless
            said.
        questionnaire: The possible answers. Without it they are read from the answers, which is **not private**:
            the list then says which answers somebody gave (:attr:`~blendp.answers.Answers.inferred`).
        opt_in_column: The column that says who trusts the curator: ``true/false``, ``1/0`` or ``yes/no``.
        missing: What to do about missing answers: ``"refuse"`` the file, ``"drop"`` the people, or take
            ``"(missing)"`` as an answer of its own (``"value"``). To drop people is **not private**: who is counted
            then depends on their answers (:attr:`~blendp.answers.Answers.only_complete`).
        format: ``csv``, ``tsv``, ``parquet``, or ``auto``: by the extension.
        delimiter, quotes, encoding: How a text file is written, see :class:`~blendp.logs.dialect.TextOptions`.
        header: False if the first line is a row like all others: then ``columns`` names all columns in their order.

    Raises:
        LogError: The file cannot be read, or holds what is no answer.
    """
    require_choice("missing", missing, WAYS)
    if is_frame(source):
        table = _read_frame(source, asked_names(columns, questionnaire, opt_in_column), opt_in_column)
    elif not isinstance(source, str | Path):
        raise not_a_frame("source", source, f"a path, {ACCEPTED}")
    else:
        table_of = AnswersFile.of(
            source, columns, questionnaire, opt_in_column, format, delimiter, quotes, encoding, header
        )
        table = _read_parquet(table_of) if table_of.dialect is None else _read_delimited(table_of, table_of.dialect)
    opt_in = table.columns.pop(opt_in_column).choices() if opt_in_column is not None else None
    questions = [column.filled() if missing == "value" else column for column in table.columns.values()]
    kept = _kept(questions, missing, table.where)
    codes = np.empty((int(kept.sum()), len(questions)), dtype=np.int32, order="F")
    attributes: list[Attribute] = []
    for index, question in enumerate(questions):
        listed = listed_attribute(questionnaire, question.name)
        attribute, number = question.inferred(kept) if listed is None else (listed, question.listed(listed, kept))
        attributes.append(attribute)
        codes[:, index] = number[question.codes[kept]]
    codes.setflags(write=False)
    opt_in = None if opt_in is None else opt_in[kept]
    return Answers(
        Questionnaire(tuple(attributes)), codes, opt_in, inferred=questionnaire is None, only_complete=missing == "drop"
    )


def write_answers(
    answers: Answers, path: str | Path, *, opt_in_column: str = "opt_in", overwrite: bool = False
) -> None:
    """Write answers as ``.csv``, ``.csv.gz`` or ``.parquet``, for :func:`read_answers`; the file appears when complete.

    Who opts in stands in the last column, ``opt_in_column``, if the answers say so.
    """
    if not isinstance(answers, Answers):
        remedy = "Make them of a table with blendp.read_answers."
        raise ParameterError("answers", type(answers).__name__, "Answers", remedy)
    target = Path(path)
    name = target.name.lower()
    if not name.endswith((".csv", ".csv.gz", ".parquet")):
        legal = "a name ending in .csv, .csv.gz or .parquet"
        raise ParameterError("path", str(target), legal, "Change the ending: it tells the format.")
    taken = ("", *answers.questionnaire.names)
    if answers.opt_in is not None and (
        opt_in_column in taken or "\n" in opt_in_column or opt_in_column != opt_in_column.strip()
    ):
        legal = "a name of one line that no question has, without white space around it"
        raise ParameterError("opt_in_column", opt_in_column, legal, "Name another column.")
    parquet = name.endswith(".parquet")
    for attribute in answers.questionnaire.attributes:
        if not parquet and any("\n" in text for text in (attribute.name, *attribute.values)):
            legal = "without a line feed in a CSV file, where a row is a line"
            raise ParameterError("question", attribute.name, legal, "Write Parquet, or take the line break out.")
    kinds = [(name, pa.string()) for name in answers.questionnaire.names]
    schema = pa.schema(kinds if answers.opt_in is None else [*kinds, (opt_in_column, pa.bool_())])
    texts = [pa.array(attribute.values, pa.string()) for attribute in answers.questionnaire.attributes]
    with whole(target, overwrite=overwrite) as part, part.open("wb") as file:
        # An empty name and time keep the bytes of equal answers equal.
        sink = gzip.GzipFile("", "wb", 6, file, mtime=0) if name.endswith(".gz") else file
        with sink, pq.ParquetWriter(sink, schema) if parquet else pacsv.CSVWriter(sink, schema) as writer:
            for start in range(0, answers.people, _BATCH):
                rows = slice(start, start + _BATCH)
                batch = [text.take(pa.array(answers.codes[rows, number])) for number, text in enumerate(texts)]
                if answers.opt_in is not None:
                    batch.append(pa.array(answers.opt_in[rows]))
                writer.write_batch(pa.record_batch(batch, schema=schema))


@dataclass(frozen=True)
class _Table:
    """The columns of a file that are read."""

    where: str
    columns: dict[str, AnswerColumn]


def _kept(questions: Sequence[AnswerColumn], missing: str, where: str) -> NDArray[np.bool_]:
    """Whose answers are taken, by the way chosen for missing ones."""
    kept = np.ones(len(questions[0].codes), dtype=bool)
    for question in questions:
        if missing == "refuse" and question.missing.any():
            remedy = 'fill them in, or use missing="drop" to leave these people out or missing="value" to count them'
            raise question.error(question.some(question.missing, "missing answer"), f"{remedy} as an answer")
        if missing == "drop":
            kept &= ~question.missing
    if not kept.any():
        raise LogError(f'{where} has a missing answer in every row: name fewer columns, or use missing="value".')
    return kept


def _read_frame(source: Any, asked: Sequence[str] | None, opt_in: str | None) -> _Table:
    """The answers of a table of another library, a batch of rows at a time."""

    def choose(names: Sequence[str]) -> dict[str, int]:
        return chosen_columns([name.strip() for name in names], asked, opt_in, WHERE.capitalize())

    frame = frame_columns(source, choose)
    pieces: dict[str, list[pa.DictionaryArray]] = {name: [] for name in frame.names}
    remedies: dict[str, str] = {}
    text_bytes: Counter[str] = Counter()
    for batch in frame.batches():
        for name in frame.names:
            remedies[name] = remedy_of_bytes(batch[name].type)
            pieces[name].append(distinct_bytes(batch[name]))
            text_bytes[name] += pieces[name][-1].dictionary.nbytes
            if text_bytes[name] > _MAX_TEXT:
                raise LogError(f"The column {name!r} of {WHERE} has too many different answers: {NO_QUESTION}.")
    if not pieces or not next(iter(pieces.values())):
        raise LogError(f"{WHERE.capitalize()} has no rows: give one with answers.")
    columns = {
        name: AnswerColumn.of_bytes(
            name, WHERE, _joined(parts), lambda row: f"row {row + 1}", quotes=False, remedy=remedies[name]
        )
        for name, parts in pieces.items()
    }
    return _Table(WHERE, columns)


def _joined(parts: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Batches of a column as one, whichever type their texts have."""
    texts = [pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(pa.large_binary())) for part in parts]
    return pa.chunked_array(texts).combine_chunks()


def _read_parquet(table_of: AnswersFile) -> _Table:
    where = str(table_of.path)
    with parquet_file(table_of.path) as file:
        names = [name.strip() for name in file.schema_arrow.names]
        position_of = table_of.choose(names)
        if not file.metadata.num_rows:
            raise LogError(f"{where} has no rows: give a file with answers.")
        columns: dict[str, AnswerColumn] = {}
        for name, position in position_of.items():
            whole_name = file.schema_arrow.names[position]
            require_plain(file.schema_arrow.field(position), where)
            read = file.read(columns=[whole_name])[whole_name]
            column, remedy = distinct_bytes(read), remedy_of_bytes(read.type)
            columns[name] = AnswerColumn.of_bytes(
                name, where, column, lambda row: f"row {row + 1}", quotes=False, remedy=remedy
            )
    return _Table(where, columns)


def _read_delimited(table_of: AnswersFile, dialect: TextDialect) -> _Table:
    where, quotes = str(table_of.path), dialect.quotes
    position_of: dict[str, int] = {}
    width = 0
    lines: list[NDArray[np.int64]] = []
    pieces: dict[str, list[pa.DictionaryArray]] = {}
    text_bytes: Counter[str] = Counter()
    for cut in cut_dialect(table_of.path, dialect):
        if not width:
            names = table_of.names or header_of(cut, quotes)
            table_of.require_in_pipe(cut)
            position_of, width = table_of.choose(names), len(names)
            pieces = {name: [] for name in position_of}
            cut = cut.after_first_row() if dialect.header else cut  # noqa: PLW2901
        refuse_broken(cut, width, dialect, where)
        every = np.ones(len(cut.first), dtype=bool)
        for name, position in position_of.items():
            pieces[name].append(cut.column(every, position).dictionary_encode())
            text_bytes[name] += pieces[name][-1].dictionary.nbytes
            if text_bytes[name] > _MAX_TEXT:
                raise LogError(f"The column {name!r} of {where} has too many different answers: {NO_QUESTION}.")
        lines.append(cut.lines)
    line = np.concatenate(lines)
    if not len(line):
        raise LogError(f"{where} has no rows: give a file with answers.")
    columns = {
        name: AnswerColumn.of_bytes(
            name,
            where,
            pa.chunked_array(parts).combine_chunks(),
            lambda row: f"line {line[row]}",
            quotes=quotes,
            remedy=not_utf_8(),
        )
        for name, parts in pieces.items()
    }
    return _Table(where, columns)
