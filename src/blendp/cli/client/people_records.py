"""A person's own records, from a file or standard input.

Lines stand for themselves: what cannot be read as one is left out and counted for the person, here on the device. It
stops nothing, for whether somebody takes part must not tell what they hold.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

from blendp.client import Device
from blendp.errors import LogError
from blendp.headlist.head_list import Record

_HEADERS = (["query", "url"], ["query"])
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class OwnRecords:
    """What a person's file holds.

    where:
        broken  is how many lines are no query,url record.
    """

    records: tuple[Record, ...]
    broken: int

    def counts(self, device: Device, campaign: str) -> dict[str, int]:
        """How much of it a campaign can use."""
        usable = device.usable(campaign, self.records)
        return {"lines": len(self.records) + self.broken, "broken": self.broken, "usable": usable}


def counts_sentence(counts: dict[str, int]) -> str:
    """How much of a file a campaign can use, for the person."""
    lines = "1 line" if counts["lines"] == 1 else f"{counts['lines']} lines"
    none = "" if counts["usable"] else ", so you count as somebody who searched for nothing"
    return f"Of {lines} of records {counts['usable']} can be used by this campaign{none}; nobody else is told."


def read_records(path: Path) -> OwnRecords:
    """Lines of query,url in CSV; ``-`` is standard input. A first line with these names is left out."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise LogError(f"{path} is no file: --records names lines of query,url (- for standard input).") from None
    lines = (line.removesuffix(b"\r") for line in data.removeprefix(_BOM).split(b"\n"))
    rows = [_row(line) for line in lines if line.strip()]
    if rows and rows[0] in _HEADERS:
        rows = rows[1:]
    records = tuple((row[0], row[1] if len(row) > 1 and row[1] else None) for row in rows if row is not None)
    return OwnRecords(records, sum(row is None for row in rows))


def _row(line: bytes) -> list[str] | None:
    """The one or two fields of a line; None if it has others, or cannot be read."""
    try:
        fields = next(csv.reader([line.decode("utf-8")], strict=True))
    except (UnicodeDecodeError, csv.Error):
        return None
    return fields if len(fields) in (1, 2) else None
