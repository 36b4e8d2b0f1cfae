"""The pictures of the paper's figures made anew: panels of lines, or of rows, with error bars."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from blendp.evaluation.figures import Figure, Line, Panel
from blendp.render.svg import COLOURS, DrawingTexts, house_style, inline_svg
from blendp.render.text import shorten, visible

WIDTH = 760.0
BARS = 2.0
"""Half the length of an error bar, in standard errors."""

_TITLE, _LABEL, _TICK = 11.0, 10.0, 9.5
_PANEL, _ROW, _LEGEND, _GAP = 190.0, 32.0, 30.0, 62.0
_NAMES = 170.0
_PIXELS = 110

_LOOKS: dict[str, tuple[str, str, str]] = {
    "published": ("opt-in", "s", "--"),
    "blendp": ("ink", "o", "-"),
    "blended": ("ink", "o", "-"),
    "opt-in": ("opt-in", "s", "-"),
    "client": ("client", "^", "-"),
    "truth": ("truth", "D", ""),
    "random": ("edge", "", ":"),
    "4": ("edge", "x", "-"),
    "0": ("client", "^", "-"),
    "1": ("opt-in", "s", "-"),
    "2": ("truth", "D", "-"),
    "3": ("ink", "o", "-"),
    "peer 0": ("client", "^", "-"),
    "random 0": ("client", "", ":"),
    "peer 1": ("truth", "D", "-"),
    "random 1": ("truth", "", ":"),
    "printed above": ("quiet", "^", "-."),
    "printed min": ("quiet", "^", "-."),
    "printed below": ("quiet", "v", "-."),
    "printed": ("quiet", "x", ""),
    "printed truth": ("truth", "x", ""),
    "printed blended": ("ink", "x", ""),
    "printed opt-in": ("opt-in", "x", ""),
    "printed client": ("client", "x", ""),
    "printed sum": ("client", "+", ""),
}
"""Colour, mark and stroke of a line, by what it stands for."""

_MARK = {"truth": 6.5, "client": 7.5, "opt-in": 6.0, "blended": 4.0}
"""How large a mark is, where lines may lie upon each other: what is drawn later is smaller."""


@dataclass(frozen=True)
class Pictures:
    """One figure three times: as a file of its own, as pixels, and for a page, in the page's colours."""

    svg: bytes
    png: bytes
    inline: Markup


def pictures(figure: Figure) -> Pictures:
    """All of them from one drawing, which takes as long to put together as to render."""
    texts = DrawingTexts(f"figure-{figure.name}", figure.title, figure.sentence, {}, {})
    with house_style(), _any_letters():
        drawing = _draw(figure)
        return Pictures(_svg_file(drawing), _png_file(drawing), inline_svg(drawing, texts))


def _svg_file(drawing: Drawing) -> bytes:
    buffer = io.BytesIO()
    FigureCanvasSVG(drawing)
    drawing.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _png_file(drawing: Drawing) -> bytes:
    buffer = io.BytesIO()
    FigureCanvasAgg(drawing)
    drawing.savefig(buffer, format="png", dpi=_PIXELS, metadata={"Software": None})
    return buffer.getvalue()


