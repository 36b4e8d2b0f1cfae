"""Encodings of text files, and their way to UTF-8.

Only encodings are read in which a line feed is a line feed, whatever stands before it (:data:`ENCODINGS`): bytes that
cannot be decoded spoil the field that they stand in, and no other line. They become half a surrogate pair, which no
UTF-8 text has, so that such a row is counted as broken further on like one that is not UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

import numpy as np

from blendp.errors import ParameterError

UTF_8 = "utf-8"

ENCODINGS = {
    UTF_8: "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16, big-endian",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp950": "Big5 of Windows",
    "big5hkscs": "Big5 of Hong Kong",
    "shift_jis": "Shift JIS",
    "cp932": "Shift JIS of Windows",
    "euc_jp": "EUC-JP",
    "euc_kr": "EUC-KR",
    "cp949": "EUC-KR of Windows",
    **{f"cp{page}": f"Windows-{page}" for page in range(1250, 1259)},
    "cp874": "Windows-874",
    "iso8859-1": "Latin-1",
    **{f"iso8859-{part}": f"ISO 8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)},
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "cp437": "DOS code page 437",
    "cp850": "DOS code page 850",
    "cp852": "DOS code page 852",
    "cp866": "DOS code page 866",
    "mac-roman": "Mac Roman",
}
"""What is read, by the name that Python has for it, and what it is called."""

_SAME = {"ascii": UTF_8, "utf-8-sig": UTF_8, "utf-16": "utf-16-le", "gbk": "gb18030", "gb2312": "gb18030"}
_MARKS = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_HIGH = re.compile(rb"[\x80-\xff]+")
_UNREADABLE = "\udc80"
_BYTES, _UNITS = "blendp-unreadable-bytes", "blendp-unreadable-units"
_MAX_WAITING = 1 << 22


def canonical(encoding: str) -> str:
    """The one name of an encoding; raises :class:`ParameterError` for one that is not read."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        name = encoding
    name = _SAME.get(name, name)
    if name not in ENCODINGS:
        raise ParameterError(
            "encoding",
            encoding,
            "one of utf-16, " + ", ".join(ENCODINGS),
            "Name the file's encoding; Excel writes utf-8, utf-16 or a Windows code page such as cp1252.",
        )
    return name


def marked(start: bytes) -> str | None:
    """The encoding that the first bytes of a file tell: by a byte order mark, or by the zeros of UTF-16 letters."""
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    little, big = (start[1:4:2] == b"\0\0", start[0:4:2] == b"\0\0")
    return None if little == big else "utf-16-le" if little else "utf-16-be"


def transcoded(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Blocks of a file in UTF-8, without a byte order mark.

    Whole lines are decoded at a time, so where a block ends changes nothing. A line that does not end is passed on in
    pieces; it is too long to be a row.
    """
    rest, first = b"", True
    for block in blocks:
        data = rest + block
        used = _after_last_feed(data, encoding)
        if len(data) - used > _MAX_WAITING:
            used = len(data) & ~1
        if used:
            text = decoded(data[:used], encoding)
            yield text.removeprefix(codecs.BOM_UTF8) if first else text
            first = False
        rest = data[used:]
    if rest:
        text = decoded(rest, encoding)
        yield text.removeprefix(codecs.BOM_UTF8) if first else text


def decoded(data: bytes, encoding: str) -> bytes:
    """Bytes in UTF-8; what cannot be decoded becomes bytes that are not UTF-8."""
    errors = _UNITS if encoding.startswith("utf-16") else _BYTES
    return data.decode(encoding, errors).encode(UTF_8, "surrogatepass")


def decodes(data: bytes, encoding: str) -> bool:
    """Whether all of the bytes are text in an encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _after_last_feed(data: bytes, encoding: str) -> int:
    """Where the last line feed ends; in UTF-16 it is a unit, at an even place."""
    if not encoding.startswith("utf-16"):
        return data.rfind(b"\n") + 1
    units = np.frombuffer(data, dtype="<u2" if encoding == "utf-16-le" else ">u2", count=len(data) // 2)
    feeds = np.flatnonzero(units == ord("\n"))
    return 2 * (int(feeds[-1]) + 1) if len(feeds) else 0


def _past_bytes(error: UnicodeError) -> tuple[str, int]:
    """Take the bytes beyond ASCII that stand there for one unreadable character; a line feed is none of them."""
    assert isinstance(error, UnicodeDecodeError)
    run = _HIGH.match(error.object, error.start)
    return _UNREADABLE, run.end() if run else error.start + 1


def _past_unit(error: UnicodeError) -> tuple[str, int]:
    """Take one unit of UTF-16 for an unreadable character."""
    assert isinstance(error, UnicodeDecodeError)
    return _UNREADABLE, min(error.start + 2, len(error.object))


codecs.register_error(_BYTES, _past_bytes)
codecs.register_error(_UNITS, _past_unit)
