"""The plots of results: for a cell of a notebook, and as figures that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from blendp.evaluation import Evaluation
from blendp.evaluation.planner import Overview
from blendp.evaluation.surveys import PlannedMethod, SurveyPlan, SurveyTrial
from blendp.methods import Outcome
from blendp.methods.objectives import top_named
from blendp.render.drawing import COLOURS, DrawnBar, DrawnLine, DrawnMark, SvgDrawing
from blendp.render.plan.plots import LOOKS, plan_drawing
from blendp.render.plots import LABEL, WIDTH, Mark, dot_drawing
from blendp.render.survey.plots import BarRow, bar_drawing, frequency_marks
from blendp.render.survey.text import points
from blendp.render.svg import DrawingTexts, DrawnFigure, HouseFigure, house_style, inline_svg
from blendp.render.text import decimals
from blendp.survey import SurveyOutcome

TOP = 20
"""How many records or answers a plot shows."""

_HEAD = 48.0
_FONT = "DejaVu Sans"
_LACKING = "□"
_ISOLATES = str.maketrans("", "", "\u2066\u2067\u2068\u2069")
_GROUPS = (
    ("estimate, with its 95 % interval", "ink", "o"),
    ("opt-in group alone", "opt-in", "s"),
    ("clients alone", "client", "^"),
)


@dataclass(frozen=True)
class Plotted:
    """A drawing, and what its marks mean: name, colour, shape."""

    drawing: SvgDrawing | DrawnFigure
    legend: tuple[tuple[str, str, str], ...]

    def svg(self) -> Markup:
        """As an element of a page."""
        return self.drawing.svg() if isinstance(self.drawing, SvgDrawing) else inline_svg(*self.drawing)

    def figure(self) -> DrawnFigure:
        """As a figure of matplotlib, its texts yet to be put in."""
        return _figure_of(self.drawing) if isinstance(self.drawing, SvgDrawing) else self.drawing


def standalone_figure(result: object) -> HouseFigure:
    """The plot of a result with its title, its legend and all texts in it.

    Texts come from people: none is read as mathematics, and letters that matplotlib's fonts lack are boxes.
    """
    plotted = plot_of(result, "plot")
    if plotted is None:
        return _nothing()
    figure, texts = plotted.figure()
    figure.set_facecolor("white")
    families, known = _fonts()
    for text in figure.findobj(Text):
        name = text.get_gid() or ""
        if name in texts.texts:
            text.set_parse_math(False)
            text.set_fontfamily(families)
            text.set_text("".join(c if c in known else _LACKING for c in texts.texts[name].translate(_ISOLATES)))
    with house_style():
        _give_head(figure, texts.title, plotted.legend)
    return figure


def _figure_of(drawing: SvgDrawing) -> DrawnFigure:
    """The same drawing as a figure."""
    texts: dict[str, str] = {}
    with house_style():
        figure = HouseFigure(figsize=(drawing.width / 72, drawing.height / 72), dpi=72, facecolor="none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
        for i, part in enumerate(drawing.parts):
            look: dict[str, Any] = {"color": COLOURS[part.colour], "zorder": i}
            if isinstance(part, DrawnLine):
                dashes = tuple(map(float, part.dashes.split()))
                style = (0, dashes) if dashes else "-"
                axes.plot(*zip(*part.points, strict=True), lw=part.width, linestyle=style, alpha=part.opacity, **look)
            elif isinstance(part, DrawnBar):
                axes.barh(part.middle, part.right - part.left, part.height, part.left, linewidth=0, **look)
            elif isinstance(part, DrawnMark):
                shape = Circle((part.x, part.y), part.size / 2) if part.shape == "dot" else Polygon(part.corners)
                shape.set(fill=not part.outline, linewidth=part.outline, alpha=part.opacity, clip_on=False, **look)
                axes.add_patch(shape)
            else:
                ha = {"start": "left", "middle": "center", "end": "right"}[part.anchor]
                axes.text(part.x, part.y, "text", gid=f"text-{i}", fontsize=part.size, ha=ha, **look)
                texts[f"text-{i}"] = part.text
    return DrawnFigure(figure, DrawingTexts(drawing.name, drawing.title, drawing.description, texts, {}))


def _fonts() -> tuple[list[str], set[str]]:
    """Which fonts texts are drawn with, the user's own behind ours, and the letters that one of them has."""
    families = [_FONT, *(name for name in rcParams["font.family"] if name != _FONT)]
    known: set[str] = set()
    for family in families:
        try:
            path = font_manager.findfont(family, fallback_to_default=family == _FONT)
        except ValueError:
            continue
        known |= {chr(code) for code in font_manager.get_font(path).get_charmap()}
    return families, known


def _give_head(figure: HouseFigure, title: str, legend: Sequence[tuple[str, str, str]]) -> None:
    """Make room over the axes for a title and a legend."""
    width, height = figure.get_size_inches()
    taller = height + _HEAD / 72
    figure.set_size_inches(width, taller)
    for axes in figure.axes:
        left, bottom, across, up = axes.get_position().bounds
        axes.set_position((left, bottom * height / taller, across, up * height / taller))
    margin = 18 / (72 * width)
    figure.text(margin, 1 - 18 / (72 * taller), title, fontsize=13, fontweight="bold", color=COLOURS["ink"])
    handles = [
        Line2D([], [], color=COLOURS[colour], marker=shape, linestyle="-" if shape == "o" else "", label=name)
        for name, colour, shape in legend
    ]
    if handles:
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(margin, 1 - 22 / (72 * taller)),
            borderaxespad=0,
            borderpad=0.2,
            ncols=len(handles),
            columnspacing=1.2,
            handletextpad=0.4,
            frameon=False,
            fontsize=9,
        )


