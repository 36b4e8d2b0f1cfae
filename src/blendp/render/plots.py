"""The plots of a report, drawn narrow so that their text stays readable on a phone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from blendp.methods.outcome import Row
from blendp.render.svg import COLOURS, DrawingTexts, DrawnFigure, HouseFigure, house_style, inline_svg
from blendp.render.text import UNKNOWN, label, percent, with_error

WIDTH = 440.0
MARGIN = 18.0
ROW = 38.0
BASELINE, MIDDLE, _BELOW = 11.0, 20.0, 28.0
LABEL, VALUE, _TICK = 11.5, 10.5, 10.0


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
    return inline_svg(*dot_drawing(marks, digits, name, title, limits))


def dot_drawing(
    marks: Sequence[Mark], digits: int, name: str, title: str, limits: tuple[float, float] | None = None
) -> DrawnFigure:
    """Estimates with their intervals, each group's own estimate faint beside them, and the truth if it is known.

    The scale fits the blended estimates unless ``limits`` are given; a group's estimate beyond it is drawn as an arrow
    at the edge.
    """
    values = [with_error(mark.probability, mark.std_error, digits) for mark in marks]
    with house_style():
        figure, axes = row_axes(len(marks))
        left, right = scale(marks) if limits is None else limits
        axes.set_xlim(left, right)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _tick(x)))
        axes.axvline(0, color=COLOURS["edge"], linewidth=1, zorder=1)
        _groups(axes, marks, left, right)
        y = MIDDLE + ROW * np.arange(len(marks))
        for mark, at in zip(marks, y, strict=True):
            if math.isfinite(mark.high - mark.low):
                axes.plot([mark.low, mark.high], [at, at], color=COLOURS["ink"], linewidth=1.6, zorder=3)
        axes.scatter(
            [mark.probability for mark in marks], y, s=26, color=COLOURS["ink"], linewidth=0, clip_on=False, zorder=4
        )
        diamond: dict[str, Any] = {"marker": "D", "facecolor": "none", "edgecolor": COLOURS["truth"], "linewidth": 1.5}
        axes.scatter([mark.truth for mark in marks], y, s=52, clip_on=False, zorder=5, **diamond)
        return _finish(figure, axes, marks, values, name, title, "Dots are estimates, lines their 95 % intervals.")


def beyond_scale(marks: Sequence[Mark]) -> bool:
    """Whether any group's estimate has to be drawn as an arrow."""
    left, right = scale(marks)
    return any(x < left or x > right for mark in marks for x in (mark.opt_in, mark.client))


def share_plot(marks: Sequence[Mark], name: str, title: str) -> Markup:
    """How much of each estimate comes from the opt-in group (left part) and from the clients (right part)."""
    values = []
    with house_style():
        figure, axes = row_axes(len(marks))
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.0f} %"))
        for i, mark in enumerate(marks):
            known = math.isfinite(mark.weight_opt_in) and math.isfinite(mark.probability)
            values.append(f"{percent(mark.weight_opt_in, 0)} % opt-in" if known else UNKNOWN)
            if not known:
                continue
            share = min(max(mark.weight_opt_in, 0.0), 1.0)
            y = i * ROW + MIDDLE + 1
            axes.barh(y, share, height=9, color=COLOURS["opt-in"], linewidth=0, zorder=3)
            axes.barh(y, 1 - share, left=share, height=9, color=COLOURS["client"], linewidth=0, zorder=3)
        return inline_svg(
            *_finish(figure, axes, marks, values, name, title, "The rest of every bar comes from the clients.")
        )


