"""What a card is of: a title, the log's name as given, the day, and the version of blendp that made it.

Nothing in it depends on anybody's records: all of it is said by whoever publishes, or by the calendar.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Self

from blendp._version import __version__
from blendp.errors import ParameterError
from blendp.render.text import shorten, visible

MAX_TITLE = 200
"""Characters of a title, or of a log's name."""

_NAMED = 3
_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def today() -> datetime.date:
    """The day in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


@dataclass(frozen=True)
class About:
    """What a release or survey is of, for its card."""

    title: str | None = None
    """What the page is called; None for a title by the kind of result."""

    log: str | None = None
    """The log's name, as it is to be published."""

    day: datetime.date = field(default_factory=today)
    version: str = __version__

    def __post_init__(self) -> None:
        """Refuse texts that no page could show."""
        for name, text in (("title", self.title), ("log_name", self.log)):
            if text is not None and (not text.strip() or len(text) > MAX_TITLE or not _is_unicode(text)):
                legal = f"a text of 1 to {MAX_TITLE} characters"
                raise ParameterError(name, text, legal, "Say in a few words what it is of.")

    @classmethod
    def of_files(cls, paths: Sequence[str], title: str | None = None, log_name: str | None = None) -> Self:
        """Of these files: called by their own names, without the folders they are in, unless a name is given."""
        return cls(title, file_names(paths) if log_name is None else log_name)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; the version stands beside them in a card."""
        return {"title": self.title, "log": self.log, "day": self.day.isoformat()}

    @classmethod
    def of_card(cls, card: Mapping[str, Any]) -> Self | None:
        """What a card says it is of; None if it does not say, as the card of a campaign."""
        if card.get("about") is None:
            return None
        said = card["about"]
        return cls(said["title"], said["log"], datetime.date.fromisoformat(said["day"]), str(card["blendp"])[:40])

    @property
    def line(self) -> str:
        """All but the title, on one line."""
        return " · ".join([*([self.log] if self.log else []), self.day.isoformat(), f"blendp {self.version}"])

    def __str__(self) -> str:
        """All of it, on one line."""
        return visible(" · ".join([*([self.title] if self.title else []), self.line]))


def _file_name(path: str) -> str:
    """The name of a file; a pipe has none."""
    return "pipe" if path.startswith(_PIPES) else PurePath(path.rstrip("/\\")).name or "log"


def file_names(paths: Sequence[str]) -> str | None:
    """The names of a few files, and how many there are besides; never the folders that they are in."""
    names = [_file_name(path) for path in paths]
    if not names:
        return None
    shown = ", ".join(shorten(name, 40.0) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return (shown.encode("utf-8", "replace").decode() + more)[:MAX_TITLE]


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
