"""Figures 10 and 12 to 19: one knob is varied, and both methods are scored.

A figure is a grid of panels, a panel some curves, a curve a measure of some experiments. A point whose list stays
shorter than asked in most runs is not drawn, as in the paper (footnote 7); the data files have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from blendp.evaluation.figures.figure import METHODS, Figure, Line, Panel, Recipe
from blendp.evaluation.figures.laboratory import Experiment, Laboratory, Mean, Point
from blendp.evaluation.figures.peers import read_peers
from blendp.evaluation.figures.populations import Grid, Setting
from blendp.evaluation.figures.printed import Stated, comparison, stated, with_printed

L1, NDCG = "L1 of query probabilities", "NDCG"
OPT_IN, EPSILON = "opt-in users (%)", "ε"
GROUPS = {"blended": "", "opt-in": "opt_in_", "client": "client_"}
GROUP_LABELS = {"blended": "blended", "opt-in": "opt-in alone", "client": "clients alone"}


@dataclass(frozen=True)
class Curve:
    """A measure of some experiments, at the values of the knob."""

    label: str
    look: str
    measure: str
    points: tuple[tuple[float, Experiment], ...]
    whole: bool = True
    """Whether only lists of the asked length are shown."""


@dataclass(frozen=True)
class Axes:
    """A panel to be measured."""

    title: str
    varied: str
    measured: str
    curves: tuple[Curve, ...]
    log: bool = False
    printed: tuple[Stated, ...] = ()
    """What the paper's text states about it."""


Rows = Iterator[tuple[Axes, ...]]


@dataclass(frozen=True)
class Sweep(Recipe):
    """A figure that varies a knob."""

    rows: Callable[[Sequence[Setting], Grid], Rows]

    def steps(self, settings: Sequence[Setting], grid: Grid) -> set[object]:
        """The experiments of all curves."""
        return {
            experiment
            for row in self.rows(settings, grid)
            for axes in row
            for curve in axes.curves
            for _, experiment in curve.points
        }

    def make(self, settings: Sequence[Setting], grid: Grid, laboratory: Laboratory) -> Figure:
        """Measure every point of every curve."""
        used: list[Point] = []
        panels = tuple(tuple(_panel(axes, laboratory, used) for axes in row) for row in self.rows(settings, grid))
        points = list({id(point): point for point in used}.values())
        compared = comparison(self.name, points)
        return self.figure(panels, with_printed(self.name, points), [compared] if compared else [])


@dataclass(frozen=True)
class ShortList(Sweep):
    """Figure 12, with what others find without opt-in people on as many people of the same population."""

    def make(self, settings: Sequence[Setting], grid: Grid, laboratory: Laboratory) -> Figure:
        """Add the peers' panels, points and table where they are about the same people."""
        figure, peers = super().make(settings, grid, laboratory), read_peers()
        for row, setting in zip(figure.grid, settings, strict=True):
            if peers.are_about(laboratory.populations[setting.name]):
                (ours,) = (line for line in row[0].lines if line.look == "blendp")
                ours = replace(ours, label=f"blendp, {100 * setting.opt_in:g} % opt in")
                figure = replace(
                    figure,
                    grid=(*figure.grid, peers.panels(setting.title, EPSILON, NDCG, ours)),
                    points=(*figure.points, *peers.points()),
                    tables=(*figure.tables, peers.table()),
                )
        return figure


def _panel(axes: Axes, laboratory: Laboratory, used: list[Point]) -> Panel:
    lines = []
    for curve in axes.curves:
        points = [laboratory.measure(experiment) for _, experiment in curve.points]
        used += points
        shown = tuple(
            point.means[curve.measure]
            if not curve.whole or point.means["reached"].value >= 0.5
            else Mean(math.nan, math.nan)
            for point in points
        )
        lines.append(Line(curve.label, curve.look, tuple(x for x, _ in curve.points), shown))
    varied = [x for line in lines for x in line.at]
    for bound in axes.printed:
        at = tuple(x for x in dict.fromkeys(varied) if bound.low <= _share(bound, x) <= bound.high + 1e-9)
        if at:
            look = f"printed {bound.sense}"
            lines.append(Line(bound.label, look, at, tuple(Mean(bound.value, math.nan) for _ in at)))
    return Panel(axes.title, axes.varied, axes.measured, tuple(lines), log=axes.log)


def _share(bound: Stated, x: float) -> float:
    """What a place on the axis means to a bound: axes show opt-in rates in percent."""
    return x / 100 if bound.knob == "opt_in" else x


