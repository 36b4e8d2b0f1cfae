"""How a log is read: everything that somebody may say about it, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from difflib import get_close_matches
from typing import Any, TypedDict

from blendp.errors import ParameterError, require_choice, require_number
from blendp.logs.columns import Columns
from blendp.logs.dialect import TextDialect, TextOptions
from blendp.logs.encodings import ENCODINGS
from blendp.logs.filters import RowFilter
from blendp.logs.sources import FORMATS
from blendp.normalise import RULES


class ReadingOptions(TypedDict, total=False):
    """The options of :func:`blendp.open_log` and its like: what :class:`LogReading` has."""

    format: str
    columns: Columns | Mapping[str, Any]
    names: Sequence[str] | None
    delimiter: str | None
    quotes: bool | None
    encoding: str | None
    header: bool
    where: str | None
    since: str | date | None
    until: str | date | None
    time_column: str | None
    normalise: str
    max_broken: float


@dataclass(frozen=True, kw_only=True)
class LogReading(TextOptions):
    """How to read a log.

    where:
        format      is csv, tsv, parquet, ndjson, aol, yandex, or auto: by the extension,
        columns     names the columns; aol and yandex have their own,
        delimiter, quotes, encoding, header, names  say how a text file is written
                    (:class:`~blendp.logs.dialect.TextOptions`); what they leave open is recognised,
        where, since, until, time_column  choose the rows that count (:class:`~blendp.logs.filters.RowFilter`),
        normalise   is the rule for texts, see :mod:`blendp.normalise`,
        max_broken  is the share of broken rows to go on without: 0 stops at the first, 1 at none.
    """

    format: str = "auto"
    columns: Columns = field(default_factory=Columns)
    where: str | None = None
    since: str | date | None = None
    until: str | date | None = None
    time_column: str | None = None
    normalise: str = "blendp-1"
    max_broken: float = 0.01

    def __post_init__(self) -> None:
        """Refuse what no log can be read by."""
        super().__post_init__()
        object.__setattr__(self, "columns", Columns.of(self.columns))
        require_choice("format", self.format, FORMATS)
        require_choice("normalise", self.normalise, RULES)
        require_number(
            "max_broken",
            self.max_broken,
            min_value=0,
            max_value=1,
            legal="a share from 0 to 1",
            remedy="Give the share of broken rows to go on without, such as 0.01.",
        )
        bool(self.filter)

    @property
    def filter(self) -> RowFilter:
        """The rows that count."""
        since, until = (one.isoformat() if isinstance(one, date) else one for one in (self.since, self.until))
        return RowFilter(where=self.where, since=since, until=until, time_column=self.time_column)

    @classmethod
    def of(cls, function: str, options: Mapping[str, Any]) -> LogReading:
        """What was said to a public function; raises TypeError for an option that it does not have."""
        known = list(ReadingOptions.__annotations__)
        for name in options:
            if name not in known:
                near = get_close_matches(name, known, 1)
                if name in (role.name for role in fields(Columns)):
                    near = [f"columns=blendp.Columns({name}=...)"]
                hint = f"did you mean {near[0]}?" if near else f"its options are {', '.join(known)}."
                raise TypeError(f"{function}() has no option {name!r}: {hint}")
        return cls(**options)

    def require_for(self, format: str) -> None:
        """Raise if something is said that a format does not know."""
        if format in ("aol", "yandex") and self.columns != Columns():
            raise ParameterError("columns", self.columns, f"left out with format {format!r}", "Its columns are fixed.")
        if format == "yandex" and self.filter:
            name = "where" if self.where is not None else "since" if self.since is not None else "until"
            legal = "left out with format 'yandex'"
            raise ParameterError(name, getattr(self, name), legal, "Its lines have no columns.")
        if format not in ("csv", "tsv"):
            self.refuse_for(format)
        if format == "parquet" and self.encoding is not None:
            raise ParameterError("encoding", self.encoding, "left out with format 'parquet'", "It is UTF-8 always.")


@dataclass(frozen=True)
class HowRead:
    """How a log was read, after what was left open was recognised: for people to see, and for a release's card.

    where:
        format   is the format of its files,
        columns  has the column of each role, where the names are known before rows are read,
        dialect  is how its text files are written, None for others,
        filter   is which rows count,
        bytes_columns  has the columns that hold bytes, which may be no text, and the type of each,
        wrong_fields   is how many fields most rows have, and how many columns are named, if these differ.
    """

    format: str
    columns: Mapping[str, str]
    dialect: TextDialect | None
    filter: RowFilter
    bytes_columns: Mapping[str, str] = field(default_factory=dict)
    wrong_fields: tuple[int, int] | None = None

    @property
    def is_text(self) -> bool:
        """Whether the log is a text file, which may be in one encoding or another."""
        return self.format not in ("parquet", "table")

    def __str__(self) -> str:
        """One line, such as ``semicolons, GB18030, columns Benutzer -> user, query``; empty if all is as usual."""
        renamed = any(role != name for role, name in self.columns.items() if role != "opt_in")
        usual = self.dialect in (None, TextDialect(), TextDialect("\t", quotes=False))
        if usual and not renamed:
            return ""
        names = ", ".join(name if role == name else f"{name} -> {role}" for role, name in self.columns.items())
        return ", ".join(part for part in (str(self.dialect or ""), f"columns {names}" if names else "") if part)

    def to_dict(self) -> dict[str, Any]:
        """All of it for a release's card: parameters that are the same for everybody."""
        written = self.dialect and {
            "delimiter": self.dialect.delimiter,
            "quotes": self.dialect.quotes,
            "encoding": ENCODINGS[self.dialect.encoding],
            "header": self.dialect.header,
        }
        rows = {name: getattr(self.filter, name) for name in ("where", "since", "until", "time_column")}
        parts = {"columns": dict(self.columns), "text": written, "rows": rows if self.filter else None}
        return {"format": self.format, **{name: value for name, value in parts.items() if value}}
