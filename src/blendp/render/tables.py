"""CSV tables in which no text can start a formula.

Texts come from people, and a spreadsheet takes a cell that starts with ``=``, ``+``, ``-`` or ``@`` for a formula. In
some countries it parts cells at semicolons, tabs or bars, quoted or not, so a formula may start within a text. So each
*piece* of a text, cut after these and after line breaks, gains one apostrophe in front if

* its first sign is one of the four, white space and double quotes put aside, or
* it starts with an apostrophe, so that :func:`text_of_cell` can take off what was put on.

Numbers are never touched. One that is unknown is an empty cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

Cell = str | float | None

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""What a formula starts with, in the wide forms too."""

_PARTS = ";|\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_PIECE = re.compile(f"[^{_PARTS}]*[{_PARTS}]?")
_QUOTED = re.compile(f'[,"{_PARTS}]|^\\s|\\s$')


def cell_of_text(text: str) -> str:
    """The text as it stands in a cell; different texts have different cells."""
    return "".join(f"'{piece}" if _needs_mark(piece) else piece for piece in _PIECE.findall(text))


def text_of_cell(cell: str) -> str:
    """The text that stands in a cell."""
    return "".join(piece.removeprefix("'") for piece in _PIECE.findall(cell))


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Write a table with the names of its columns in the first row; None and unknown numbers are empty cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for row in (columns, *rows):
            file.write(",".join(_encoded(cell) for cell in row) + "\n")


def _needs_mark(piece: str) -> bool:
    shown = next((sign for sign in piece if sign.isprintable() and not sign.isspace() and sign != '"'), "")
    return piece.startswith("'") or shown in _FORMULA


def _encoded(cell: Cell) -> str:
    if isinstance(cell, str):
        text = cell_of_text(cell)
        return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
    return str(cell) if cell is not None and math.isfinite(cell) else ""


def wildcard_text(text: str | None) -> str:
    r"""The text of a CSV field: the wildcard is ``*``; data that reads ``*``, ``\*``, ``\\*`` ... gains a backslash."""
    if text is None:
        return "*"
    return "\\" + text if text.endswith("*") and not text[:-1].strip("\\") else text
