"""Recognising how a text file is written.

The *first line* decides, because it names the columns and is nobody's: a delimiter is right if it cuts that line into
names that were given, or are known (:mod:`blendp.logs.column_names`). Where no delimiter does, nothing is guessed: an
option has to say it.

Only the *encoding* may have to be seen in people's rows. There every person has one vote, in one of :data:`GROUPS`
groups, and every group has one (:mod:`blendp.logs.votes`).
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from blendp.arrow import pa
from blendp.errors import LogError
from blendp.logs.column_names import candidates
from blendp.logs.columns import Columns, UnclearError, positions
from blendp.logs.delimited import header_of, unquoted
from blendp.logs.dialect import DELIMITERS, TextDialect, TextOptions
from blendp.logs.encodings import ENCODINGS, UTF_8, canonical, decoded, decodes, marked
from blendp.logs.fields import MAX_LINE, cut_lines, first_bytes, refuse_compressed
from blendp.logs.votes import CANDIDATES, UndecidedError, vote
from blendp.spelling import option

LOOKED_AT = 1 << 22
"""How many bytes of a file are looked at."""

_SHOWN_ROWS, _SHOWN_WIDTH = 3, 100
_TITLE_LINES = 5
"""How many lines above a header are looked at, to say what they are."""

_MARKS = "~^!#$%&*+/:=@ "
"""What else may stand between fields."""

_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")
_SEPARATOR = re.compile(rb'"?sep=([!-~\t])"?[;,\t|]*', re.IGNORECASE)


_NO_TEXT = {
    b"PK\x03\x04": "is a ZIP archive or a workbook, not text: save or export its table as CSV",
    b"\xd0\xcf\x11\xe0": "is a workbook, not text: save or export its table as CSV",
    b"PAR1\x15": "is a Parquet file: say so ({parquet})",
    b"\xff\xfe\0\0": "is UTF-32 text: save it as UTF-8",
    b"\0\0\xfe\xff": "is UTF-32 text: save it as UTF-8",
    b"\x89PNG": "is no text file (a picture): check the path",
    b"%PDF-": "is no text file (a PDF): check the path",
}
"""How files begin that are no text, what they are, and what to do."""


class Header(Protocol):
    """What the first line of a file has to name."""

    @property
    def example(self) -> str:
        """The option that names all columns, for example."""

    def fits(self, names: Sequence[str]) -> bool:
        """Whether these may be the names."""

    def require(self, names: Sequence[str], where: str) -> None:
        """Raise :class:`LogError` unless they are, :class:`UndecidedError` if none of them is."""

    def owner(self, names: Sequence[str]) -> int | None:
        """At which of the names the id of a row's person stands; None if every row is a person's own."""


@dataclass(frozen=True)
class LogHeader:
    """The header of a log."""

    columns: Columns

    @property
    def example(self) -> str:
        """The option that names all columns, for example."""
        return option("names", ["user", "query", "url"])

    def fits(self, names: Sequence[str]) -> bool:
        """Whether all columns are there that the log must have."""
        return all(candidates(names, role, name) for role, name in self.columns.named.items())

    def require(self, names: Sequence[str], where: str) -> None:
        """Raise :class:`LogError` unless it is clear which column is which."""
        try:
            positions(names, self.columns, where)
        except LogError as error:
            if any(candidates(names, role, name) for role, name in self.columns.named.items()):
                raise
            raise UndecidedError(str(error)) from None

    def owner(self, names: Sequence[str]) -> int | None:
        """Where the user stands."""
        return next(iter(candidates(names, "user", self.columns.user)), None)


def recognise(
    paths: Sequence[Path], format: str, options: TextOptions, header: Header
) -> tuple[TextDialect, Sequence[Sequence[str]]]:
    """How all of the files are written, and the names of the columns of each.

    What comes through a pipe can be read once, so it is as options say, or as usual, and has no names yet.
    Raises :class:`LogError` if that cannot be decided, or differs.
    """
    dialects: dict[TextDialect, Path] = {}
    encodings: dict[str, Path] = {}
    names_of_files: list[Sequence[str]] = []
    ascii_path: Path | None = None
    for path in paths:
        if not path.is_file():
            dialects.setdefault(_unseen(format, options), path)
            encodings.setdefault(canonical(options.encoding or UTF_8), path)
            names_of_files.append(())
            continue
        start = _Start(path, first_bytes(path, LOOKED_AT), format, options, header)
        dialect, encoding, names = start.recognised()
        names_of_files.append(names)
        dialects.setdefault(dialect, path)
        if encoding is not None:
            encodings.setdefault(encoding, path)
        else:
            ascii_path = path
    if ascii_path is not None and any(encoding.startswith("utf-16") for encoding in encodings):
        encodings.setdefault(UTF_8, ascii_path)
    ways = [(str(dialect), path) for dialect, path in dialects.items()]
    if len(ways) == 1:
        ways = [(ENCODINGS[encoding], path) for encoding, path in encodings.items()]
    if len(ways) > 1:
        (one, first), (other, path) = ways[:2]
        raise LogError(
            f"{path} is written in another way ({other}) than {first} ({one}): give files of one kind, or say how all"
            f" are written ({option('delimiter')}, {option('encoding')})."
        )
    return replace(next(iter(dialects)), encoding=next(iter(encodings), UTF_8)), names_of_files


def require_names_in_pipe(path: Path, text: bytes, dialect: TextDialect, header: Header) -> None:
    """Raise unless what came through a pipe begins with the names of the columns, cut as it will be."""
    format = "tsv" if dialect.delimiter == "\t" else "csv"
    line = text[: MAX_LINE + 2].lstrip(b"\n").partition(b"\n")[0] + b"\n"
    _Start(path, b"", format, TextOptions(), header).require_names(_names(line, dialect), text.lstrip(b"\n"), dialect)


@dataclass(frozen=True)
class _Start:
    """The first bytes of a file, and what was said about it."""

    path: Path
    start: bytes
    format: str
    options: TextOptions
    header: Header

    def recognised(self) -> tuple[TextDialect, str | None, Sequence[str]]:
        """The dialect but for its encoding; that, None if the bytes are ASCII and tell none; the columns' names."""
        if self.options.header:
            self._require_text()
        encoding = self._encoding_said()
        text = self.start if encoding in (None, UTF_8) else decoded(self.start, encoding)
        text = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").lstrip(b"\n")
        separator = _SEPARATOR.fullmatch(text[:16].partition(b"\n")[0]) if self.options.header else None
        options = self.options
        if separator:
            text = text.partition(b"\n")[2].lstrip(b"\n")
            options = replace(options, delimiter=options.delimiter or separator[1].decode())
        if not text:
            raise LogError(f"{self.path} is empty: give a file with rows.")
        line = text[: MAX_LINE + 2].partition(b"\n")[0] + b"\n"
        if options.header:
            self._require_lines(line, text)
        if encoding is None and options.header and not line.isascii():
            encoding = self._encoding_of_header(line, options)
            text, line = text if encoding == UTF_8 else decoded(text, encoding), decoded(line, encoding)
        dialect, names = self._cut(line, text, options)
        dialect = replace(dialect, preamble=separator is not None)
        if encoding is None and not text.isascii():
            rows = text[len(line) if options.header else 0 :]
            encoding = self._encoding_of_rows(rows, dialect, names)
        return dialect, encoding, names

    def _require_text(self) -> None:
        """Raise if the file begins like one that is no text."""
        refuse_compressed(self.start, self.path)
        for sign, trouble in _NO_TEXT.items():
            if self.start.startswith(sign):
                raise LogError(f"{self.path} {trouble.format(parquet=option('format', 'parquet'))}.")

    def _require_lines(self, line: bytes, text: bytes) -> None:
        """Raise if the first line is no text, or no line but all of a file whose lines end otherwise."""
        if b"\0" in line or (_CONTROL.search(line) and not decodes(line, UTF_8)):
            raise LogError(f"{self.path} is no text file (its first line has control bytes): save its table as CSV.")
        whole = text.strip(b"\r\n")
        if b"\r" in whole and b"\n" not in whole:
            raise LogError(
                f"{self.path} ends its lines with lone carriage returns: write line feeds, for example by"
                " tr '\\r' '\\n' < old > new."
            )

    def _encoding_said(self) -> str | None:
        """What was given, or a header's first bytes tell."""
        mark = marked(self.start)
        if self.options.encoding is None:
            return mark if self.options.header else None
        given = canonical(self.options.encoding)
        if mark is None or not mark.startswith("utf-16") or not self.options.header:
            return given
        if not given.startswith("utf-16"):
            raise LogError(f"{self.path} is UTF-16 text: say so ({option('encoding', 'utf-16')}), or say no encoding.")
        return mark

    def _encoding_of_header(self, line: bytes, options: TextOptions) -> str:
        """The one encoding in which a header that is not ASCII names columns that are known."""
        if decodes(line, UTF_8):
            return UTF_8
        possible = [encoding for encoding in CANDIDATES if decodes(line, encoding)]
        fitting = [encoding for encoding in possible if self._fitting(decoded(line, encoding), options)]
        if len(fitting) == 1:
            return fitting[0]
        what = f"The first line of {self.path} is not UTF-8"
        raise with_rows(UndecidedError.of(what, fitting or possible), line, fitting or possible)

    def _cut(self, line: bytes, text: bytes, options: TextOptions) -> tuple[TextDialect, Sequence[str]]:
        """The dialect, and the names of the columns."""
        if not options.header:
            return _unseen(self.format, options), options.names or ()
        fitting = self._fitting(line, options)
        if len(fitting) > 1:
            marks = " or ".join(DELIMITERS[way.delimiter] for way in fitting)
            sentence = f"The first line of {self.path} may be cut at {marks}: say which ({option('delimiter')})."
            raise with_rows(LogError(sentence), text)
        ways = self._ways(line, options)
        if not fitting:
            cut_lines(line, 0, ways[0].delimiter, ways[0].quotes).require_header(self.path)
        dialect = next(iter(fitting), None) or max(ways, key=lambda way: len(_names(line, way)))
        names = _names(line, dialect)
        self.require_names(names, text, dialect)
        return dialect, options.names or names

    def require_names(self, names: Sequence[str], text: bytes, dialect: TextDialect) -> None:
        """Raise with what to do, and the first rows, unless these are names of the columns that are looked for."""
        try:
            self._require(names)
        except UndecidedError as error:
            advised = LogError(f"{str(error).removesuffix('.')}, {self._advice(text, names, dialect)}.")
            raise with_rows(advised, text) from None
        except UnclearError as error:
            raise with_rows(error, text) from None

    def _advice(self, text: bytes, names: Sequence[str], dialect: TextDialect) -> str:
        """What to do about a first line that names no column that is looked for, cut in this way."""
        lines = [line.strip() + b"\n" for line in text[:MAX_LINE].split(b"\n", _TITLE_LINES + 1)[: _TITLE_LINES + 1]]
        for above, line in enumerate(lines[1:], start=1):
            if self._fitting(line, self.options):
                return f"or delete the {'line' if above == 1 else f'{above} lines'} above the header"
        marks = _marks(lines[0])
        if len(lines) > 1 and marks[" "] != _marks(lines[1])[" "]:
            del marks[" "]  # a title, or queries of several words
        if len(names) == 1 and marks:
            return f"or say what stands between fields ({option('delimiter', marks.most_common(1)[0][0])})"
        also = []
        if (encoding := self._utf_16) is not None:
            also.append(option("encoding", encoding))
        if dialect.delimiter != _default(self.format):
            also.append(option("delimiter", dialect.delimiter))
        by = f" with {', '.join(also)}" if also else ""
        return f"or say {option('header')}{by} and name all ({self.header.example}) if the first line names none"

    @property
    def _utf_16(self) -> str | None:
        """The option for an encoding that a header's first bytes tell, and those of a row must not."""
        mark = marked(self.start)
        if self.options.encoding is not None or mark is None or not mark.startswith("utf-16"):
            return None
        return "utf-16" if mark == "utf-16-le" else mark

    def _fitting(self, line: bytes, options: TextOptions) -> list[TextDialect]:
        """The ways to cut the first line into names as they should be; names hold no tab, so tabs alone if they do."""
        fitting: dict[tuple[str, ...], TextDialect] = {}
        for way in self._ways(line, options):
            if self._fits(names := _names(line, way)) and not _is_stray(line, way):
                fitting.setdefault(tuple(names), way)
        return [way for way in fitting.values() if way.delimiter == "\t"][:1] or list(fitting.values())

    def _ways(self, line: bytes, options: TextOptions) -> list[TextDialect]:
        """The ways to cut a line, the format's own first. Quotes around tabs count if the header has them."""
        default = _default(self.format)
        delimiters = [default, *(mark for mark in DELIMITERS if mark != default)]
        ways = []
        for delimiter in [options.delimiter] if options.delimiter else delimiters:
            own = _quotes(self.format, delimiter)
            also = [True] if not own and line.startswith(b'"') else []
            for quotes in [own, *also] if options.quotes is None else [options.quotes]:
                ways.append(TextDialect(delimiter, quotes))
        return ways

    def _fits(self, names: Sequence[str]) -> bool:
        return len(names) == len(self.options.names) if self.options.names else self.header.fits(names)

    def _require(self, names: Sequence[str]) -> None:
        given = self.options.names
        if given is None:
            self.header.require(names, str(self.path))
        elif len(names) != len(given):
            raise LogError(
                f"The first line of {self.path} has {len(names)} fields and {len(given)} columns are named: name all of"
                f" them in their order ({option('names')})."
            )

    def _encoding_of_rows(self, rows: bytes, dialect: TextDialect, names: Sequence[str]) -> str | None:
        if len(self.start) == LOOKED_AT:
            rows = rows[: rows.rfind(b"\n") + 1]
        if decodes(rows, UTF_8):
            return UTF_8
        column = self.header.owner(names)
        lines = [line for line in rows.split(b"\n") if not line.isascii()]
        owners = _each(lines)
        if column is not None:
            owners, lines = _with_owners(lines, dialect, len(names), column)
        try:
            return vote(owners, lines, str(self.path))
        except UndecidedError as error:
            if (encoding := self._utf_16) is not None:
                said = f"{self.path} begins as UTF-16 text does: say so ({option('encoding', encoding)})."
                raise with_rows(
                    LogError(said), decoded(self.start, canonical(encoding)).removeprefix(BOM_UTF8)
                ) from None
            raise with_rows(error, next(line for line in lines if not decodes(line, UTF_8)), error.encodings) from None