def truth_plot(marks: Sequence[Mark], digits: int, name: str, title: str) -> Markup:
    """Estimates against the truth on logarithmic scales; what is too low for the scale stands at its edge."""
    shown = [mark for mark in marks if math.isfinite(mark.probability)]
    low, high = _log_limits(shown)
    with house_style():
        figure = Figure(figsize=(WIDTH / 72, WIDTH / 72), dpi=72, facecolor="none")
        axes = figure.add_axes((62 / WIDTH, 46 / WIDTH, 1 - 76 / WIDTH, 1 - 76 / WIDTH), facecolor="none")
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 300 else (1.0,)))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda x, _: _tick(x)))
        _plain(axes)
        axes.grid(color=COLOURS["line"], linewidth=0.8)
        axes.plot([low, high], [low, high], color=COLOURS["edge"], linewidth=1.2, dashes=(4, 3), zorder=2)
        alpha = min(max(15 / max(len(shown), 1), 0.08), 0.4)
        for mark in shown:
            if math.isfinite(mark.high - mark.low) and mark.high > low:
                reach = [max(mark.low, low), min(mark.high, high)]
                axes.plot([max(mark.truth, low)] * 2, reach, color=COLOURS["ink"], alpha=alpha, linewidth=1.2, zorder=3)
        fits = [mark for mark in shown if mark.probability >= low]
        under = [mark for mark in shown if mark.probability < low]

        def x(some: Sequence[Mark]) -> list[float]:
            return [max(mark.truth, low) for mark in some]

        style: dict[str, Any] = {"color": COLOURS["ink"], "linewidth": 0, "clip_on": False, "zorder": 4}
        axes.scatter(x(fits), [m.probability for m in fits], s=22, alpha=0.75, gid="marks-in", **style)
        axes.scatter(x(under), [low] * len(under), s=34, marker="v", gid="marks-under", **style)
        axes.text(0, 1.025, "estimate", transform=axes.transAxes, fontsize=LABEL, color=COLOURS["ink"])
        axes.text(
            1, -0.105, "true probability", transform=axes.transAxes, ha="right", fontsize=LABEL, color=COLOURS["ink"]
        )
        tips = {"marks-in": [_tip(m, digits) for m in fits], "marks-under": [_tip(m, digits) for m in under]}
        description = f"{len(shown)} points; on the dashed diagonal the estimate equals the truth."
        return inline_svg(figure, DrawingTexts(name, title, description, {}, tips))


def row_axes(count: int) -> tuple[HouseFigure, Axes]:
    """Axes with a row for every mark, one unit of y for every unit of the drawing."""
    height = count * ROW + 32
    figure = HouseFigure(figsize=(WIDTH / 72, height / 72), dpi=72, facecolor="none")
    axes = figure.add_axes(
        (MARGIN / WIDTH, 28 / height, 1 - 2 * MARGIN / WIDTH, count * ROW / height), facecolor="none"
    )
    axes.set_ylim(count * ROW, 0)
    axes.yaxis.set_major_locator(NullLocator())
    _plain(axes)
    axes.grid(axis="x", color=COLOURS["line"], linewidth=0.8)
    return figure, axes


def _plain(axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=_TICK, labelcolor=COLOURS["quiet"], pad=6)


def _groups(axes: Axes, marks: Sequence[Mark], left: float, right: float) -> None:
    for group, shape, values in (
        ("opt-in", "s", np.array([mark.opt_in for mark in marks])),
        ("client", "^", np.array([mark.client for mark in marks])),
    ):
        y = _BELOW + ROW * np.arange(len(marks))
        for inside, marker, x in (
            ((values >= left) & (values <= right), shape, values),
            (values < left, "<", np.full(len(marks), left)),
            (values > right, ">", np.full(len(marks), right)),
        ):
            if inside.any():
                faint: dict[str, Any] = {"color": COLOURS[group], "alpha": 0.6, "linewidth": 0, "marker": marker}
                axes.scatter(x[inside], y[inside], s=34, clip_on=False, zorder=2, **faint)


def _finish(
    figure: HouseFigure, axes: Axes, marks: Sequence[Mark], values: Sequence[str], name: str, title: str, remark: str
) -> DrawnFigure:
    texts, tips = name_rows(axes, [(mark.query, mark.url) for mark in marks], values)
    heads = "; ".join(f"{label(m.query, m.url, 30)}: {value}" for m, value in zip(marks[:3], values, strict=False))
    return DrawnFigure(figure, DrawingTexts(name, title, f"{remark} First {heads}.", texts, tips))


def name_rows(
    axes: Axes, names: Sequence[tuple[str | None, str | None]], values: Sequence[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Keep room for names and values over the rows; give the texts and tips of the drawing."""
    texts: dict[str, str] = {}
    tips: dict[str, list[str]] = {}
    inside = axes.get_yaxis_transform()
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = i * ROW + BASELINE
        over: dict[str, Any] = {"transform": inside, "zorder": 6}
        axes.text(0, y, "name", gid=f"name-{i}", fontsize=LABEL, color=COLOURS["ink"], **over)
        axes.text(1, y, "value", gid=f"value-{i}", fontsize=VALUE, color=COLOURS["quiet"], ha="right", **over)
        room = WIDTH - 2 * MARGIN - 0.62 * VALUE * len(value) - 8
        whole = label(*name, 300)
        texts[f"name-{i}"] = label(*name, room / LABEL)
        texts[f"value-{i}"] = value
        if texts[f"name-{i}"] != whole:
            tips[f"name-{i}"] = [whole]
    return texts, tips


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
