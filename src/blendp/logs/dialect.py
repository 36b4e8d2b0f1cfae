"""How a text file is written: delimiter, quotes, encoding, and whether it has a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blendp.errors import ParameterError
from blendp.logs.encodings import ENCODINGS, UTF_8, canonical

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""The delimiters that are recognised, and what they are called."""


@dataclass(frozen=True)
class TextDialect:
    """The way in which the rows of a text file are written.

    where:
        delimiter  is the ASCII character between fields,
        quotes     says whether a field may be enclosed in double quotes (RFC 4180); else a quote is ordinary text,
        encoding   is the name of the file's encoding, as Python's codecs have it,
        header     says whether the first row names the columns,
        preamble   says whether a line before it tells the delimiter (``sep=;``), as spreadsheets like it.
    """

    delimiter: str = ","
    quotes: bool = True
    encoding: str = UTF_8
    header: bool = True
    preamble: bool = False

    def __post_init__(self) -> None:
        """Refuse a delimiter that is no single character, or has another meaning, and encodings that are not read."""
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0':
            raise ParameterError(
                "delimiter",
                self.delimiter,
                "one ASCII character, no quote and no line break",
                "Give the character between fields, such as ; or a tab.",
            )
        object.__setattr__(self, "encoding", canonical(self.encoding))

    def __str__(self) -> str:
        """In a few words, such as ``semicolons, GB18030, no header``."""
        delimiter = DELIMITERS.get(self.delimiter, f"{self.delimiter!r} between fields")
        said = [delimiter, ENCODINGS[self.encoding]]
        if self.quotes == (self.delimiter == "\t"):
            said.append("quotes" if self.quotes else "no quotes")
        if not self.header:
            said.append("no header")
        return ", ".join(said)


CSV, TSV = TextDialect(), TextDialect("\t", quotes=False)


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """What somebody says about the way in which a text file is written; the rest is recognised.

    where:
        delimiter, quotes, encoding  are those of :class:`TextDialect`, None to recognise them,
        header  is False if the first line is a row like all others,
        names   has the names of all columns, in their order, in place of those in the header.
    """

    delimiter: str | None = None
    quotes: bool | None = None
    encoding: str | None = None
    header: bool = True
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Refuse what no file can be, and rows whose columns have no names."""
        TextDialect("," if self.delimiter is None else self.delimiter, encoding=self.encoding or UTF_8)
        if self.names is not None:
            names = tuple(self.names)
            if isinstance(self.names, str) or not names or "" in names or len(set(names)) < len(names):
                raise ParameterError(
                    "names", self.names, "distinct names of all columns, in their order", "Name every column once."
                )
            object.__setattr__(self, "names", names)
        elif not self.header:
            raise ParameterError(
                "names", None, "given where there is no header", "Name all columns in their order: user,query,url."
            )

    def refuse_for(self, format: str) -> None:
        """Raise if something is said about a file that is not written in fields of text."""
        for name, default in (("delimiter", None), ("quotes", None), ("names", None), ("header", True)):
            if (value := getattr(self, name)) != default:
                raise ParameterError(name, value, f"left out with format {format!r}", "It is for CSV and TSV files.")
