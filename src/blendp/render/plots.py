"""The plots of a report, drawn narrow so that their text stays readable on a phone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from blendp.methods.outcome import Row
from blendp.render.drawing import Axis, SvgDrawing
from blendp.render.text import UNKNOWN, label, percent, with_error

WIDTH = 440.0
MARGIN = 22.0
ROW = 41.0
BASELINE, MIDDLE, _BELOW = 13.0, 23.0, 31.0
LABEL, VALUE, _TICK = 13.4, 13.2, 13.2
"""Sizes of text that are still 11 pixels where a page of 400 pixels has room for 370 of these units' 440."""

_FOOT = 34.0
"""Room for the numbers below the rows."""

_DOT, _DIAMOND, _GROUP = 5.2, 7.2, 5.8


@dataclass(frozen=True)
class Mark(Row):
    """One record or query in a plot, with each group's own estimate; what is unknown is nan."""

    opt_in: float
    client: float
    truth: float = math.nan


def dot_plot(
    marks: Sequence[Mark], digits: int, name: str, title: str, limits: tuple[float, float] | None = None
) -> Markup:
    """The drawing of :func:`dot_drawing` for a page."""
    return dot_drawing(marks, digits, name, title, limits).svg()


def dot_drawing(
    marks: Sequence[Mark], digits: int, name: str, title: str, limits: tuple[float, float] | None = None
) -> SvgDrawing:
    """Estimates with their intervals, each group's own estimate faint beside them, and the truth if it is known.

    The scale fits the blended estimates unless ``limits`` are given; a group's estimate beyond it is drawn as an arrow
    at the edge.
    """
    values = [with_error(mark.probability, mark.std_error, digits) for mark in marks]
    left, right = scale(marks) if limits is None else limits
    drawing, axis = row_drawing(len(marks), left, right, _tick)
    drawing.line([(axis.at(0), 0), (axis.at(0), len(marks) * ROW)], "edge", 1)
    for i, mark in enumerate(marks):
        _group(drawing, axis, "opt-in", "square", mark.opt_in, i * ROW + _BELOW)
        _group(drawing, axis, "client", "up", mark.client, i * ROW + _BELOW)
    for i, mark in enumerate(marks):
        y = i * ROW + MIDDLE
        if math.isfinite(mark.high - mark.low):
            drawing.line([(axis.at(mark.low), y), (axis.at(mark.high), y)], "ink", 1.6)
        if math.isfinite(mark.probability):
            drawing.mark("dot", axis.at(mark.probability), y, _DOT, "ink")
        if math.isfinite(mark.truth):
            drawing.mark("diamond", axis.at(mark.truth), y, _DIAMOND, "truth", outline=1.5)
    return _finish(drawing, marks, values, name, title, "Dots are estimates, lines their 95 % intervals.")


def beyond_scale(marks: Sequence[Mark]) -> bool:
    """Whether any group's estimate has to be drawn as an arrow."""
    left, right = scale(marks)
    return any(x < left or x > right for mark in marks for x in (mark.opt_in, mark.client))


def share_plot(marks: Sequence[Mark], name: str, title: str) -> Markup:
    """How much of each estimate comes from the opt-in group (left part) and from the clients (right part)."""
    values = []
    drawing, axis = row_drawing(len(marks), 0, 1, lambda x: f"{100 * x:.0f} %", ticks=(0, 0.25, 0.5, 0.75, 1))
    for i, mark in enumerate(marks):
        known = math.isfinite(mark.weight_opt_in) and math.isfinite(mark.probability)
        values.append(f"{percent(mark.weight_opt_in, 0)} % opt-in" if known else UNKNOWN)
        if known:
            border, y = axis.at(mark.weight_opt_in), i * ROW + MIDDLE + 1
            drawing.bar(axis.start, border, y, 9, "opt-in")
            drawing.bar(border, axis.end, y, 9, "client")
    return _finish(drawing, marks, values, name, title, "The rest of every bar comes from the clients.").svg()


