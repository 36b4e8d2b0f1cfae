"""How a text file is written: delimiter, quotes, encoding, and whether it has a header."""

from __future__ import annotations

from dataclasses import dataclass

from blendp.errors import ParameterError


@dataclass(frozen=True)
class TextDialect:
    """The way in which the rows of a text file are written.

    where:
        delimiter  is the ASCII character between fields,
        quotes     says whether a field may be enclosed in double quotes (RFC 4180); else a quote is ordinary text,
        encoding   is the name of the file's encoding, as Python's codecs have it,
        header     says whether the first row names the columns.
    """

    delimiter: str = ","
    quotes: bool = True
    encoding: str = "utf-8"
    header: bool = True

    def __post_init__(self) -> None:
        """Refuse a delimiter that is no single character, or has another meaning."""
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0':
            raise ParameterError(
                "delimiter",
                self.delimiter,
                "one ASCII character, no quote and no line break",
                "Give the character between fields, such as ; or a tab.",
            )


CSV, TSV = TextDialect(), TextDialect("\t", quotes=False)
