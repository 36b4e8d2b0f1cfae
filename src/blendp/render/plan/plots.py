"""The plots of a plan: lines of both methods, drawn narrow so that their text stays readable on a phone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from blendp.evaluation.planner import Overview, Plan
from blendp.methods.objectives import top_named
from blendp.render.plan.text import share
from blendp.render.svg import COLOURS, DrawingTexts, DrawnFigure, HouseFigure, house_style, inline_svg

WIDTH, HEIGHT = 440.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 18.0, 28.0, 52.0
_LABEL, _TICK = 13.4, 13.2
_MIN_SHOWN = 0.1
"""What is less stands at the lower edge of a logarithmic scale."""

_PERCENT = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_PLACES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

LOOKS: dict[str, dict[str, Any]] = {
    "blendp": {"color": COLOURS["ink"], "marker": "o", "linestyle": "-"},
    "published": {"color": COLOURS["opt-in"], "marker": "s", "linestyle": "--"},
}
_FAINT: dict[str, Any] = {"linestyle": ":", "linewidth": 1.4, "marker": ""}


@dataclass(frozen=True)
class _Line:
    """One line of a plot, with what is said over each of its marks."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    tips: Sequence[str]
    faint: bool = False


def _by_share(
    view: Overview, value: Callable[[Plan], float], digits: int, what: str, faint: bool = False
) -> list[_Line]:
    """What a plan says by opt-in share, a line for each method."""
    return [
        _Line(
            name,
            [100 * one.opt_in for one in row],
            [value(one) for one in row],
            [f"{name}, {share(one.opt_in)} opt-in: {what} {value(one):,.{digits}f}" for one in row],
            faint,
        )
        for name, row in view.sweeps.items()
    ]


def _top_error(view: Overview) -> list[_Line]:
    return _by_share(view, lambda one: one.scores.top_error, 3, "top error")


def _records(view: Overview) -> list[_Line]:
    listed = _by_share(view, lambda one: one.records, 1, "records on the list")
    return listed + _by_share(view, lambda one: one.candidates, 1, "records that pass", faint=True)


def _rates(view: Overview) -> list[float]:
    return [100 * one.opt_in for one in next(iter(view.sweeps.values()))]


def plan_drawing(view: Overview, name: str) -> DrawnFigure:
    """The length of the list and the error on the true top, by opt-in share."""
    rates = _rates(view)
    with house_style():
        figure = HouseFigure(figsize=(WIDTH / 72, 2 * HEIGHT / 72), dpi=72, facecolor="none")
        length, error = (figure.add_axes(_box(number, 2), facecolor="none") for number in range(2))
        _draw_lines(length, _records(view), "records on the list (dotted: that pass)", _opt_in_axis(rates), log=True)
        _draw_lines(error, _top_error(view), top_named(view.first.parameters.size), _opt_in_axis(rates))
    said = "; ".join(f"{method} lists {plan.records:,.0f} records" for method, plan in view.plans.items())
    return DrawnFigure(figure, DrawingTexts(name, "A plan by opt-in share", f"{said}.", {}, {}))


def by_opt_in(view: Overview) -> dict[str, Markup]:
    """The error on the true top, NDCG and the length of the list, by opt-in share."""
    top, records, rates = _top_error(view), _records(view), _rates(view)
    ndcg = _by_share(view, lambda one: one.scores.ndcg, 3, "NDCG")
    ndcg += _by_share(view, lambda one: one.scores.ndcg_random, 3, "NDCG in random order", faint=True)
    return {
        "top": _draw(top, "plan-top", "Top error by opt-in share", "top error", _opt_in_axis(rates), top=1.0),
        "ndcg": _draw(ndcg, "plan-ndcg", "NDCG by opt-in share", "NDCG", _opt_in_axis(rates), top=1.0),
        "records": _draw(
            records, "plan-records", "Length of the list by opt-in share", "records", _opt_in_axis(rates), log=True
        ),
    }


