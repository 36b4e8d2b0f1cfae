"""What a log is worth: how many rows could be used, and why the others could not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from blendp.engines.usable import NO_TIME, OPT_IN_VALUE
from blendp.errors import LogError
from blendp.spelling import option

NOT_UTF_8 = "not UTF-8"
"""Why a row is broken whose text cannot be decoded."""

WRONG_FIELDS = "wrong number of fields"
"""Why a row is broken that is cut into too few fields, or too many."""

NOT_CLOSED = "quote not closed"
"""Why a row is broken in which a quoted field does not end, as when it runs on in the next line."""

NUL = "NUL byte"
"""Why a row is broken that has one, as all of UTF-16 text has."""


class Described(Protocol):
    """How a log was read: a line for people, and a document for a release's card."""

    def __str__(self) -> str:
        """One line, empty if there is nothing to say."""

    def to_dict(self) -> dict[str, Any]:
        """All of it."""

    @property
    def is_text(self) -> bool:
        """Whether it is a text file, which may be in one encoding or another."""

    @property
    def wrong_fields(self) -> tuple[int, int] | None:
        """How many fields most rows have, and how many columns are named, if these differ."""

    @property
    def bytes_columns(self) -> Mapping[str, str]:
        """The columns that hold bytes, which may be no text, and the type of each."""


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

    def require(self, max_broken: float, where: str, how: Described | None = None) -> None:
        """Raise :class:`LogError` when more than the share ``max_broken`` of the rows is broken.

        ``how`` tells how the log was read, and so what can be done about it.
        """
        if self.broken_share <= max_broken:
            return
        reason, count = next(iter(self.broken.items()))
        are = "is" if self.rows == 1 else "are"
        why, remedy = _why_and_remedy(reason, how)
        raise LogError(
            f"{self.broken_rows} of {self.rows} {_rows(self.rows)} of {where} {are} broken ({self.broken_share:.2%}),"
            " more than"
            f" max_broken = {max_broken} allows, most often for {reason!r} ({count} {_rows(count)}{why}):"
            f"{remedy} mend these rows, check format and columns, or raise"
            f" {option('max_broken')} to go on without them."
        )

    def __str__(self) -> str:
        """A line for the rows, and one each for broken and ignored ones."""
        lines = [f"{self.rows} {_rows(self.rows)}, {self.usable} usable"]
        for name, counts in (("broken", self.broken), ("ignored", self.ignored)):
            if counts:
                reasons = ", ".join(f"{reason} {count}" for reason, count in counts.items())
                lines.append(f"{sum(counts.values())} {name}: {reasons}")
        return "\n".join(lines)


def _why_and_remedy(reason: str, how: Described | None) -> tuple[str, str]:
    """What more is known about why rows are broken, and what to do first: no encoding helps where there is none."""
    if reason == WRONG_FIELDS and how is not None and how.wrong_fields is not None:
        fields, names = how.wrong_fields
        return f"; most rows have {fields} fields, and {names} columns are named", f" name all ({option('names')}),"
    if reason not in (NOT_UTF_8, NUL) or how is None or how.is_text:
        return "", _remedy(reason)
    if not how.bytes_columns:
        return "", ""
    columns = ", ".join(f"the column {name!r} holds {kind}" for name, kind in how.bytes_columns.items())
    return f"; {columns}", " give columns of text or numbers,"


def _remedy(reason: str) -> str:
    """What to do first about rows that are broken for a reason, ending in a comma."""
    if reason == NOT_UTF_8:
        return f" say the encoding of the file ({option('encoding', 'gb18030', 'cp1252')}, for example),"
    if reason == NUL:
        return f" say the encoding of the file if it is UTF-16 text ({option('encoding', 'utf-16', 'utf-16-be')}),"
    if reason == NOT_CLOSED:
        return f" write spaces for line breaks within fields, or say that quotes are text ({option('quotes')}),"
    if reason == WRONG_FIELDS:
        return f" say what stands between fields ({option('delimiter')}),"
    if reason == OPT_IN_VALUE:
        return " write true or false, 1 or 0, yes or no in the opt-in column,"
    if reason != NO_TIME:
        return ""
    return (
        f" name the column with the time ({option('time_column')}), write times as 2026-10-15, 2026/10/15, 20261015 or"
        " 15.10.2026, with 12:00:00 after it or not, as 15/Oct/2026:12:00:00 +0000, or as 10 or 13 digits since 1970,"
        f" compare others by a filter ({option('where')}, with strptime, on Spark to_timestamp) in place of"
        f" {option('since')} and {option('until')},"
    )


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"