def truth_plot(marks: Sequence[Mark], digits: int, name: str, title: str) -> Markup:
    """Estimates against the truth on logarithmic scales; what is too low for the scale stands at its edge."""
    shown = [mark for mark in marks if math.isfinite(mark.probability)]
    low, high = _log_limits(shown)
    drawing = SvgDrawing(WIDTH, WIDTH)
    left, right, top, bottom = 62.0, WIDTH - 14, 30.0, WIDTH - 46
    across, up = Axis(low, high, left, right, log=True), Axis(low, high, bottom, top, log=True)
    for tick in across.ticks():
        x, y = across.at(tick), up.at(tick)
        drawing.line([(x, top), (x, bottom)], "line", 0.8)
        drawing.line([(left, y), (right, y)], "line", 0.8)
        drawing.text(x, bottom + 15, _tick(tick), _TICK, "quiet", anchor="middle")
        drawing.text(left - 6, y + 3.5, _tick(tick), _TICK, "quiet", anchor="end")
    drawing.line([(left, bottom), (right, top)], "edge", 1.2, dashes="5 4")
    opacity = min(max(15 / max(len(shown), 1), 0.08), 0.4)
    for mark in shown:
        if math.isfinite(mark.high - mark.low) and mark.high > low:
            x = across.at(mark.truth)
            drawing.line([(x, up.at(mark.low)), (x, up.at(mark.high))], "ink", 1.2, opacity=opacity)
    for mark in shown:
        x, y = across.at(mark.truth), up.at(mark.probability)
        if mark.probability >= low:
            drawing.mark("dot", x, y, 4.7, "ink", opacity=0.75, tip=_tip(mark, digits))
        else:
            drawing.mark("down", x, y, 5.8, "ink", tip=_tip(mark, digits))
    drawing.text(left, top - 9, "estimate", LABEL, "ink")
    drawing.text(right, bottom + 36, "true probability", LABEL, "ink", anchor="end")
    description = f"{len(shown)} points; on the dashed diagonal the estimate equals the truth."
    return drawing.named(name, title, description).svg()


def row_drawing(
    count: int, low: float, high: float, tick: Callable[[float], str], ticks: Sequence[float] | None = None
) -> tuple[SvgDrawing, Axis]:
    """A drawing with a row for every mark, over a grid of the round values of one scale."""
    drawing, axis = SvgDrawing(WIDTH, count * ROW + _FOOT), Axis(low, high, MARGIN, WIDTH - MARGIN)
    for value in axis.ticks() if ticks is None else ticks:
        x = axis.at(value)
        drawing.line([(x, 0), (x, count * ROW)], "line", 0.8)
        drawing.text(x, count * ROW + 15, tick(value), _TICK, "quiet", anchor="middle")
    return drawing, axis


def _group(drawing: SvgDrawing, axis: Axis, group: str, shape: str, value: float, y: float) -> None:
    if math.isfinite(value):
        arrow = "left" if value < axis.low else "right" if value > axis.high else shape
        drawing.mark(arrow, axis.at(value), y, _GROUP, group, opacity=0.6)


def _finish(
    drawing: SvgDrawing, marks: Sequence[Mark], values: Sequence[str], name: str, title: str, remark: str
) -> SvgDrawing:
    name_rows(drawing, [(mark.query, mark.url) for mark in marks], values)
    heads = "; ".join(f"{label(m.query, m.url, 30)}: {value}" for m, value in zip(marks[:3], values, strict=False))
    return drawing.named(name, title, f"{remark} First {heads}.")


def name_rows(drawing: SvgDrawing, names: Sequence[tuple[str | None, str | None]], values: Sequence[str]) -> None:
    """Write a name and a value over each row; a name that is cut tells all of itself as a tip."""
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = i * ROW + BASELINE
        room = WIDTH - 2 * MARGIN - 0.62 * VALUE * len(value) - 8
        whole, cut = label(*name, 300), label(*name, room / LABEL)
        drawing.text(MARGIN, y, cut, LABEL, "ink", tip=whole if cut != whole else "")
        drawing.text(WIDTH - MARGIN, y, value, VALUE, "quiet", anchor="end")


def _tip(mark: Mark, digits: int) -> str:
    estimate = with_error(mark.probability, mark.std_error, digits)
    return f"{label(mark.query, mark.url, 80)}\nestimate {estimate}, truth {percent(mark.truth, digits)} %"


def _tick(x: float) -> str:
    return f"{100 * x:.6g} %".replace("-", "−")


def scale(marks: Sequence[Mark]) -> tuple[float, float]:
    """A scale from 0 or below that holds all blended estimates, intervals and truths."""
    ends = np.array([[mark.probability, mark.low, mark.high, mark.truth] for mark in marks])
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    left, right = float(ends.min()), float(ends.max())
    pad = 0.03 * (right - left) or 0.01
    return left - pad if left < 0 else 0.0, right + pad


def _log_limits(marks: Sequence[Mark]) -> tuple[float, float]:
    """The same limits for both scales: half the smallest truth above 0, and somewhat more than the largest value."""
    truths = [mark.truth for mark in marks if mark.truth > 0] or [1e-3]
    return min(truths) / 2, 1.6 * max(truths + [mark.probability for mark in marks])
