"""Tables of answers: one row a person, one column a question.

Text files are cut by :mod:`blendp.logs.fields`, since no option of Arrow's own CSV reader makes an open quote in the
last column an error: it would swallow all rows that follow. A row is a line there, so no answer holds a line break.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from blendp.answers import MAX_ATTRIBUTES, MAX_VALUES, Answers, Attribute, Questionnaire
from blendp.errors import LogError, ParameterError, require_choice
from blendp.logs.delimited import cut_dialect, header_of, unquoted
from blendp.logs.dialect import TextDialect, TextOptions
from blendp.logs.fields import NOT_CLOSED, TOO_LONG, Cut
from blendp.logs.filters import RowFilter
from blendp.logs.frames import ACCEPTED, WHERE, Frame, frame_columns, is_frame, not_a_frame
from blendp.logs.reading import HowRead
from blendp.logs.recognise import recognise
from blendp.logs.sources import format_of, unreadable
from blendp.logs.tabular import as_bytes, parquet_file, require_plain
from blendp.outputs import whole

FORMATS = ("auto", "csv", "tsv", "parquet")

MISSING = "(missing)"
"""The answer of those who gave none, where that is an answer of its own."""

_WAYS = ("refuse", "drop", "value")
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")
_WHITE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_QUESTION = "it may be an id or a number, so leave it out (columns=...) or group its answers"
_REMEDIES = {
    NOT_CLOSED: "close the quote on that line, since no answer runs across lines",
    TOO_LONG: "check that this is a text file of answers",
}
NOT_UTF_8 = "save the file as UTF-8, or say its encoding (encoding=...)"
_SHOWN = 10
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
    require_choice("missing", missing, _WAYS)
    if is_frame(source):
        table = _read_frame(source, _asked(columns, questionnaire, opt_in_column), opt_in_column)
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
        listed = _listed(questionnaire, question.name)
        attribute, number = question.inferred(kept) if listed is None else (listed, question.listed(listed, kept))
        attributes.append(attribute)
        codes[:, index] = number[question.codes[kept]]
    codes.setflags(write=False)
    opt_in = None if opt_in is None else opt_in[kept]
    return Answers(
        Questionnaire(tuple(attributes)), codes, opt_in, inferred=questionnaire is None, only_complete=missing == "drop"
    )


@dataclass(frozen=True)
class AnswersFile:
    """A file of answers, and how it is read.

    where:
        asked    are the questions, None for all columns but ``opt_in``,
        names    are those of all columns, None where the file names them,
        dialect  is how a text file is written, None for Parquet.
    """

    path: Path
    asked: Sequence[str] | None
    opt_in: str | None
    names: Sequence[str] | None
    dialect: TextDialect | None

    @classmethod
    def of(
        cls,
        source: str | Path,
        columns: Sequence[str] | None,
        questionnaire: Questionnaire | None,
        opt_in: str | None,
        format: str,
        delimiter: str | None = None,
        quotes: bool | None = None,
        encoding: str | None = None,
        header: bool = True,
    ) -> AnswersFile:
        """The file that :func:`read_answers` reads, given its options."""
        require_choice("format", format, FORMATS)
        names = None if header else columns
        options = TextOptions(delimiter=delimiter, quotes=quotes, encoding=encoding, header=header, names=names)
        if names is not None:
            columns = None if questionnaire is not None else [name for name in names if name != opt_in]
        asked = _asked(columns, questionnaire, opt_in)
        path, format = _one_file(source, format)
        file = cls(path, asked, opt_in, options.names, None)
        if format == "parquet":
            options.refuse_for(format)
            return file
        return replace(file, dialect=recognise([path], format, options, file)[0])

    def fits(self, names: Sequence[str]) -> bool:
        """Whether all questions are there, or, where none are named, more than one column."""
        return len(names) > 1 if self.asked is None else all(name in names for name in self.wanted)

    def require(self, names: Sequence[str], where: str) -> None:
        """Raise :class:`LogError` unless all questions are there, once."""
        _chosen(names, self.asked, self.opt_in, where)

    def owner(self, names: Sequence[str]) -> None:
        """A row is a person's own."""

    @property
    def wanted(self) -> list[str]:
        """The questions that are named, and who opts in."""
        return [*(self.asked or ()), *([] if self.opt_in is None else [self.opt_in])]

    def choose(self, names: Sequence[str]) -> dict[str, int]:
        """The columns to read, and where each stands among the names of all."""
        return _chosen(names, self.asked, self.opt_in, str(self.path))

    @property
    def how(self) -> HowRead:
        """How it is read, for people and for a release's card."""
        format = "parquet" if self.dialect is None else "csv" if self.dialect.quotes else "tsv"
        return HowRead(format, {}, self.dialect, RowFilter())


