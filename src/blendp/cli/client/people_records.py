"""A person's own records, from a file or standard input."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blendp.errors import LogError, ParameterError
from blendp.headlist.head_list import Record

_HEADERS = (["query", "url"], ["query"])


def read_records(path: Path) -> list[Record]:
    """Lines of query,url in CSV; ``-`` is standard input. A first line with these names is left out."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise LogError(f"{path} is no file: --records names lines of query,url (- for standard input).") from None
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise LogError(f"{path} is no CSV in UTF-8 ({error}): give lines of query,url.") from None
    if rows and rows[0] in _HEADERS:
        rows = rows[1:]
    for number, row in enumerate(rows, start=1):
        if len(row) > 2:
            raise LogError(f"{path}: record {number} has {len(row)} columns: give lines of query,url.")
    return [(row[0], row[1] if len(row) > 1 and row[1] else None) for row in rows if row]


@contextmanager
def usable_records(path: Path, campaign: str, otherwise: str) -> Iterator[None]:
    """Say of the file what a device says of the records in it: that a campaign can use none."""
    try:
        yield
    except ParameterError as error:
        if error.parameter != "records":
            raise
        raise LogError(f"{path} holds no record that {campaign} can use (--records): {otherwise}") from None
