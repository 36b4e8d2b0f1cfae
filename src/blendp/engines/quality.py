"""What a log is worth: how many rows could be used, and why the others could not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from blendp.engines.usable import NO_TIME
from blendp.errors import LogError

NOT_UTF_8 = "not UTF-8"
"""Why a row is broken whose text cannot be decoded."""

_REMEDIES = {
    NOT_UTF_8: " say the encoding of the file (--encoding, such as gb18030 or cp1252),",
    "wrong number of fields": " say what stands between fields (--delimiter),",
    NO_TIME: " name the column with the time (--time-column), write times as 2026-10-15, 2026/10/15, 20261015 or"
    " 15.10.2026, with 12:00:00 after it or not, as 15/Oct/2026:12:00:00 +0000, or as 10 or 13 digits since 1970,"
    " compare others by --where (with strptime, on Spark to_timestamp) in place of --since and --until,",
}
"""What to do first about rows that are broken for a reason, each ending in a comma."""


class Described(Protocol):
    """How a log was read: a line for people, and a document for a release's card."""

    def __str__(self) -> str:
        """One line, empty if there is nothing to say."""

    def to_dict(self) -> dict[str, Any]:
        """All of it."""


@dataclass(frozen=True)
class LogQuality:
    """The rows of a log by their fate: ``rows`` = ``usable`` + all ``broken`` + all ``ignored``.

    A *broken* row should have held a record but cannot be read; an *ignored* row holds none by the rules of
    its format, such as a search without a click, or is filtered out.
    """

    rows: int
    usable: int
    broken: Mapping[str, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Order the reasons by how often they occur; those that never do are left out."""
        for name in ("broken", "ignored"):
            counts: Mapping[str, int] = getattr(self, name)
            ordered = sorted(((why, n) for why, n in counts.items() if n), key=lambda pair: (-pair[1], pair[0]))
            object.__setattr__(self, name, dict(ordered))

    @property
    def broken_rows(self) -> int:
        """How many rows are broken, for whatever reason."""
        return sum(self.broken.values())

    @property
    def broken_share(self) -> float:
        """The share of all rows that is broken."""
        return self.broken_rows / self.rows if self.rows else 0.0

    def require(self, max_broken: float, where: str) -> None:
        """Raise :class:`LogError` when more than the share ``max_broken`` of the rows is broken."""
        if self.broken_share <= max_broken:
            return
        reason, count = next(iter(self.broken.items()))
        are = "is" if self.rows == 1 else "are"
        raise LogError(
            f"{self.broken_rows} of {self.rows} {_rows(self.rows)} of {where} {are} broken ({self.broken_share:.2%}),"
            " more than"
            f" max_broken = {max_broken} allows, most often for {reason!r} ({count} {_rows(count)}):"
            f"{_REMEDIES.get(reason, '')} mend these rows, check format and columns, or raise max_broken (--max-broken)"
            " to go on without them."
        )

    def __str__(self) -> str:
        """A line for the rows, and one each for broken and ignored ones."""
        lines = [f"{self.rows} {_rows(self.rows)}, {self.usable} usable"]
        for name, counts in (("broken", self.broken), ("ignored", self.ignored)):
            if counts:
                reasons = ", ".join(f"{reason} {count}" for reason, count in counts.items())
                lines.append(f"{sum(counts.values())} {name}: {reasons}")
        return "\n".join(lines)


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"
