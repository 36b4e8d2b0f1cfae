"""What the paper prints as numbers: the table of figure 9, and the bounds that its text states.

Journal version, section 5. Curves whose values can only be guessed from a plot are not here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from blendp.evaluation.figures.figure import METHODS, Table
from blendp.evaluation.figures.laboratory import Mean, Point
from blendp.evaluation.figures.populations import AOL, YANDEX

COLUMNS = ("truth", "blended", "opt_in", "client", "client_sum")
"""Figure 9's columns 2 to 6: AOL, BLENDER, the opt-in group, the clients' queries, and their URLs added up."""

FIGURE_9: dict[str | None, tuple[float, ...]] = {
    None: (0.9108, 0.9103, 0.9199, 0.9100, 0.1468),
    "google": (0.0213, 0.0216, 0.0213, 0.0217, 0.0216),
    "yahoo": (0.0067, 0.0070, 0.0046, 0.0073, 0.0325),
    "google.com": (0.0067, 0.0056, 0.0023, 0.0061, 0.0194),
    "myspace.com": (0.0057, 0.0052, 0.0022, 0.0057, 0.0258),
    "mapquest": (0.0054, 0.0051, 0.0062, 0.0053, 0.0192),
    "yahoo.com": (0.0043, 0.0043, 0.0021, 0.0048, 0.0192),
    "www.google.com": (0.0034, 0.0004, 0.0004, 0.0032, 0.0098),
    "myspace": (0.0033, 0.0034, 0.0042, 0.0035, 0.0255),
    "ebay": (0.0028, 0.0026, 0.0028, 0.0028, 0.0254),
}
"""The rows of figure 9 by their query (column 1); None is everything else."""


def printed_row(query: str | None) -> dict[str, float]:
    """The printed numbers of a query by the names of :data:`COLUMNS`; nothing for a query that the table lacks."""
    return dict(zip(COLUMNS, FIGURE_9.get(query, ()), strict=False))


Sense = Literal["above", "min", "below"]
SENSES: dict[Sense, str] = {"above": "above", "min": "at least", "below": "below"}


@dataclass(frozen=True)
class Stated:
    """A bound on a measure that the text states for a stretch of one knob."""

    figure: str
    population: str
    sentence: str
    where: str
    measures: tuple[str, ...]
    """What it may be about: the text allows two readings of NDCG."""

    sense: Sense
    value: float
    knob: Literal["epsilon", "opt_in"]
    low: float
    high: float
    sizes: tuple[int, ...]
    """The lengths of lists that it is about."""

    def concerns(self, point: Point) -> bool:
        """Whether a point lies on the stretch; lists that stay short are not shown, so nothing is said of them."""
        about = point.about
        inside = self.low - 1e-9 <= about[self.knob] <= self.high + 1e-9
        whole = "candidates" in self.measures or point.means["reached"].value >= 0.5
        return about["population"] == self.population and about["size"] in self.sizes and inside and whole

    def holds(self, value: float) -> bool:
        """Whether a measured mean is as stated."""
        if self.sense == "below":
            return value < self.value
        return value > self.value if self.sense == "above" else value >= self.value

    @property
    def label(self) -> str:
        """For a legend."""
        return f"as printed: {SENSES[self.sense]} {self.value:g}"

    def columns(self) -> dict[str, Mean]:
        """For the data of a point that it concerns."""
        return {f"{self.measures[0]}_printed_{self.sense}": Mean(self.value, math.nan)}


_ROBUST, _FOOTNOTE, _ALTERNATIVES = "section 5.3.3", "footnote 7", "section 5.3.2"
_NDCG = ("ndcg", "ndcg_list")

STATED = (
    Stated(
        "12", "aol", "NDCG above 95 % for ε from 1 to 5", _ALTERNATIVES, _NDCG, "above", 0.95, "epsilon", 1, 5, (10,)
    ),
    Stated(
        "13",
        "aol",
        "A list of 50 from 5 % opt-in on",
        _FOOTNOTE,
        ("candidates",),
        "min",
        50,
        "opt_in",
        0.05,
        0.1,
        (50,),
    ),
    Stated(
        "13", "aol", "No list of 50 with less", _FOOTNOTE, ("candidates",), "below", 50, "opt_in", 0.01, 0.04, (50,)
    ),
    Stated(
        "13",
        "yandex",
        "Lists of 500 with 3 % opt-in",
        _ROBUST,
        ("candidates",),
        "min",
        500,
        "opt_in",
        0.03,
        0.1,
        (500,),
    ),
    Stated(
        "14",
        "yandex",
        "L1 under 0.1 with ε of 1 and more",
        _ROBUST,
        ("l1",),
        "below",
        0.1,
        "epsilon",
        1,
        6,
        (10, 50, 100, 500),
    ),
    Stated(
        "15", "aol", "NDCG above 95 % from about 5 %", _ROBUST, _NDCG, "above", 0.95, "opt_in", 0.05, 0.1, (10, 25, 50)
    ),
    Stated(
        "15",
        "yandex",
        "NDCG above 95 % at 1 %, but for the longest list",
        _ROBUST,
        _NDCG,
        "above",
        0.95,
        "opt_in",
        0.01,
        0.01,
        (10, 50, 100),
    ),
    Stated(
        "16",
        "yandex",
        "NDCG of 95 % and more from ε = 1 on, but for the two longest lists",
        _ROBUST,
        _NDCG,
        "min",
        0.95,
        "epsilon",
        1,
        6,
        (10, 50),
    ),
)
"""Every bound that the text states for a figure."""

CAPTION = (
    "What the paper prints about this figure, and at how many of our points it holds. Its numbers are of the real "
    "logs, ours of people who share with them what it publishes: sizes, nine queries, and from where on lists are long "
    "enough."
)
_TRIMMED = (
    "Against the true head the published method misses records: it trims its candidates by the few counts of T, one "
    "twentieth of the opt-in group."
)
WHY = {
    "12": _TRIMMED,
    "13": "These lengths agree by construction; that blendp has longer lists does not.",
    "14": "The text rescales L1; without the rescaling the bound holds at ε = 1 for every length.",
    "15": _TRIMMED,
    "16": "The lengths of the paper's lists are legible for 10, 50, 100 and 500 alone.",
}
"""Why a bound does or does not hold."""

_TITLES = {setting.name: setting.title for setting in (AOL, YANDEX)}
_READINGS = {
    "ndcg": "NDCG, true head",
    "ndcg_list": "NDCG, own order",
    "l1": "L1, rescaled",
    "candidates": "records that pass",
}


def stated(figure: str, population: str) -> tuple[Stated, ...]:
    """What the text states about a figure of one data set."""
    return tuple(each for each in STATED if (each.figure, each.population) == (figure, population))


def with_printed(figure: str, points: Sequence[Point]) -> list[Point]:
    """The points, those that a bound concerns with its number beside what was measured."""
    bounds = [each for each in STATED if each.figure == figure]
    return [_beside(point, [each for each in bounds if each.concerns(point)]) for point in points]


def _beside(point: Point, bounds: Sequence[Stated]) -> Point:
    if not bounds:
        return point
    return Point(
        point.about, {**point.means, **{name: mean for each in bounds for name, mean in each.columns().items()}}
    )


def comparison(figure: str, points: Sequence[Point]) -> Table | None:
    """At how many points of each method every bound holds, and between which values they lie."""
    rows = []
    for each in STATED:
        if each.figure != figure or not any(point.about["population"] == each.population for point in points):
            continue
        for measure in each.measures:
            cells = (_held(each, measure, [p for p in points if p.about["method"] == method]) for method in METHODS)
            rows.append((each.sentence, _TITLES[each.population], each.where, _READINGS[measure], *cells))
    header = ("As printed", "Data", "Where", "Read as", *METHODS.values())
    return Table(header, tuple(rows), f"{CAPTION} {WHY[figure]}") if rows else None


def _held(bound: Stated, measure: str, points: Sequence[Point]) -> str:
    values = [point.means[measure].value for point in points if bound.concerns(point)]
    if not values:
        return "no such point"
    digits = 0 if measure == "candidates" else 3
    span = f"{min(values):.{digits}f} to {max(values):.{digits}f}" if len(values) > 1 else f"{values[0]:.{digits}f}"
    return f"{sum(map(bound.holds, values))} of {len(values)}: {span}"