def with_rows(error: LogError, text: bytes, encodings: Sequence[str] = (UTF_8,)) -> LogError:
    """The error with the first rows of a text, as each encoding has them, cut to a line's width; of bytes none."""
    if b"\0" in text[:MAX_LINE]:
        return error
    lines = [line for line in text[:MAX_LINE].split(b"\n", _SHOWN_ROWS)[:_SHOWN_ROWS] if line]
    for encoding in encodings:
        for line in lines:
            shown = "".join(sign if sign.isprintable() else _escaped(sign) for sign in line.decode(encoding, "replace"))
            cut = shown if len(shown) <= _SHOWN_WIDTH else shown[: _SHOWN_WIDTH - 3] + "..."
            error.add_note(cut if encoding == UTF_8 else f"{encoding}: {cut}")
    return error


def _escaped(sign: str) -> str:
    return "\\t" if sign == "\t" else sign.encode("unicode_escape").decode()


def _names(line: bytes, dialect: TextDialect) -> list[str]:
    return header_of(cut_lines(line, 0, dialect.delimiter, dialect.quotes), dialect.quotes)


def _is_stray(line: bytes, dialect: TextDialect) -> bool:
    """Whether text follows a closing quote, as when a line is cut within one."""
    if not dialect.quotes or b'"' not in line:
        return False
    fields = pa.array(cut_lines(line, 0, dialect.delimiter, dialect.quotes).row(0), pa.binary())
    return bool(unquoted(fields)[1].any())


