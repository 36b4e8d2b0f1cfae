"""Bytes of a text file cut into lines and fields, a block at a time and without a loop over rows.

The cut is *line by line*: every line feed ends a row, whatever stands before it, so that nothing in one row changes
how another is read. A carriage return just before the line feed (or the end of the file) belongs to the line's end;
any other is ordinary text. Where quotes count, they count within their line alone: a field that starts with a double
quote runs to the next single double quote, whatever delimiters stand between, and a quote elsewhere is ordinary text.
A line whose quote is not closed when it ends, and one that is longer than :data:`MAX_LINE`, is no row, and touches
no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Bools
from blendp.arrow import pa
from blendp.engines.quality import NOT_CLOSED
from blendp.errors import LogError
from blendp.logs.encodings import UTF_8, marked, transcoded
from blendp.logs.sources import compression_of, unreadable
from blendp.spelling import option

BLOCK = 1 << 24
"""How many bytes are read at a time."""

MAX_LINE = 1 << 20
"""A line of more bytes than this, its end not counted, is no row; what is beyond is skipped as it comes."""

TOO_LONG = "line too long"

_NEWLINE, _QUOTE = 10, 34
_COMPRESSED = ((b"\x1f\x8b", "gzip", ".gz", "zcat"), (b"\x28\xb5\x2f\xfd", "zstd", ".zst", "zstdcat"))
_BESIDE = len(b"\xef\xbb\xbf\r")

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """Lines cut into fields; a blank line is no row.

    ``data`` is field, separator, field, separator ... of all lines, which stand between the ``bounds``; ``first`` is
    the number of the first field of every row, ``fields`` how many fields the row has, and ``lines`` on which line of
    the file it stands. ``flawed`` has, by reason, the lines that should be rows and cannot be cut.
    """

    data: bytes
    bounds: NDArray[np.int32]
    first: Positions
    fields: Positions
    lines: Positions
    flawed: dict[str, Positions]

    def column(self, rows: Bools, position: int) -> pa.Array:
        """The field at ``position`` of the chosen rows, as bytes."""
        ends, data = pa.py_buffer(self.bounds), pa.py_buffer(self.data)
        pieces = pa.BinaryArray.from_buffers(pa.binary(), len(self.bounds) - 1, [None, ends, data])
        return pieces.take(pa.array(2 * (self.first[rows] + position)))

    def filled(self, position: int) -> Bools:
        """Which rows have a field at ``position`` that is not empty."""
        filled = self.fields > position
        field = 2 * (self.first[filled] + position)
        filled[filled] = self.bounds[field + 1] > self.bounds[field]
        return filled

    def row(self, number: int) -> list[bytes]:
        """All fields of one row."""
        start = int(self.first[number])
        bounds = self.bounds[2 * start : 2 * (start + int(self.fields[number]))].reshape(-1, 2)
        return [self.data[begin:end] for begin, end in bounds.tolist()]

    def after_first_row(self) -> Cut:
        """The same rows without the first, which was the header."""
        return replace(self, first=self.first[1:], fields=self.fields[1:], lines=self.lines[1:])

    def first_flaw(self) -> tuple[int, str] | None:
        """The first line that cannot be cut, and why."""
        flaws = ((int(lines[0]), reason) for reason, lines in self.flawed.items() if len(lines))
        return min(flaws, default=None)

    def require_header(self, path: Path) -> None:
        """Raise :class:`LogError` unless the first line of the file that is not blank is a row."""
        flaw = self.first_flaw()
        if flaw and not (len(self.first) and self.lines[0] < flaw[0]):
            line, reason = flaw
            raise LogError(f"{path} has no header that can be read, line {line} ({reason}): mend that line.")

    def __len__(self) -> int:
        """How many lines there are, rows and flawed ones."""
        return len(self.first) + sum(len(lines) for lines in self.flawed.values())


def cut_file(
    path: Path,
    delimiter: str | None,
    *,
    quotes: bool = False,
    header: bool = True,
    encoding: str = UTF_8,
    preamble: bool = False,
    block: int | None = None,
) -> Iterator[Cut]:
    """The rows of a text file, gzip or zstd if its name says so, block by block.

    With ``delimiter`` None every line is one field. A byte order mark is skipped, and with ``preamble`` the first line.
    With ``header`` the first row, which names the columns and is nobody's, also tells whether a file is UTF-16 text
    that is read as UTF-8. Raises :class:`LogError` for a file that is empty, unreadable or such UTF-16.
    """
    before, empty = 0, True
    for data in whole_lines(path, block or BLOCK, encoding):
        if not before:
            data = _without_mark(data, path, header)  # noqa: PLW2901
            if preamble:
                data = b"\n" + data.partition(b"\n")[2]  # noqa: PLW2901
        cut = cut_lines(data, before, delimiter, quotes)
        before += data.count(b"\n")
        if len(cut):
            if empty and header:
                cut.require_header(path)
            empty = False
            yield cut
    if empty:
        raise LogError(f"{path} is empty: give a file with rows.")


def first_bytes(path: Path, number: int) -> bytes:
    """The first bytes of a file, so many if there are."""
    return next(_blocks(path, number), b"")


def whole_lines(path: Path, size: int, encoding: str = UTF_8) -> Iterator[bytes]:
    """The file in pieces of whole lines, each ended by a line feed alone; of a line too long only the start is kept."""
    rest = b""
    blocks = _blocks(path, size)
    for block in blocks if encoding == UTF_8 else transcoded(blocks, encoding):
        if len(rest) > MAX_LINE + _BESIDE:
            end = block.find(b"\n")
            block = block[end:] if end >= 0 else b""  # noqa: PLW2901
        data = rest + block
        used = data.rfind(b"\n") + 1
        rest = data[used:][: MAX_LINE + _BESIDE + 1]
        if used:
            lines = data[:used]
            yield lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
    if rest:
        yield rest.removesuffix(b"\r") + b"\n"


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    compression = compression_of(path)
    try:
        with ExitStack() as opened:
            source = opened.enter_context(path.open("rb")) if not compression or not path.is_file() else str(path)
            stream: Any = source
            if compression:  # Arrow opens no pipe
                stream = opened.enter_context(pa.input_stream(source, compression=compression))
            while block := stream.read(size):
                yield block
    except OSError as error:
        if error.errno or compression is None:
            raise unreadable(path, error) from error
        reason = str(error).splitlines()[0].rstrip(".")
        raise LogError(
            f"{path} cannot be read ({reason}): it may be cut short or no {compression} file, so fetch it again."
        ) from error


def refuse_compressed(data: bytes, path: Path) -> None:
    """Raise if a file begins as compressed ones do."""
    for sign, kind, ending, tool in _COMPRESSED:
        if data.startswith(sign):
            remedy = f"let its name end in {ending}" if path.is_file() else f"decompress it first ({tool})"
            raise LogError(f"{path} is compressed with {kind}: {remedy}.")


def _without_mark(data: bytes, path: Path, header: bool) -> bytes:
    if header:
        refuse_compressed(data, path)
    if header and (data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0\0" in (data[0:4:2], data[1:4:2])):
        said = option("encoding", "utf-16-be" if marked(data) == "utf-16-be" else "utf-16")
        raise LogError(f"{path} is UTF-16 text: say so ({said}), or save it as UTF-8.")
    return data.removeprefix(b"\xef\xbb\xbf")


def cut_lines(data: bytes, before: int, delimiter: str | None, quotes: bool) -> Cut:
    """The rows of whole lines, of which so many came ``before``."""
    text = np.frombuffer(data, dtype=np.uint8)
    newline = text == _NEWLINE
    feeds = np.flatnonzero(newline)
    not_closed = np.zeros(len(feeds), dtype=bool)
    places = feeds if delimiter is None else np.flatnonzero(newline | (text == ord(delimiter)))
    if quotes and delimiter is not None:
        is_end = newline[places]
        inside = _quoted(text, places, is_end, ord(delimiter))
        not_closed = inside[is_end]
        places = places[is_end | ~inside]
    ends = np.flatnonzero(newline[places])
    starts = np.concatenate(([0], places + 1))
    bounds = np.empty(2 * len(places) + 1, dtype=np.int32)
    bounds[0::2], bounds[1::2] = starts, places
    first = np.concatenate(([0], ends + 1))[:-1]
    length = feeds - starts[first]
    too_long = length > MAX_LINE
    flawed = {TOO_LONG: too_long, NOT_CLOSED: not_closed & ~too_long}
    rows = (length > 0) & ~too_long & ~not_closed
    lines = before + 1 + np.arange(len(feeds))
    fields = ends + 1 - first
    return Cut(
        data, bounds, first[rows], fields[rows], lines[rows], {why: lines[marks] for why, marks in flawed.items()}
    )


def _quoted(text: Bytes, places: Positions, is_end: Bools, delimiter: int) -> Bools:
    """Which delimiters stand inside a quoted field of their line, and which ends end a line whose quote is not closed.

    A run of quotes of even length changes nothing: its quotes are doubled, or enclose nothing. One of odd
    length ends a quoted field; outside of one it starts one, if it stands at the start of a field. So the text is
    quoted after a run if an odd number of runs at field starts came since the last run elsewhere, or since the line
    began.
    """
    quote = np.flatnonzero(text == _QUOTE)
    if not len(quote):
        return np.zeros(len(places), dtype=bool)
    heads = np.flatnonzero(np.diff(quote, prepend=-2) != 1)
    odd = np.diff(heads, append=len(quote)) % 2 == 1
    runs = quote[heads[odd]]
    before = np.where(runs > 0, text[runs - 1], _NEWLINE)
    at_start = (before == _NEWLINE) | (before == delimiter)
    following = np.searchsorted(places, runs)
    line_of_place: Positions = np.cumsum(is_end) - is_end
    line: Positions = line_of_place[following]
    opens_line = np.diff(line, prepend=-1) != 0
    swaps = np.cumsum(at_start)
    settled = np.maximum.accumulate(np.where(~at_start, swaps, np.where(opens_line, swaps - 1, 0)))
    inside = np.concatenate(([False], (swaps - settled) % 2 == 1))
    last = np.cumsum(np.bincount(following, minlength=len(places)))
    same_line = np.concatenate(([-1], line))[last] == line_of_place
    quoted: Bools = inside[last] & same_line
    return quoted