@contextmanager
def _any_letters() -> Iterator[None]:
    """Draw a box for letters that the font lacks, and say nothing about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _draw(figure: Figure) -> Drawing:
    """All panels under each other and side by side, with a legend over each row of panels that needs its own."""
    heights = [_height(row) for row in figure.grid]
    legends = [_legend_of(row) != (_legend_of(figure.grid[i - 1]) if i else None) for i, row in enumerate(figure.grid)]
    rooms = [
        _LEGEND * len(_legend_lines(row)) if shown else 0.0 for row, shown in zip(figure.grid, legends, strict=True)
    ]
    total = sum(heights) + sum(rooms) + _GAP * len(heights) + 8
    drawing = Drawing(figsize=(WIDTH / 72, total / 72), dpi=72, facecolor="white")
    top = 8.0
    for row, height, room in zip(figure.grid, heights, rooms, strict=True):
        if room:
            _legend(drawing, row, 1 - top / total, room / total)
        top += room + 22
        _row_of_panels(drawing, row, top, height, total)
        top += height + _GAP - 22
    return drawing


def _height(row: Sequence[Panel]) -> float:
    return max(_ROW * len(row[0].rows), 120.0) if row[0].rows else _PANEL


def _row_of_panels(drawing: Drawing, row: Sequence[Panel], top: float, height: float, total: float) -> None:
    names = _NAMES if row[0].rows else 54.0
    between = 18.0 if row[0].rows else 58.0
    width = (WIDTH - names - 14 - between * (len(row) - 1)) / len(row)
    alike = len({panel.measured for panel in row}) == 1
    limits = [_limits(row if alike else [panel]) for panel in row]
    for index, (panel, (low, high)) in enumerate(zip(row, limits, strict=True)):
        left = names + index * (width + between)
        axes = drawing.add_axes(
            (left / WIDTH, 1 - (top + height) / total, width / WIDTH, height / total), facecolor="none"
        )
        _plain(axes)
        axes.set_title(panel.title, fontsize=_TITLE, color=COLOURS["ink"], loc="left", pad=7)
        if panel.rows:
            _rows(axes, panel, low, high, named=index == 0)
        else:
            _lines(axes, panel, low, high)


def _plain(axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(color=COLOURS["line"], linewidth=0.8)
    axes.tick_params(length=0, labelsize=_TICK, labelcolor=COLOURS["quiet"], pad=5)


def _lines(axes: Axes, panel: Panel, low: float, high: float) -> None:
    """What is varied on the horizontal axis, what is measured on the vertical one."""
    axes.set_ylim(low, high)
    _scale(axes, "y", panel.log)
    at = [x for line in panel.lines for x in line.at]
    pad = 0.04 * (max(at) - min(at)) or 0.1
    axes.set_xlim(min(at) - pad, max(at) + pad)
    whole = all(float(x).is_integer() for x in at)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=whole))
    axes.set_xlabel(panel.varied, fontsize=_LABEL, color=COLOURS["quiet"], labelpad=4)
    axes.set_ylabel(panel.measured, fontsize=_LABEL, color=COLOURS["quiet"], labelpad=4)
    for index, line in enumerate(panel.lines):
        values, bars = _values(line, low)
        if np.isfinite(values).any():
            above = len(panel.lines) if line.look == "blended" else index
            axes.errorbar(line.at, values, yerr=bars if bars.any() else None, zorder=3 + above, **_style(line.look))


def _rows(axes: Axes, panel: Panel, low: float, high: float, *, named: bool) -> None:
    """A row for every name, what is measured on the horizontal axis."""
    count = len(panel.rows)
    axes.set_xlim(low, high)
    _scale(axes, "x", panel.log)
    axes.set_ylim(count - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.yaxis.set_major_locator(NullLocator())
    if named:
        for i, name in enumerate(panel.rows):
            axes.annotate(
                shorten(visible(name), (_NAMES - 20) / _LABEL),
                (0, i),
                xycoords=axes.get_yaxis_transform(),
                xytext=(-10, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=_LABEL,
                color=COLOURS["ink"],
                annotation_clip=False,
            )
    for i in range(count):
        axes.axhline(i, color=COLOURS["line"], linewidth=0.8, zorder=1)
    ours = [line.look for line in panel.lines if not line.look.startswith("printed")]
    for index, line in enumerate(panel.lines):
        values, bars = _values(line, low)
        shift = (ours.index(_beside(line.look)) - (len(ours) - 1) / 2) * 0.72 / len(ours)
        style = _style(line.look) | {"linestyle": ""}
        axes.errorbar(values, np.array(line.at) + shift, xerr=bars if bars.any() else None, zorder=3 + index, **style)
    if panel.varied:
        axes.set_xlabel(panel.measured, fontsize=_LABEL, color=COLOURS["quiet"], labelpad=4)


def _beside(look: str) -> str:
    """Whose height what is printed shares: that of the same thing of ours."""
    return {"sum": "client"}.get(own := look.removeprefix("printed "), own)


def _values(line: Line, low: float = -math.inf) -> tuple[Any, Any]:
    """The means, and how far their bars reach down and up; no bar goes below the scale."""
    values = np.array([mean.value for mean in line.means])
    bars = BARS * np.nan_to_num([mean.error for mean in line.means])
    return values, np.array([np.minimum(bars, np.maximum(np.nan_to_num(values) - low, 0.0)), bars])


def _style(look: str) -> dict[str, Any]:
    colour, mark, stroke = _LOOKS[look]
    hollow = look in ("published", "truth") or look.startswith("printed")
    return {
        "color": COLOURS[colour],
        "marker": mark,
        "linestyle": stroke,
        "markersize": _MARK.get(look, 5.0),
        "markerfacecolor": "none" if hollow else COLOURS[colour],
        "markeredgewidth": 1.3,
        "linewidth": 1.4,
        "elinewidth": 1.3,
        "capsize": 3.0,
        "capthick": 1.3,
        "clip_on": False,
    }


def _scale(axes: Axes, which: str, log: bool) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    if not log:
        axis.set_major_locator(MaxNLocator(5))
        return
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    fine = (1.0, 3.0) if which == "x" else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=fine if high / low < 200 else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _limits(panels: Sequence[Panel]) -> tuple[float, float]:
    """A scale that holds all means and bars; a measure that is never below 0 starts there if it comes near."""
    ends = []
    for panel in panels:
        for line in panel.lines:
            values, bars = _values(line)
            ends.append(np.concatenate([values - bars[0], values + bars[1], values]))
    known = np.concatenate(ends)
    known = known[np.isfinite(known)]
    if panels[0].log:
        known = known[known > 0]
        if not len(known):
            return 0.1, 1.0
        values = [m.value for p in panels for line in p.lines for m in line.means if m.value > 0]
        return max(float(known.min()), min(values) / 3) / 1.25, float(known.max()) * 1.25
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if not panels[0].rows and all(not mean.value < 0 for p in panels for line in p.lines for mean in line.means):
        low = max(low, 0.0)
    pad = 0.06 * (high - low) or 0.01
    if 0 <= low < 0.35 * high:
        return 0.0, high + pad
    return low - pad, min(high + pad, 1.004) if high <= 1 else high + pad


def _legend_of(row: Sequence[Panel]) -> tuple[tuple[str, str], ...]:
    """The names of the lines and how they look; what is printed has one name for all its colours."""
    shown = {line.label: line.look for panel in reversed(row) for line in reversed(panel.lines)}
    names = dict.fromkeys(line.label for panel in row for line in panel.lines)
    return tuple((label, "printed" if label == "as printed" else shown[label]) for label in names)


def _legend_lines(row: Sequence[Panel]) -> list[list[tuple[str, str, float]]]:
    """The same in lines that are no wider than the drawing, each name with its place."""
    left = _NAMES if row[0].rows else 54.0
    lines: list[list[tuple[str, str, float]]] = [[]]
    x = left
    for label, look in _legend_of(row):
        width = 31 + 0.60 * _LABEL * len(label)
        if lines[-1] and x + width > WIDTH:
            lines.append([])
            x = left
        lines[-1].append((label, look, x))
        x += width + 22
    return lines


def _legend(drawing: Drawing, row: Sequence[Panel], top: float, height: float) -> None:
    """The names of the lines, over the panels."""
    axes = drawing.add_axes((0.0, top - height, 1.0, height), facecolor="none")
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    lines = _legend_lines(row)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    for y, line in enumerate(lines):
        for label, look, x in line:
            style = _style(look)
            barred = not look.startswith(("truth", "random", "printed"))
            if row[0].rows:
                style["linestyle"] = ""
            axes.errorbar([x + 12], [y], xerr=[11] if barred else None, **style)
            if not barred and _LOOKS[look][2]:
                axes.plot([x + 1, x + 23], [y, y], color=style["color"], linestyle=_LOOKS[look][2], linewidth=1.4)
            axes.text(x + 31, y, label, fontsize=_LABEL, color=COLOURS["ink"], va="center")
