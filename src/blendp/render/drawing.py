"""Small drawings for pages, written as SVG: text stays text, and colours are the page's own.

A plot of a page is a few lines, marks and texts. Writing them costs nothing, where a plotting library takes a second to
load. Texts are escaped and never measured, so they may be of any script.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

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


class SvgDrawing:
    """A drawing of so many units; what is drawn later lies over what is drawn earlier."""

    def __init__(self, width: float, height: float) -> None:
        """Nothing is drawn yet."""
        self.width, self.height = width, height
        self._parts: list[Markup] = []

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str,
        width: float,
        *,
        dashes: str = "",
        opacity: float = 1.0,
    ) -> None:
        """A line through these points."""
        d = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)
        dash = Markup('stroke-dasharray="{}" ').format(dashes) if dashes else ""
        self._add('<path {}d="{}" style="fill:none;stroke:var(--{});stroke-width:{}{}"/>',
                  dash, d, colour, _short(width), _opacity(opacity))  # fmt: skip

    def bar(self, left: float, right: float, middle: float, height: float, colour: str) -> None:
        """A bar that lies."""
        self._add('<rect x="{}" y="{}" width="{}" height="{}" style="fill:var(--{})"/>',
                  _short(left), _short(middle - height / 2), _short(right - left), _short(height), colour)  # fmt: skip

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
        """A mark around a point, filled or as an outline so wide; ``tip`` appears over it."""
        paint = (
            f"fill:none;stroke:var(--{colour});stroke-width:{_short(outline)}" if outline else f"fill:var(--{colour})"
        )
        said = Markup("<title>{}</title>").format(tip) if tip else ""
        if shape == "dot":
            self._add('<circle class="mark" cx="{}" cy="{}" r="{}" style="{}{}">{}</circle>',
                      _short(x), _short(y), _short(size / 2), paint, _opacity(opacity), said)  # fmt: skip
            return
        d = "M" + "L".join(f"{_short(x + size * dx)} {_short(y + size * dy)}" for dx, dy in _SHAPES[shape]) + "Z"
        self._add('<path class="mark" d="{}" style="{}{}">{}</path>', d, paint, _opacity(opacity), said)

    def text(
        self, x: float, y: float, text: str, size: float, colour: str, *, anchor: str = "start", tip: str = ""
    ) -> None:
        """A text whose ``anchor`` (start, middle, end) stands on a base line; ``tip`` appears over it."""
        said = Markup("<title>{}</title>").format(tip) if tip else ""
        self._add('<text x="{}" y="{}" style="font-size:{}px;fill:var(--{});text-anchor:{}">{}{}</text>',
                  _short(x), _short(y), _short(size), colour, anchor, text, said)  # fmt: skip

    def svg(self, name: str, title: str, description: str) -> Markup:
        """The drawing as an ``<svg>`` element with ids of its own, a title and a description."""
        head = Markup(
            '<svg viewBox="0 0 {} {}" role="img" aria-labelledby="{name}-title" class="plot {name}" '
            'aria-describedby="{name}-desc">\n<title id="{name}-title">{}</title>\n<desc id="{name}-desc">{}</desc>\n'
        ).format(_short(self.width), _short(self.height), title, description, name=name)
        return head + Markup("\n").join(self._parts) + Markup("\n</svg>")

    def _add(self, template: str, *values: object) -> None:
        self._parts.append(Markup(template).format(*values))


def _opacity(opacity: float) -> str:
    return f";opacity:{_short(opacity)}" if opacity < 1 else ""


def _short(x: float) -> str:
    return f"{round(float(x), 2) + 0.0:.6g}"
