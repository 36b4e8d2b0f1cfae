"""A witness of how the database reads lines: it looks at the same bytes meanwhile, and counts.

The database reads a file as lines, with no quotes and a delimiter that stands nowhere. It reads them as
:mod:`blendp.logs.fields` does if

1. every carriage return stands before a line feed or at the end (it takes others for the end of a line),
2. the delimiter does stand nowhere, and
3. its rows are as many as the lines that are not blank, too long, or not UTF-8. It leaves these out one by one; those
   that are not UTF-8 are kept here, for the careful reader to cut.

It cuts *plain* lines, none of which has a quote or a NUL byte, is too long or not UTF-8, into columns as that reader
does: at every delimiter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from blendp.logs import fields
from blendp.logs.delimited import take_in
from blendp.logs.dialect import TextDialect
from blendp.logs.fields import TOO_LONG, cut_lines, whole_lines
from blendp.logs.intake import RowIntake

NOWHERE = "\U0010ffff"
"""The delimiter that stands nowhere: no character, and not for use in texts."""

MAX_ASIDE = 1 << 25
"""How many bytes of lines that are not UTF-8 are kept aside; a log with more is not one for the database."""

_BLOCK = 1 << 17
_NOWHERE = NOWHERE.encode()
_NEWLINE = 10
_ESCAPED = (0xDC80, 0xDCFF)


@dataclass(frozen=True)
class TextFile:
    """A text file with a header: where its rows begin, the names of its columns, and where the wanted ones stand."""

    path: Path
    header_line: int
    names: tuple[str, ...]
    position_of: dict[str, int]

    @property
    def width(self) -> int:
        """How many fields a row has."""
        return len(self.names)


@dataclass
class LinesSeen:
    """What was seen so far: rows that the database should find, lines too long, and those that are not UTF-8.

    ``strange`` says that the database cannot be trusted with these bytes, if they are to be
    ``plain`` also because of a quote, a NUL byte, a line too long or one that is not UTF-8.
    """

    rows: int = 0
    too_long: int = 0
    aside: list[bytes] = field(default_factory=list)
    aside_bytes: int = 0
    strange: bool = False
    plain: bool = False
    _feeds: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)
    """Room for marks, kept from block to block: new memory costs more than what is done in it."""

    def look(self, data: bytes, skip: int = 0) -> None:
        """Count the lines of ``data``, each ended by a line feed alone, but for the first so many."""
        self.strange = self.strange or b"\r" in data or (b"\xf4" in data and _NOWHERE in data)
        self.strange = self.strange or (self.plain and has_more_than_text(data))
        if skip:
            data = data.split(b"\n", skip)[-1]
        if not data:
            return
        text = np.frombuffer(data, dtype=np.uint8)
        if len(self._feeds) < len(text):
            self._feeds = np.empty(2 * len(text), dtype=bool)
        feeds = np.equal(text, _NEWLINE, out=self._feeds[: len(text)])
        self.rows += int(np.count_nonzero(feeds)) - int(feeds[0]) - int(np.count_nonzero(feeds[1:] & feeds[:-1]))
        if len(data) > fields.MAX_LINE:
            length = _lengths(feeds)
            long = length > fields.MAX_LINE + 1
            self.too_long += int(long.sum())
            self.strange = self.strange or (self.plain and self.too_long > 0)
            self.rows -= int(long.sum())
            data = text[np.repeat(~long, length)].tobytes()
        if not data.isascii():
            self._keep_aside(data)

    def _keep_aside(self, data: bytes) -> None:
        try:
            data.decode()
        except UnicodeDecodeError:
            points = np.frombuffer(
                data.decode("utf-8", "surrogateescape").encode("utf-32-le", "surrogatepass"), dtype=np.uint32
            )
            escaped = np.flatnonzero((points >= _ESCAPED[0]) & (points <= _ESCAPED[1]))
            text = np.frombuffer(data, dtype=np.uint8)
            length = _lengths(text == _NEWLINE)
            unread = np.zeros(len(length), dtype=bool)
            unread[np.searchsorted(np.flatnonzero(points == _NEWLINE), escaped)] = True
            self.rows -= int(unread.sum())
            self.aside.append(text[np.repeat(unread, length)].tobytes())
            self.aside_bytes += len(self.aside[-1])
            self.strange = self.strange or self.plain or self.aside_bytes > MAX_ASIDE


def has_more_than_text(data: bytes) -> bool:
    """Whether there is a quote, or a NUL byte."""
    return b'"' in data or b"\0" in data


def _lengths(feeds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The bytes of every line, its line feed included."""
    return np.diff(np.flatnonzero(feeds), prepend=-1)


class LineWitness:
    """Looks at text files in a thread of its own; what the database cannot read goes to ``intake`` at the end."""

    def __init__(self, files: Sequence[TextFile], dialect: TextDialect, intake: RowIntake, *, plain: bool) -> None:
        """A witness that has yet to start; ``plain`` lines are cut by the database itself."""
        self._files = files
        self._dialect = dialect
        self._intake = intake
        self._seen = [LinesSeen(plain=plain) for _ in files]
        self._stop = Event()
        self._error: Exception | None = None
        self._thread = Thread(target=self._look, daemon=True)

    def start(self) -> None:
        """Begin to look, unless that was done."""
        if self._thread.ident is None:
            self._thread.start()

    def stop(self) -> None:
        """Look no further, if that is still going on."""
        self._stop.set()
        self._thread.join()

    def agrees(self, rows: int) -> bool:
        """Whether the database, which found so many rows, read the lines as the careful reader would.

        Waits until everything was looked at. Raises :class:`~blendp.errors.LogError` if a file cannot be read to its
        end: the database may have taken what it got for all.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        return not any(seen.strange for seen in self._seen) and rows == self.rows

    @property
    def rows(self) -> int:
        """How many rows for the database were seen so far."""
        return sum(seen.rows for seen in self._seen)

    def put_aside(self) -> int:
        """Take in the lines that the database left out; gives the number of those that are rows."""
        count = 0
        for file, seen in zip(self._files, self._seen, strict=True):
            self._intake.count_broken(TOO_LONG, seen.too_long)
            if seen.aside:
                cut = cut_lines(b"".join(seen.aside), 0, self._dialect.delimiter, self._dialect.quotes)
                take_in(cut, file.width, file.position_of, self._dialect.quotes, self._intake)
                count += len(cut)
        return count

    def _look(self) -> None:
        try:
            for file, seen in zip(self._files, self._seen, strict=True):
                skip = file.header_line
                for data in self._until_stopped(file.path):
                    seen.look(data, skip)
                    skip -= min(skip, data.count(b"\n")) if skip else 0
                    if seen.strange:
                        return
        except Exception as error:
            self._error = error

    def _until_stopped(self, path: Path) -> Iterator[bytes]:
        for data in whole_lines(path, _BLOCK):
            if self._stop.is_set():
                return
            yield data