def _with_owners(
    lines: Sequence[bytes], dialect: TextDialect, width: int, column: int
) -> tuple[list[bytes], list[bytes]]:
    """Whose the lines are that are rows of so many fields, and these lines; others name nobody, and have no vote."""
    cut = cut_lines(b"".join(line + b"\n" for line in lines), 0, dialect.delimiter, dialect.quotes)
    whole = cut.fields == width
    users = cut.column(whole, column)
    owners = (unquoted(users)[0] if dialect.quotes else users).to_pylist()
    return [owner.strip() for owner in owners], [lines[line - 1] for line in cut.lines[whole].tolist()]


def _each(lines: Sequence[bytes]) -> list[bytes]:
    """Whose the lines are if each is another person's: its text, and how often that came before."""
    count: Counter[bytes] = Counter()
    owners = []
    for line in lines:
        owners.append(b"%b\n%d" % (line, count[line]))
        count[line] += 1
    return owners


def _marks(line: bytes) -> Counter[str]:
    """How often everything that may stand between fields stands in a line."""
    return Counter(mark for mark in line.strip().decode(UTF_8, "replace") if mark in DELIMITERS or mark in _MARKS)


def _unseen(format: str, options: TextOptions) -> TextDialect:
    """The dialect, but for its encoding, that options and the format tell."""
    delimiter = options.delimiter or _default(format)
    quotes = _quotes(format, delimiter) if options.quotes is None else options.quotes
    return TextDialect(delimiter, quotes, header=options.header)


def _default(format: str) -> str:
    return "\t" if format == "tsv" else ","


def _quotes(format: str, delimiter: str) -> bool:
    """Whether quotes count, if nothing else tells: searches are full of them, and tabs need none."""
    return not (format == "tsv" and delimiter == "\t")
