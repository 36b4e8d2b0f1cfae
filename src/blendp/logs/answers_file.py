"""A file of answers: which of its columns are asked for, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from blendp.answers import MAX_ATTRIBUTES, Questionnaire
from blendp.engines.quality import NOT_CLOSED
from blendp.errors import LogError, ParameterError, require_choice
from blendp.logs.delimited import header_of
from blendp.logs.dialect import DELIMITERS, TextDialect, TextOptions
from blendp.logs.fields import TOO_LONG, Cut
from blendp.logs.filters import RowFilter
from blendp.logs.reading import HowRead
from blendp.logs.recognise import recognise, require_names_in_pipe, with_rows
from blendp.logs.sources import absent, named_format, unreadable
from blendp.logs.votes import UndecidedError
from blendp.spelling import option

FORMATS = ("auto", "csv", "tsv", "parquet")

_REMEDIES = {
    NOT_CLOSED: "close the quote on that line, since no answer runs across lines",
    TOO_LONG: "check that this is a text file of answers",
}
_SHOWN = 10


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
        """The file that :func:`~blendp.logs.read_answers` reads, given its options."""
        if not isinstance(source, str | Path):
            remedy = "blendp.read_answers takes tables too."
            raise ParameterError("source", type(source).__name__, "a path", remedy)
        require_choice("format", format, FORMATS)
        names = None if header else columns
        options = TextOptions(delimiter=delimiter, quotes=quotes, encoding=encoding, header=header, names=names)
        if names is not None:
            columns = None if questionnaire is not None else [name for name in names if name != opt_in]
        asked = asked_names(columns, questionnaire, opt_in)
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
        try:
            chosen_columns(names, self.asked, self.opt_in, where)
        except LogError as error:
            if any(name in names for name in self.wanted):
                raise
            raise UndecidedError(str(error)) from None

    @property
    def example(self) -> str:
        """The option that names all columns, for example."""
        return option("columns", self.wanted[:3] or ["a", "b", "c"])

    def owner(self, names: Sequence[str]) -> None:
        """A row is a person's own."""

    @property
    def wanted(self) -> list[str]:
        """The questions that are named, and who opts in."""
        return [*(self.asked or ()), *([] if self.opt_in is None else [self.opt_in])]

    def require_in_pipe(self, first: Cut) -> None:
        """Raise if the first line of a pipe, at which nobody looked before, does not name the columns."""
        if self.dialect is None or self.names is not None or self.path.is_file():
            return
        require_names_in_pipe(self.path, first.data, self.dialect, self)
        (name, *others) = header_of(first, self.dialect.quotes)
        marks = [mark for mark in DELIMITERS if mark in name]
        if marks and not others:
            said = f"{self.path} has one column, {name[:40]!r}: say what stands between fields"
            raise with_rows(LogError(f"{said} ({option('delimiter', *marks)})."), first.data.lstrip(b"\n"))

    def choose(self, names: Sequence[str]) -> dict[str, int]:
        """The columns to read, and where each stands among the names of all."""
        return chosen_columns(names, self.asked, self.opt_in, str(self.path))

    @property
    def how(self) -> HowRead:
        """How it is read, for people and for a release's card."""
        format = "parquet" if self.dialect is None else "csv" if self.dialect.quotes else "tsv"
        return HowRead(format, {}, self.dialect, RowFilter())


def not_utf_8() -> str:
    """What to do about a text file that is not UTF-8."""
    return f"save the file as UTF-8, or say its encoding ({option('encoding', 'gb18030', 'cp1252')}, for example)"


def asked_names(
    columns: Sequence[str] | None, questionnaire: Questionnaire | None, opt_in: str | None
) -> list[str] | None:
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


def chosen_columns(names: Sequence[str], asked: Sequence[str] | None, opt_in: str | None, where: str) -> dict[str, int]:
    """Where each column to read stands among the names of all; raises unless each is there, once."""
    if asked is None:
        asked = [name for name in names if name != opt_in]
        if not asked or "" in asked:
            raise LogError(
                f"{where} has {'a column without a name' if asked else 'no column to ask'}: check that its first line"
                f" names every column, or name those to ask ({option('columns')})."
            )
    wanted = asked if opt_in is None else [*asked, opt_in]
    for name in wanted:
        if name not in names:
            shown = ", ".join(repr(item[:40]) for item in names[:_SHOWN]) or "none"
            more = ", ..." if len(names) > _SHOWN else ""
            named_by = option("opt_in_column" if name == opt_in else "columns")
            raise LogError(f"{where} has no column {name!r} (it has {shown}{more}): name the right one ({named_by}).")
        if names.count(name) > 1:
            raise LogError(
                f"{where} has {names.count(name)} columns named {name!r}: check that its first line names the columns,"
                " and rename all but one."
            )
    if len(asked) > MAX_ATTRIBUTES:
        raise LogError(
            f"{where} has {len(asked)} columns to ask, more than {MAX_ATTRIBUTES}: name fewer ({option('columns')})."
        )
    return {name: names.index(name) for name in wanted}


def refuse_broken(cut: Cut, width: int, dialect: TextDialect, where: str) -> None:
    """Refuse lines that cannot be cut, and rows with too few or too many fields."""
    if flaw := cut.first_flaw():
        line, reason = flaw
        raise LogError(f"{where} cannot be read on line {line} ({reason}): {_REMEDIES[reason]}.")
    ragged = np.flatnonzero(cut.fields != width)
    if len(ragged):
        row = int(ragged[0])
        number = int(cut.fields[row])
        mark = DELIMITERS.get(dialect.delimiter, repr(dialect.delimiter))
        remedy = f"correct it, quote answers that hold {mark}," if dialect.quotes else "correct it,"
        raise LogError(
            f"{where} has {number} {'field' if number == 1 else 'fields'} on line {cut.lines[row]} and {width}"
            f" {'in its header' if dialect.header else 'columns are named'}: {remedy} or say what stands between fields"
            f" ({option('delimiter')})."
        )


def _one_file(source: str | Path, format: str) -> tuple[Path, str]:
    path = Path(source)
    try:
        if path.is_dir():
            raise LogError(f"{path} is a folder: name one file.")
        if not path.exists():
            raise absent(path)
    except OSError as error:
        raise unreadable(path, error) from error
    return path, named_format(path, FORMATS) if format == "auto" else format