def by_place(view: Overview) -> Markup:
    """The relative standard error by place of the list."""
    lines = [
        _Line(
            name,
            [error.rank for error in one.errors],
            [100 * error.relative for error in one.errors],
            [
                f"{name}, place {error.rank}: {100 * error.std_error:.2g} % of {100 * error.probability:.2g} %"
                for error in one.errors
            ],
        )
        for name, one in view.plans.items()
        if one.errors
    ]

    def axis(axes: Axes) -> None:
        last = max(line.x[-1] for line in lines)
        axes.set(xscale="log", xlim=(0.9, last * 1.12))
        axes.xaxis.set_major_locator(FixedLocator([x for x in _PLACES if x <= last]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        _name_x(axes, "place on the list")

    return _draw(
        lines, "plan-errors", "Error by place", "standard error, % of the estimate", axis, log=True, percent=True
    )


def _opt_in_axis(rates: Sequence[float]) -> Callable[[Axes], None]:
    def axis(axes: Axes) -> None:
        low, high = min(rates), max(rates)
        axes.set(xscale="log", xlim=(low / 1.12, high * 1.12))
        shown = [x for x in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low / 1.05 <= x <= high * 1.05]
        axes.xaxis.set_major_locator(FixedLocator(shown or [low]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        _name_x(axes, "% of people who opt in")

    return axis


def _draw(
    lines: Sequence[_Line],
    name: str,
    title: str,
    measured: str,
    axis: Callable[[Axes], None],
    *,
    top: float | None = None,
    log: bool = False,
    percent: bool = False,
) -> Markup:
    with house_style():
        figure = HouseFigure(figsize=(WIDTH / 72, HEIGHT / 72), dpi=72, facecolor="none")
        axes = figure.add_axes(_box(0, 1), facecolor="none")
        tips = _draw_lines(axes, lines, measured, axis, top=top, log=log, percent=percent)
        description = " ".join(f"{line.tips[0]}; {line.tips[-1]}." for line in lines if line.tips)
        return inline_svg(figure, DrawingTexts(name, title, description, {}, tips))


def _box(number: int, of: int) -> tuple[float, float, float, float]:
    """Where one of several axes, the first at the top, stands in its figure."""
    bottom = (of - 1 - number + _BOTTOM / HEIGHT) / of
    return (_LEFT / WIDTH, bottom, 1 - (_LEFT + _RIGHT) / WIDTH, (1 - (_TOP + _BOTTOM) / HEIGHT) / of)


def _draw_lines(
    axes: Axes,
    lines: Sequence[_Line],
    measured: str,
    axis: Callable[[Axes], None],
    *,
    top: float | None = None,
    log: bool = False,
    percent: bool = False,
) -> dict[str, list[str]]:
    """Draw the lines; what is said over their marks."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(color=COLOURS["line"], linewidth=0.8)
    axes.tick_params(length=0, labelsize=_TICK, labelcolor=COLOURS["quiet"], pad=6)
    axis(axes)
    _scale(axes, [y for line in lines for y in line.y], top, log, percent)
    for axis_ in (axes.xaxis, axes.yaxis):
        axis_.set_minor_locator(NullLocator())
    tips = {}
    for i, line in enumerate(lines):
        look = LOOKS[line.name]
        y = [max(value, _MIN_SHOWN) for value in line.y] if log else line.y
        many = len(line.x) > 20
        if line.faint:
            axes.plot(line.x, y, color=look["color"], zorder=2, **_FAINT)
            continue
        axes.plot(line.x, y, color=look["color"], linestyle=look["linestyle"], linewidth=1.8, zorder=3)
        marks: dict[str, Any] = {"color": look["color"], "marker": look["marker"], "linewidth": 0, "zorder": 4}
        axes.scatter(line.x, y, s=12 if many else 30, gid=f"marks-{i}", clip_on=False, label=line.name, **marks)
        tips[f"marks-{i}"] = list(line.tips)
    axes.text(0, 1.04, measured, transform=axes.transAxes, fontsize=_LABEL, color=COLOURS["ink"])
    return tips


def _scale(axes: Axes, values: Sequence[float], top: float | None, log: bool, percent: bool) -> None:
    if not log:
        high = max(values) * 1.08 if top is None else top * 1.02
        axes.set_ylim(0, high or 1)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        return
    low, high = max(min(values), _MIN_SHOWN), max(*values, 2 * _MIN_SHOWN)
    axes.set(yscale="log", ylim=(low / 1.25, high * 1.25))
    if percent:
        axes.yaxis.set_major_locator(FixedLocator([x for x in _PERCENT if low / 1.25 <= x <= high * 1.25] or [high]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g} %"))
        return
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if math.log10(high / low) < 2.5 else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))


def _name_x(axes: Axes, name: str) -> None:
    axes.text(1, -0.18, name, transform=axes.transAxes, ha="right", va="center", fontsize=_LABEL, color=COLOURS["ink"])