Knob = Literal["opt_in", "epsilon", "tiny"]


def _along(setting: Setting, method: str, knob: Knob, grid: Grid, size: int) -> tuple[tuple[float, Experiment], ...]:
    """The experiments along a knob, for a length of list."""
    if knob == "epsilon":
        return tuple(
            (epsilon, Experiment(setting.name, setting.opt_in, setting.parameters(method, epsilon, size)))
            for epsilon in grid.epsilon
        )
    return tuple(
        (100 * share, Experiment(setting.name, share, setting.parameters(method, size=size)))
        for share in (grid.opt_in if knob == "opt_in" else grid.tiny)
    )


def _sized(setting: Setting, knob: Knob, measure: str, grid: Grid, figure: str = "") -> tuple[Axes, ...]:
    """A panel for each method, with a curve for each length of list, and what the text states about this figure."""
    sizes = setting.tiny_sizes if knob == "tiny" else setting.sizes
    return tuple(
        Axes(
            f"{setting.title}, {method}",
            EPSILON if knob == "epsilon" else OPT_IN,
            L1 if measure == "l1" else NDCG,
            tuple(
                Curve(f"{size} records", str(number), measure, _along(setting, name, knob, grid, size))
                for number, size in enumerate(sizes)
            ),
            printed=tuple(each for each in stated(figure, setting.name) if measure in each.measures),
        )
        for name, method in METHODS.items()
    )


def _grouped(setting: Setting, knob: Knob, measure: str, grid: Grid, size: int) -> tuple[Axes, ...]:
    """A panel for each method, with a curve for the blend and one for each group alone."""
    return tuple(
        Axes(
            f"{setting.title}, {method}",
            EPSILON if knob == "epsilon" else OPT_IN,
            L1 if measure == "l1" else NDCG,
            tuple(
                Curve(GROUP_LABELS[group], group, f"{prefix}{measure}", _along(setting, name, knob, grid, size))
                for group, prefix in GROUPS.items()
            ),
        )
        for name, method in METHODS.items()
    )


def _budget_split(settings: Sequence[Setting], grid: Grid) -> Rows:
    for setting in settings:
        for measure in ("l1", "ndcg"):
            yield tuple(
                Axes(
                    f"{setting.title}, {method}",
                    varied,
                    L1 if measure == "l1" else NDCG,
                    tuple(
                        Curve(
                            GROUP_LABELS[group],
                            group,
                            f"{prefix}{measure}",
                            tuple(
                                (
                                    share,
                                    Experiment(
                                        setting.name, setting.opt_in, setting.parameters(name, query_share=share)
                                    ),
                                )
                                for share in grid.query_share
                            ),
                            whole=False,
                        )
                        for group, prefix in GROUPS.items()
                    ),
                    log=measure == "l1",
                )
                for (name, method), varied in zip(
                    METHODS.items(),
                    ("share f_C of the budget for the query", "share of clients who report the query"),
                    strict=True,
                )
            )


def _short_list(settings: Sequence[Setting], grid: Grid) -> Rows:
    size = 10
    for setting in settings:
        along = {
            method: tuple(point for point in _along(setting, method, "epsilon", grid, size) if point[0] <= 5)
            for method in METHODS
        }
        yield tuple(
            Axes(
                f"{setting.title}, {title}",
                EPSILON,
                NDCG,
                (
                    *(Curve(METHODS[method], method, measure, along[method], whole=False) for method in METHODS),
                    Curve("random order of the list", "random", f"{measure}_random", along["blendp"], whole=False),
                ),
                printed=stated("12", setting.name),
            )
            for title, measure in (("against the true head", "ndcg"), ("the list's own order", "ndcg_list"))
        )


def _opt_in_l1(settings: Sequence[Setting], grid: Grid) -> Rows:
    for setting in settings:
        yield _sized(setting, "opt_in", "l1", grid)
    yield tuple(
        Axes(
            f"{setting.title}, records that pass the threshold",
            OPT_IN,
            f"{setting.title} records",
            tuple(
                Curve(title, method, "candidates", _along(setting, method, "opt_in", grid, setting.size), whole=False)
                for method, title in METHODS.items()
            ),
            log=True,
            printed=stated("13", setting.name),
        )
        for setting in settings
    )


def _epsilon_l1(settings: Sequence[Setting], grid: Grid) -> Rows:
    yield from (_sized(setting, "epsilon", "l1", grid, "14") for setting in settings)