def write_answers(
    answers: Answers, path: str | Path, *, opt_in_column: str = "opt_in", overwrite: bool = False
) -> None:
    """Write answers as ``.csv``, ``.csv.gz`` or ``.parquet``, for :func:`read_answers`; the file appears when complete.

    Who opts in stands in the last column, ``opt_in_column``, if the answers say so.
    """
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
class _Column:
    """A column as it was read: the texts there are, and the number of each row's text, -1 where it is missing."""

    name: str
    where: str
    texts: pa.Array
    codes: NDArray[np.int32]
    row_name: Callable[[int], str] = field(repr=False)
    """Where a row stands in the file, in words."""

    @classmethod
    def of_bytes(
        cls,
        name: str,
        where: str,
        column: pa.DictionaryArray,
        row_name: Callable[[int], str],
        *,
        quotes: bool,
        remedy: str = "save the file as UTF-8",
    ) -> _Column:
        """The column of what the file holds, its distinct values as bytes; what to do if they are not UTF-8."""
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        raw = cls(name, where, column.dictionary, codes, row_name)
        texts = raw.texts
        if quotes:
            texts, stray = unquoted(texts)
            raw.refuse(stray, "text after a closing quote", "double the quotes within answers")
        try:
            texts = texts.cast(pa.string())
        except pa.ArrowInvalid:
            unread = np.array([not _is_utf8(text) for text in texts.to_pylist()])
            raw.refuse(unread, "text that is not UTF-8", remedy)
            raise
        texts = pc.utf8_trim(texts, characters=_WHITE)
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts).dictionary_encode()
        number = np.append(texts.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
        return cls(name, where, texts.dictionary, number[codes], row_name)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whose answer is missing."""
        return self.codes < 0

    def filled(self) -> _Column:
        """The column with an answer of its own for those that are missing."""
        if not self.missing.any():
            return self
        code, texts = self.texts.index(MISSING).as_py(), self.texts
        if code < 0:
            code, texts = len(texts), pa.concat_arrays([texts, pa.array([MISSING])])
        return replace(self, texts=texts, codes=np.where(self.missing, np.int32(code), self.codes))

    def error(self, trouble: str, remedy: str) -> LogError:
        """The error for what is wrong with this column."""
        return LogError(f"The column {self.name!r} of {self.where} {trouble}: {remedy}.")

    def refuse(self, wrong: NDArray[np.bool_], what: str, remedy: str) -> None:
        """Raise if a row holds one of the texts marked as wrong."""
        if wrong.any():
            rows = np.flatnonzero(np.append(wrong, False)[self.codes])
            raise self.error(f"has {what} on {self.row_name(int(rows[0]))}", remedy)

    def some(self, rows: NDArray[np.bool_], what: str, ending: str = "") -> str:
        """How many rows there are of a kind, and where the first stands."""
        number = int(rows.sum())
        first = self.row_name(int(np.flatnonzero(rows)[0]))
        return f"has {number} {what}{'s' if number > 1 else ''}{ending} ({'first ' if number > 1 else ''}on {first})"

    def choices(self) -> NDArray[np.bool_]:
        """Who opts in."""
        if self.missing.any():
            raise self.error(self.some(self.missing, "missing value"), "say of every person whether they opt in")
        lower = pc.utf8_lower(self.texts)
        true, false = (
            pc.is_in(lower, pa.array(spellings)).to_numpy(zero_copy_only=False) for spellings in (_TRUE, _FALSE)
        )
        unknown = ~(true | false)[self.codes]
        if unknown.any():
            raise self.error(self.some(unknown, "unreadable value"), "write true or false, 1 or 0, yes or no")
        chosen: NDArray[np.bool_] = true[self.codes]
        return chosen

    def inferred(self, kept: NDArray[np.bool_]) -> tuple[Attribute, NDArray[np.int32]]:
        """The attribute with the answers that the people kept gave, and the number in it of each text."""
        used = np.flatnonzero(np.bincount(self.codes[kept], minlength=len(self.texts)))
        if len(used) > MAX_VALUES:
            raise self.error(f"has {len(used)} different answers, more than {MAX_VALUES}", _NO_QUESTION)
        if len(used) == 1:
            raise self.error("has one answer: everybody answers the same", "leave the column out (columns=...)")
        code_of = dict(zip(self.texts.take(pa.array(used)).to_pylist(), used.tolist(), strict=True))
        values = _in_order(set(code_of))
        number = np.full(len(self.texts), -1, dtype=np.int32)
        number[[code_of[value] for value in values]] = np.arange(len(values))
        return Attribute(self.name, tuple(values)), number

    def listed(self, attribute: Attribute, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The number of each text among the answers of the questionnaire; refuses a text that is not there."""
        index_of_text = pc.index_in(self.texts, pa.array(attribute.values, pa.string()))
        number: NDArray[np.int32] = index_of_text.fill_null(-1).to_numpy(zero_copy_only=False)
        missing = kept & (self.codes == self.texts.index(MISSING).as_py())
        if MISSING not in attribute.values and missing.any():
            raise self.error(
                f"{self.some(missing, 'missing answer')} and the questionnaire does not list {MISSING!r}",
                'list it there, or use missing="drop"',
            )
        unknown = kept.copy()
        unknown[kept] = number[self.codes[kept]] < 0
        if unknown.any():
            trouble = self.some(unknown, "answer", " that the questionnaire does not list")
            raise self.error(trouble, "correct the answers or the questionnaire")
        return number


@dataclass(frozen=True)
class _Table:
    """The columns of a file that are read."""

    where: str
    columns: dict[str, _Column]


def _kept(questions: Sequence[_Column], missing: str, where: str) -> NDArray[np.bool_]:
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


def _in_order(values: set[str]) -> list[str]:
    """Answers by number if all are numbers, else by code point; the missing answer comes last."""
    present = values - {MISSING}
    numbers = all(_NUMBER.fullmatch(value) for value in present)
    in_order = sorted(present, key=lambda value: (float(value), value)) if numbers else sorted(present)
    return [*in_order, *(values & {MISSING})]


def _asked(columns: Sequence[str] | None, questionnaire: Questionnaire | None, opt_in: str | None) -> list[str] | None:
    """The names of the questions, None if they are all columns of the file."""
    if columns is None:
        asked = None if questionnaire is None else list(questionnaire.names)
    else:
        asked = list(columns)
        if isinstance(columns, str) or not asked or "" in asked or len(set(asked)) != len(asked):
            raise ParameterError("columns", columns, "a list of distinct names", "Name every column to ask once.")
        if questionnaire is not None and (unknown := [name for name in asked if name not in questionnaire.names]):
            raise ParameterError("columns", unknown[0], "names of the questionnaire", "Leave it out, or list it there.")
    if opt_in is not None and (not opt_in or opt_in in (asked or ())):
        raise ParameterError("opt_in_column", opt_in, "a name that no question has", "Name another column.")
    return asked


def _listed(questionnaire: Questionnaire | None, name: str) -> Attribute | None:
    return None if questionnaire is None else questionnaire.attributes[questionnaire.names.index(name)]


def _read_frame(source: Any, asked: Sequence[str] | None, opt_in: str | None) -> _Table:
    """The answers of a table of another library, a batch of rows at a time."""

    def choose(names: Sequence[str]) -> dict[str, int]:
        return _chosen([name.strip() for name in names], asked, opt_in, WHERE.capitalize())

    frame = frame_columns(source, choose)
    pieces: dict[str, list[pa.DictionaryArray]] = {name: [] for name in frame.names}
    text_bytes: Counter[str] = Counter()
    for batch in frame.batches():
        for name in frame.names:
            pieces[name].append(_distinct_bytes(batch[name]))
            text_bytes[name] += pieces[name][-1].dictionary.nbytes
            if text_bytes[name] > _MAX_TEXT:
                raise LogError(f"The column {name!r} of {WHERE} has too many different answers: {_NO_QUESTION}.")
    if not pieces or not next(iter(pieces.values())):
        raise LogError(f"{WHERE.capitalize()} has no rows: give one with answers.")
    columns = {
        name: _Column.of_bytes(name, WHERE, _joined(parts), lambda row: f"row {row + 1}", quotes=False)
        for name, parts in pieces.items()
    }
    return _Table(WHERE, columns)


def _joined(parts: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Batches of a column as one, whichever type their texts have."""
    texts = [pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(pa.large_binary())) for part in parts]
    return pa.chunked_array(texts).combine_chunks()


def _one_file(source: str | Path, format: str) -> tuple[Path, str]:
    path = Path(source)
    try:
        if path.is_dir():
            raise LogError(f"{path} is a folder: name one file.")
        if not path.exists():
            raise LogError(f"{path} does not exist: check the path.")
    except OSError as error:
        raise unreadable(path, error) from error
    kind = format_of(path) if format == "auto" else format
    if kind is None or kind not in FORMATS:
        raise LogError(
            f"The format of {path} is unknown: use .csv, .tsv or .parquet, each also with .gz, or give the format"
            " (--format)."
        )
    return path, kind


def _chosen(names: Sequence[str], asked: Sequence[str] | None, opt_in: str | None, where: str) -> dict[str, int]:
    if asked is None:
        asked = [name for name in names if name != opt_in]
        if not asked or "" in asked:
            raise LogError(
                f"{where} has {'a column without a name' if asked else 'no column to ask'}: check that its first line"
                " names every column, or name those to ask (columns=...)."
            )
    wanted = asked if opt_in is None else [*asked, opt_in]
    for name in wanted:
        if name not in names:
            shown = ", ".join(repr(item[:40]) for item in names[:_SHOWN])
            more = ", ..." if len(names) > _SHOWN else ""
            how = "opt_in_column" if name == opt_in else "columns"
            raise LogError(f"{where} has no column {name!r} (it has {shown}{more}): name the right one ({how}=...).")
        if names.count(name) > 1:
            raise LogError(
                f"{where} has {names.count(name)} columns named {name!r}: check that its first line names the columns,"
                " and rename all but one."
            )
    if len(asked) > MAX_ATTRIBUTES:
        raise LogError(
            f"{where} has {len(asked)} columns to ask, more than {MAX_ATTRIBUTES}: name fewer (columns=...)."
        )
    return {name: names.index(name) for name in wanted}


def _read_parquet(table_of: AnswersFile) -> _Table:
    where = str(table_of.path)
    with parquet_file(table_of.path) as file:
        names = [name.strip() for name in file.schema_arrow.names]
        position_of = table_of.choose(names)
        if not file.metadata.num_rows:
            raise LogError(f"{where} has no rows: give a file with answers.")
        columns: dict[str, _Column] = {}
        for name, position in position_of.items():
            whole_name = file.schema_arrow.names[position]
            require_plain(file.schema_arrow.field(position), where)
            column = _distinct_bytes(file.read(columns=[whole_name])[whole_name])
            columns[name] = _Column.of_bytes(name, where, column, lambda row: f"row {row + 1}", quotes=False)
    return _Table(where, columns)


def _distinct_bytes(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The column with the text of every distinct value, as bytes not yet known to be UTF-8."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    encoded = column.dictionary_encode().combine_chunks()
    return pa.DictionaryArray.from_arrays(encoded.indices, as_bytes(encoded.dictionary))


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
            position_of, width = table_of.choose(names), len(names)
            pieces = {name: [] for name in position_of}
            cut = cut.after_first_row() if dialect.header else cut  # noqa: PLW2901
        _refuse_broken(cut, width, quotes, where)
        every = np.ones(len(cut.first), dtype=bool)
        for name, position in position_of.items():
            pieces[name].append(cut.column(every, position).dictionary_encode())
            text_bytes[name] += pieces[name][-1].dictionary.nbytes
            if text_bytes[name] > _MAX_TEXT:
                raise LogError(f"The column {name!r} of {where} has too many different answers: {_NO_QUESTION}.")
        lines.append(cut.lines)
    line = np.concatenate(lines)
    if not len(line):
        raise LogError(f"{where} has no rows: give a file with answers.")
    columns = {
        name: _Column.of_bytes(
            name,
            where,
            pa.chunked_array(parts).combine_chunks(),
            lambda row: f"line {line[row]}",
            quotes=quotes,
            remedy=NOT_UTF_8,
        )
        for name, parts in pieces.items()
    }
    return _Table(where, columns)


def _refuse_broken(cut: Cut, width: int, quotes: bool, where: str) -> None:
    """Refuse lines that cannot be cut, and rows with too few or too many fields."""
    if flaw := cut.first_flaw():
        line, reason = flaw
        raise LogError(f"{where} cannot be read on line {line} ({reason}): {_REMEDIES[reason]}.")
    ragged = np.flatnonzero(cut.fields != width)
    if len(ragged):
        row = int(ragged[0])
        remedy = "correct it, and quote answers that hold a comma" if quotes else "correct it"
        raise LogError(
            f"{where} has {cut.fields[row]} fields on line {cut.lines[row]} and {width} in its header: {remedy}."
        )


def _is_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