def _nothing() -> HouseFigure:
    with house_style():
        figure = HouseFigure(figsize=(WIDTH / 72, 1), dpi=72, facecolor="white")
        figure.text(0.04, 0.5, "Nothing was listed.", fontsize=LABEL, color=COLOURS["ink"])
    return figure


@singledispatch
def plot_of(result: object, name: str) -> Plotted | None:
    """The plot of a result, under a name of its own; None if there is nothing to draw."""
    raise NotImplementedError(type(result).__name__)


@plot_of.register
def _(outcome: Outcome, name: str) -> Plotted | None:
    head_list = outcome.head_list
    rows = outcome.records()[: min(TOP, head_list.records)]
    if not rows:
        return None
    cells = [head_list.cell_of(row.query, row.url) for row in rows]
    opt_in, client = (group.cells.probability for group in (outcome.opt_in, outcome.client))
    marks = [
        Mark(**asdict(row), opt_in=float(opt_in[cell]), client=float(client[cell]))
        for row, cell in zip(rows, cells, strict=True)
    ]
    things = "queries" if head_list.levels == 1 else "records"
    return Plotted(_dots(marks, name, f"The most popular {things}"), _GROUPS)


@plot_of.register
def _(outcome: SurveyOutcome, name: str) -> Plotted | None:
    marks = frequency_marks(outcome)
    title = "Frequencies of answers" if len(marks) <= TOP else f"Frequencies of the first {TOP} answers"
    return Plotted(_dots(marks[:TOP], name, title), _GROUPS if outcome.opt_in_people else _GROUPS[:1])


@plot_of.register
def _(view: Overview, name: str) -> Plotted | None:
    colours = {value: key for key, value in COLOURS.items()}
    legend = tuple((method, colours[LOOKS[method]["color"]], LOOKS[method]["marker"]) for method in view.plans)
    return Plotted(plan_drawing(view, name), legend)


@plot_of.register
def _(evaluation: Evaluation, name: str) -> Plotted | None:
    runs = evaluation.runs()
    with house_style():
        figure = HouseFigure(figsize=(WIDTH / 72, 300 / 72), dpi=72, facecolor="none")
        first = top_named(evaluation.parameters.size).capitalize()
        for bottom, key, said in ((0.58, "top_error", first), (0.09, "l1", "L1 of the listed queries")):
            axes = figure.add_axes((100 / WIDTH, bottom, (WIDTH - 130) / WIDTH, 0.31))
            _rows_of_runs(
                axes, [[run[key] for run in runs], *([run["groups"][g][key] for run in runs] for g in _ALONE)]
            )
            axes.set_title(said, loc="left", fontsize=11, color=COLOURS["ink"])
    texts = DrawingTexts(name, "Against the log's own truth", f"{len(runs)} runs, each a mark.", {}, {})
    return Plotted(DrawnFigure(figure, texts), (("mean", "ink", "|"),))


_ALONE = ("opt_in", "client")


def _rows_of_runs(axes: Axes, values: Sequence[Sequence[float]]) -> None:
    """A row for the blend and for each group, with a mark for every run and a bar at their mean."""
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=10, labelcolor=COLOURS["quiet"])
    axes.grid(axis="x", color=COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    for row, (numbers, colour) in enumerate(zip(values, ("ink", "opt-in", "client"), strict=True)):
        known = [number for number in numbers if np.isfinite(number)]
        if known:
            axes.scatter(known, [row] * len(known), s=30, color=COLOURS[colour], alpha=0.5, linewidth=0, zorder=3)
            axes.scatter([np.mean(known)], [row], s=160, color=COLOURS["ink"], marker="|", zorder=4)
    axes.set_ylim(2.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_yticks([0, 1, 2], ["blended", "opt-in alone", "clients alone"])


@plot_of.register
def _(plan: SurveyPlan, name: str) -> Plotted | None:
    return _errors(plan.methods, name, "Expected error of a frequency, by method")


@plot_of.register
def _(trial: SurveyTrial, name: str) -> Plotted | None:
    return _errors([trial], name, "Error of a frequency, measured")


def _errors(ways: Sequence[PlannedMethod | SurveyTrial], name: str, title: str) -> Plotted:
    rows = [
        BarRow(
            way.parameters.method,
            f"{points(way.rmse)} points, clients alone {points(way.client_rmse)}",
            (("ink", way.rmse), ("client", way.client_rmse)),
        )
        for way in ways
    ]
    drawing = bar_drawing(rows, lambda x: f"{100 * x:.3g}", name, title, "Bars are errors, in percentage points.")
    return Plotted(drawing, (("both groups", "ink", "s"), ("clients alone", "client", "s")))


def _dots(marks: Sequence[Mark], name: str, title: str) -> SvgDrawing:
    digits = decimals([mark.std_error for mark in marks], [mark.probability for mark in marks])
    return dot_drawing(marks, digits, name, title)
