"""Bytes of a text file cut into rows and fields, a block at a time and without a loop over rows.

The cut follows RFC 4180 where quotes count: a field that starts with a double quote runs to the next single
double quote, whatever line breaks and delimiters stand between. A quote elsewhere is ordinary text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from blendp.errors import LogError
from blendp.logs.sources import unreadable

BLOCK = 1 << 24
"""How many bytes are read at a time."""

LONGEST_ROW = 1 << 26
"""No row is longer than this many bytes: a longer one means that this is no text file, or a quote stays open."""

_NEWLINE, _QUOTE = 10, 34

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """Rows cut into fields; a blank line is no row.

    ``pieces`` holds field, separator, field, separator ... of all rows; ``first`` is the number of the first
    field of every row, ``fields`` how many fields the row has, and ``lines`` how many lines it stands on.
    ``unclosed`` is the number of lines at the end of the file that follow a quote which is never closed.
    """

    pieces: pa.Array
    first: Places
    fields: Places
    lines: Places
    unclosed: int = 0

    def column(self, rows: NDArray[np.bool_], position: int) -> pa.Array:
        """The field at ``position`` of the chosen rows, as bytes."""
        return self.pieces.take(pa.array(2 * (self.first[rows] + position)))

    def filled(self, position: int) -> NDArray[np.bool_]:
        """Which rows have a field at ``position`` that is not empty."""
        bounds = np.frombuffer(self.pieces.buffers()[1], dtype=np.int32)
        filled = self.fields > position
        field = 2 * (self.first[filled] + position)
        filled[filled] = bounds[field + 1] > bounds[field]
        return filled

    def row(self, number: int) -> list[bytes]:
        """All fields of one row."""
        start = int(self.first[number])
        return [self.pieces[2 * i].as_py() for i in range(start, start + int(self.fields[number]))]

    def after_first_row(self) -> Cut:
        """The same rows without the first, which was the header."""
        return Cut(self.pieces, self.first[1:], self.fields[1:], self.lines[1:], self.unclosed)


def cut_file(path: Path, delimiter: str | None, *, quotes: bool = False) -> Iterator[Cut]:
    """The rows of a text file, gzip if its name says so, block by block.

    With ``delimiter`` None every line is one field. Lines end with a line feed, with or without a carriage
    return; a byte order mark is skipped. Raises :class:`LogError` for a file that is empty or unreadable.
    """
    rest, started, empty = b"", False, True
    for block in _blocks(path):
        data = rest + block
        if not started:
            data, started = _without_mark(data, path), True
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        cut, used = _cut(data, delimiter, quotes)
        rest = data[used:]
        if len(rest) > LONGEST_ROW:
            raise LogError(
                f"{path} has a row of more than {LONGEST_ROW} bytes: check that it is a text file of this format"
                f"{' and that every quote is closed' if quotes else ''}."
            )
        if len(cut.first):
            empty = False
            yield cut
    if rest:
        cut, used = _cut(rest.removesuffix(b"\r") + b"\n", delimiter, quotes)
        unclosed = rest[used:].removesuffix(b"\n").count(b"\n") + 1 if used < len(rest) else 0
        if len(cut.first) or unclosed:
            empty = False
            yield Cut(cut.pieces, cut.first, cut.fields, cut.lines, unclosed)
    if empty:
        raise LogError(f"{path} is empty: give a file with rows.")


def _blocks(path: Path) -> Iterator[bytes]:
    compressed = path.name.lower().endswith(".gz")
    try:
        with pa.input_stream(str(path), compression="gzip" if compressed else None) as stream:
            while block := stream.read(BLOCK):
                yield block
    except OSError as error:
        if error.errno or not compressed:
            raise unreadable(path, error) from error
        reason = str(error).splitlines()[0].rstrip(".")
        raise LogError(
            f"{path} cannot be read ({reason}): it may be cut short or no gzip file, so fetch it again."
        ) from error


def _without_mark(data: bytes, path: Path) -> bytes:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0\0" in (data[0:4:2], data[1:4:2]):
        raise LogError(f"{path} is UTF-16 text: save it as UTF-8.")
    return data.removeprefix(b"\xef\xbb\xbf")


def _cut(data: bytes, delimiter: str | None, quotes: bool) -> tuple[Cut, int]:
    """The rows that end within ``data``, and how many bytes they take."""
    text = np.frombuffer(data, dtype=np.uint8)
    newline = text == _NEWLINE
    mark = _NEWLINE if delimiter is None else ord(delimiter)
    places = np.flatnonzero(newline | (text == mark)) if delimiter else np.flatnonzero(newline)
    if quotes:
        places = places[~_quoted(text, places, mark)]
    ends = np.flatnonzero(newline[places])
    used = int(places[ends[-1]]) + 1 if len(ends) else 0
    places = places[: ends[-1] + 1] if len(ends) else places[:0]

    starts = np.concatenate(([0], places + 1))
    bounds = np.empty(2 * len(places) + 1, dtype=np.int32)
    bounds[0::2], bounds[1::2] = starts, places
    pieces = pa.BinaryArray.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    first = np.concatenate(([0], ends + 1))[:-1]
    fields = ends + 1 - first
    lines = np.ones(len(ends), dtype=np.int64)
    if quotes:
        before = np.searchsorted(np.flatnonzero(newline), places[ends], side="right")
        lines = np.diff(before, prepend=0)
    blank = (fields == 1) & (places[ends] == starts[first])
    kept = ~blank
    return Cut(pieces, first[kept], fields[kept], lines[kept]), used


def _quoted(text: Bytes, places: Places, delimiter: int) -> NDArray[np.bool_]:
    """Which of these places stand inside a quoted field.

    A run of quotes of even length changes nothing: its quotes are doubled, or enclose nothing. One of odd
    length ends a quoted field; outside of one it starts one, if it stands at the start of a field. So the
    text is quoted after a run if an odd number of runs at field starts came since the last run elsewhere.
    """
    quote = np.flatnonzero(text == _QUOTE)
    if not len(quote):
        return np.zeros(len(places), dtype=bool)
    heads = np.flatnonzero(np.diff(quote, prepend=-2) != 1)
    odd = np.diff(heads, append=len(quote)) % 2 == 1
    runs = quote[heads[odd]]
    before = np.where(runs > 0, text[runs - 1], _NEWLINE)
    at_start = (before == _NEWLINE) | (before == delimiter)
    swaps = np.cumsum(at_start)
    settled = np.maximum.accumulate(np.where(at_start, 0, swaps))
    inside = np.concatenate(([False], (swaps - settled) % 2 == 1))
    return inside[np.searchsorted(runs, places)]
