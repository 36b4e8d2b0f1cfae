"""Small drawings for pages, written as SVG: text stays text, and colours are the page's own.

A plot of a page is a few lines, marks and texts. Writing them costs nothing, where a plotting library takes a second to
load. Texts and tips are escaped and never measured, so they may be of any script; all else is our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup, escape

COLOURS = {
    "ink": "#1c2024",
    "quiet": "#5c6670",
    "line": "#dfe3e8",
    "edge": "#9aa4ae",
    "opt-in": "#d55e00",
    "client": "#0072b2",
    "truth": "#00795a",
}
"""The palette (after Okabe and Ito); in the page each is a CSS variable of this name, so that dark pages differ."""

_HALF = 0.5
_SHAPES: dict[str, Sequence[tuple[float, float]]] = {
    "square": ((-_HALF, -_HALF), (_HALF, -_HALF), (_HALF, _HALF), (-_HALF, _HALF)),
    "diamond": ((0, -0.7), (0.7, 0), (0, 0.7), (-0.7, 0)),
    "up": ((0, -_HALF), (_HALF, _HALF), (-_HALF, _HALF)),
    "down": ((0, _HALF), (_HALF, -_HALF), (-_HALF, -_HALF)),
    "left": ((-_HALF, 0), (_HALF, -_HALF), (_HALF, _HALF)),
    "right": ((_HALF, 0), (-_HALF, -_HALF), (-_HALF, _HALF)),
}
"""Corners of marks of size 1, around their middle; the other shape is a dot."""


@dataclass(frozen=True)
class Axis:
    """Where values stand: from ``low`` at ``start`` to ``high`` at ``end``, evenly or by their logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value stands; what is beyond the scale stands at its edge."""
        low, high, shown = self.low, self.high, min(max(value, self.low), self.high)
        part = math.log(shown / low) / math.log(high / low) if self.log else (shown - low) / (high - low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values to write beside the axis: four to six on an even scale, 1, 2, 5 or tens on a logarithmic one."""
        if self.log:
            return _log_ticks(self.low, self.high)
        span = self.high - self.low
        ten = 10.0 ** math.floor(math.log10(span / 5))
        step = next(factor * ten for factor in (1, 2, 2.5, 5, 10) if span / (factor * ten) <= 5 + 1e-9)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    factors = (1, 2, 5) if high / low < 300 else (1,)
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [factor * 10.0**ten for ten in tens for factor in factors if low <= factor * 10.0**ten <= high]


@dataclass(frozen=True)
class DrawnLine:
    """A line through points, dashed by lengths of dash and gap."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float
    dashes: str = ""
    opacity: float = 1.0

    def svg(self) -> str:
        """As an element."""
        d = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in self.points)
        dash = f'stroke-dasharray="{self.dashes}" ' if self.dashes else ""
        style = f"fill:none;stroke:var(--{self.colour});stroke-width:{_short(self.width)}{_opacity(self.opacity)}"
        return f'<path {dash}d="{d}" style="{style}"/>'


@dataclass(frozen=True)
class DrawnBar:
    """A bar that lies."""

    left: float
    right: float
    middle: float
    height: float
    colour: str

    def svg(self) -> str:
        """As an element."""
        top, width = self.middle - self.height / 2, self.right - self.left
        size = f'width="{_short(width)}" height="{_short(self.height)}"'
        return f'<rect x="{_short(self.left)}" y="{_short(top)}" {size} style="fill:var(--{self.colour})"/>'


@dataclass(frozen=True)
class DrawnMark:
    """A mark around a point, filled or as an outline so wide; ``tip`` appears over it."""

    shape: str
    x: float
    y: float
    size: float
    colour: str
    opacity: float = 1.0
    outline: float = 0.0
    tip: str = ""

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Of all shapes but the dot."""
        return [(self.x + self.size * dx, self.y + self.size * dy) for dx, dy in _SHAPES[self.shape]]

    def svg(self) -> str:
        """As an element."""
        stroke = f"fill:none;stroke:var(--{self.colour});stroke-width:{_short(self.outline)}"
        style = (stroke if self.outline else f"fill:var(--{self.colour})") + _opacity(self.opacity)
        if self.shape == "dot":
            where = f'cx="{_short(self.x)}" cy="{_short(self.y)}" r="{_short(self.size / 2)}"'
            return f'<circle class="mark" {where} style="{style}">{_tip(self.tip)}</circle>'
        d = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in self.corners) + "Z"
        return f'<path class="mark" d="{d}" style="{style}">{_tip(self.tip)}</path>'


@dataclass(frozen=True)
class DrawnText:
    """A text whose ``anchor`` (start, middle, end) stands on a base line; ``tip`` appears over it."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "start"
    tip: str = ""

    def svg(self) -> str:
        """As an element."""
        style = f"font-size:{_short(self.size)}px;fill:var(--{self.colour});text-anchor:{self.anchor}"
        content = f"{escape(self.text)}{_tip(self.tip)}"
        return f'<text x="{_short(self.x)}" y="{_short(self.y)}" style="{style}">{content}</text>'


DrawnPart = DrawnLine | DrawnBar | DrawnMark | DrawnText


class SvgDrawing:
    """A drawing of so many units; what is drawn later lies over what is drawn earlier."""

    def __init__(self, width: float, height: float) -> None:
        """Nothing is drawn yet."""
        self.width, self.height = width, height
        self.parts: list[DrawnPart] = []
        self.name, self.title, self.description = "plot", "", ""

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str,
        width: float,
        *,
        dashes: str = "",
        opacity: float = 1.0,
    ) -> None:
        """Draw a line through these points."""
        self.parts.append(DrawnLine(tuple(points), colour, width, dashes, opacity))

    def bar(self, left: float, right: float, middle: float, height: float, colour: str) -> None:
        """Draw a bar that lies."""
        self.parts.append(DrawnBar(left, right, middle, height, colour))

    def mark(
        self,
        shape: str,
        x: float,
        y: float,
        size: float,
        colour: str,
        *,
        opacity: float = 1.0,
        outline: float = 0.0,
        tip: str = "",
    ) -> None:
        """Draw a mark around a point."""
        self.parts.append(DrawnMark(shape, x, y, size, colour, opacity, outline, tip))

    def text(
        self, x: float, y: float, text: str, size: float, colour: str, *, anchor: str = "start", tip: str = ""
    ) -> None:
        """Write a text."""
        self.parts.append(DrawnText(x, y, text, size, colour, anchor, tip))

    def named(self, name: str, title: str, description: str) -> Self:
        """The drawing with a name for its ids, a title and a description."""
        self.name, self.title, self.description = name, title, description
        return self

    def svg(self) -> Markup:
        """The drawing as an ``<svg>`` element with ids of its own, a title and a description."""
        head = Markup(
            '<svg viewBox="0 0 {} {}" role="img" aria-labelledby="{name}-title" class="plot {name}" '
            'aria-describedby="{name}-desc">\n<title id="{name}-title">{}</title>\n<desc id="{name}-desc">{}</desc>\n'
        ).format(_short(self.width), _short(self.height), self.title, self.description, name=self.name)
        return head + Markup("\n".join(part.svg() for part in self.parts)) + Markup("\n</svg>")


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def _opacity(opacity: float) -> str:
    return f";opacity:{_short(opacity)}" if opacity < 1 else ""


def _short(x: float) -> str:
    return f"{round(float(x), 2) + 0.0:.6g}"