def _opt_in_ndcg(settings: Sequence[Setting], grid: Grid) -> Rows:
    yield from (_sized(setting, "opt_in", "ndcg", grid, "15") for setting in settings)


def _epsilon_ndcg(settings: Sequence[Setting], grid: Grid) -> Rows:
    yield from (_sized(setting, "epsilon", "ndcg", grid, "16") for setting in settings)


def _each_group(settings: Sequence[Setting], grid: Grid) -> Rows:
    knobs: tuple[Knob, ...] = ("opt_in", "epsilon")
    for setting in settings:
        for knob in knobs:
            for measure in ("l1", "ndcg"):
                yield _grouped(setting, knob, measure, grid, setting.group_size)


def _tiny(settings: Sequence[Setting], grid: Grid) -> Rows:
    for setting in settings:
        yield from (_sized(setting, "tiny", measure, grid) for measure in ("l1", "ndcg"))


def _tiny_groups(settings: Sequence[Setting], grid: Grid) -> Rows:
    for setting in settings:
        for measure in ("l1", "ndcg"):
            yield _grouped(setting, "tiny", measure, grid, setting.tiny_sizes[0])


SWEEPS = (
    Sweep(
        "10",
        "What clients spend on the query, and what on the URL",
        "The more of the clients' effort goes to the query, the better queries are known and the worse URLs; the "
        "blendp method has no budget to split, so its counterpart is varied: the share of clients who report the "
        "query, while the others report the record.",
        "L1 of clients and blend falls as f_C grows; the clients' NDCG peaks at f_C = 0.85; the opt-in group's is "
        "constant.",
        ("aol",),
        _budget_split,
    ),
    ShortList(
        "12",
        "A list of 10 records",
        "How well ten records are found and ordered as the privacy budget grows, beside the mean score of the same "
        "list in random order, and beside what others find if nobody opts in.",
        "NDCG above 0.95 for every ε from 1 to 5, against “the 30% range, at best” that another paper reports of a "
        "purely local method by another rule; here such methods are measured by the same rule instead.",
        ("aol",),
        _short_list,
    ),
    Sweep(
        "13",
        "Query probabilities and the opt-in rate",
        "The error of the query probabilities for lists of several lengths as more people opt in, and how many records "
        "pass the threshold; a point is missing where most lists stay shorter than asked.",
        "A list of 50 on AOL needs 5 % opt-in, one of 500 on Yandex 3 %; once the length is reached, L1 is small.",
        ("aol", "yandex"),
        _opt_in_l1,
    ),
    Sweep(
        "14",
        "Query probabilities and ε",
        "The error of the query probabilities for lists of several lengths as the privacy budget grows.",
        "L1 falls steadily on both data sets; on Yandex it is under 0.1 from ε = 1 on.",
        ("aol", "yandex"),
        _epsilon_l1,
    ),
    Sweep(
        "15",
        "The order of records and the opt-in rate",
        "How well records are ordered, for lists of several lengths, as more people opt in.",
        "AOL needs about 5 % opt-in for an NDCG above 0.95; on Yandex 1 % suffices for all but the longest list.",
        ("aol", "yandex"),
        _opt_in_ndcg,
    ),
    Sweep(
        "16",
        "The order of records and ε",
        "How well records are ordered, for lists of several lengths, as the privacy budget grows.",
        "On Yandex ε = 1 gives an NDCG of 0.95 and more for all but the two longest lists.",
        ("aol", "yandex"),
        _epsilon_ndcg,
    ),
    Sweep(
        "17",
        "The blend and each group alone",
        "What the blended result owes to the opt-in users and to the clients, as more people opt in and as the privacy "
        "budget grows.",
        "The blend is always better than the worse group, and in L1 better than both; its NDCG mainly tracks the "
        "opt-in group's.",
        ("yandex",),
        _each_group,
    ),
    Sweep(
        "18",
        "Tiny opt-in groups",
        "Error and order for short lists when between one in a thousand and one in a hundred people opt in.",
        "Once a length of list is reached, its estimates are good.",
        ("yandex",),
        _tiny,
    ),
    Sweep(
        "19",
        "Tiny opt-in groups: the blend and each group alone",
        "With so few opt-in users, of whom it counts one in twenty, the published method leans on the clients; the "
        "blendp method counts all of them.",
        "The opt-in group's estimates have much lower utility than the clients', and the blend leans on the clients.",
        ("yandex",),
        _tiny_groups,
    ),
)
