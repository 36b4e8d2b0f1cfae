"""Text and numbers of a report as people read them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

WILDCARD = "✱ (everything else)"
ANY_URL = "✱ (any URL)"
"""What stands for the URL of a query that is listed without any."""

EMPTY = "(empty)"
UNKNOWN = "unknown"

_MAX_MARKS = 8
_JOINERS = "\u200c\u200d"
_NARROW = frozenset("fijlrtI.,:;'|!()[]/\\- ")
_WIDE = frozenset("mwMW@%&ЖШЩЮжшщюы—…")


def visible(text: str) -> str:
    """The text with what cannot be seen made visible, so that no control or direction mark acts on the page.

    Nor do marks that are stacked on one letter reach the lines above and below: those beyond the most that any script
    stacks are written beside it.
    """
    if text.isascii() and text.isprintable():
        return text
    signs, marks = [], 0
    for c in text:
        marks = marks + 1 if unicodedata.category(c) in ("Mn", "Me") else 0
        signs.append(_code(c) if marks > _MAX_MARKS else _sign(c))
    return "".join(signs)


def _sign(c: str) -> str:
    if c in _JOINERS or c in " \u3000":
        return c
    unseen = unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")
    return _code(c) if unseen or ord(c) & 0xFFFE == 0xFFFE else c


def _code(c: str) -> str:
    return f"⟨U+{ord(c):04X}⟩"


def shorten(text: str, room: float) -> str:
    """The text, cut with an ellipsis where it would not fit into so many ems."""
    used, kept = 0.0, 0
    for i, c in enumerate(text):
        used += _ems(c)
        if used <= room - 1:
            kept = i + 1
        if used > room:
            return text[:kept].rstrip(_JOINERS + " .") + "…"
    return text


@lru_cache(maxsize=1024)
def _ems(c: str) -> float:
    """About how wide a character is, on the wide side."""
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(c) in "WF" or ord(c) > 0x2000:
        return 1.35
    if c in _NARROW:
        return 0.37
    if c in _WIDE:
        return 1.0
    return 0.76 if c.isupper() or c > "\u0530" else 0.61


def label(query: str | None, url: str | None, room: float = math.inf) -> str:
    """A record on one line, ``query · url``; each part is isolated, whatever its direction of writing."""
    return " · ".join(f"\u2068{name}\u2069" for name in _names(query, url, room))


def plain_label(query: str | None, url: str | None, room: float = math.inf) -> str:
    """A record on one line, for terminals and sentences: no invisible sign in it."""
    return " · ".join(_names(query, url, room))


def _names(query: str | None, url: str | None, room: float) -> list[str]:
    """Query and, if there is one, URL, made visible and cut to the room."""
    names = [WILDCARD if query is None else visible(query) or EMPTY]
    if url is not None:
        names.append(visible(url) or EMPTY)
        room -= 1
    widths = [sum(map(_ems, name[:400])) for name in names]
    if len(names) == 2 and sum(widths) > room:
        first = max(room * 0.55, room - widths[1])
        names[0] = shorten(names[0], first)
        room -= min(first, widths[0])
    names[-1] = shorten(names[-1], room)
    return names


def decimals(errors: Iterable[float], values: Iterable[float]) -> int:
    """How many decimals percentages need to show one or two digits of nearly all of their errors."""
    known = sorted(e for e in errors if math.isfinite(e) and e > 0)
    if not known:
        known = sorted(abs(v) / 50 for v in values if math.isfinite(v) and v)
    if not known:
        return 2
    return min(max(math.ceil(-math.log10(50 * known[len(known) // 10])), 1), 7)


def percent(value: float, digits: int) -> str:
    """A probability as a percentage, without the sign for percent."""
    if not math.isfinite(value):
        return UNKNOWN
    text = f"{100 * value:.{digits}f}"
    if float(text) == 0:
        return f"<{10**-digits:.{digits}f}" if value > 0 else text.lstrip("-")
    return text.replace("-", "−")


def with_error(value: float, error: float, digits: int) -> str:
    """An estimate and its standard error, in percent."""
    if not math.isfinite(value):
        return UNKNOWN
    if not math.isfinite(error):
        return f"{percent(value, digits)} % ± {UNKNOWN}"
    return f"{percent(value, digits)} ± {percent(error, digits)} %"


def number(value: float) -> str:
    """Any other number, with up to six digits that matter."""
    return re.sub("e([+-])0*", r"e\1", f"{value:.6g}") if math.isfinite(value) else UNKNOWN
