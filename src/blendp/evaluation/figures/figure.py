"""A figure as values: what it shows, its panels with their lines, and the data behind them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from blendp.errors import ParameterError
from blendp.evaluation.figures.laboratory import Laboratory, Mean, Point
from blendp.evaluation.figures.populations import Grid, Setting

UNKNOWN = "unknown"
"""What tables say where there is no number."""

METHODS = {"published": "published method", "blendp": "blendp"}
"""The two methods that every figure compares, and how panels call them."""


@dataclass(frozen=True)
class Line:
    """Means at some places; nan where nothing is shown."""

    label: str
    look: str
    """What it stands for, for its colour and mark: a method, a group, ``truth``, ``random``, or a number from 0."""

    at: tuple[float, ...]
    """Where the means stand, on the axis that is varied."""

    means: tuple[Mean, ...]

    def __post_init__(self) -> None:
        """Refuse places without means."""
        if len(self.at) != len(self.means):
            raise ParameterError("means", len(self.means), f"{len(self.at)}, one for each place", "Measure all places.")


@dataclass(frozen=True)
class Panel:
    """One pair of axes. With ``rows`` the lines' places are these names, from top to bottom."""

    title: str
    varied: str
    measured: str
    lines: tuple[Line, ...]
    rows: tuple[str, ...] = ()
    log: bool = False
    """Whether what is measured is on a logarithmic scale."""


@dataclass(frozen=True)
class Table:
    """A table for a page: a header, and rows of texts of which the first names the row."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, made anew."""

    name: str
    title: str
    sentence: str
    """What it shows, in one plain sentence."""

    paper: str
    """What the paper says of it."""

    grid: tuple[tuple[Panel, ...], ...]
    """Rows of panels; what is measured has one scale in a row of panels, where it is the same."""

    points: tuple[Point, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Recipe(ABC):
    """How a figure is made: what it is about, and on which data sets of the paper."""

    name: str
    title: str
    sentence: str
    paper: str
    data_sets: tuple[str, ...]

    @abstractmethod
    def steps(self, settings: Sequence[Setting], grid: Grid) -> set[object]:
        """What has to be played; steps that figures share are equal."""

    @abstractmethod
    def make(self, settings: Sequence[Setting], grid: Grid, laboratory: Laboratory) -> Figure:
        """Play it and put the figure together."""

    def figure(
        self, grid: tuple[tuple[Panel, ...], ...], points: Sequence[Point], tables: Sequence[Table] = ()
    ) -> Figure:
        """The figure of these panels."""
        return Figure(self.name, self.title, self.sentence, self.paper, grid, tuple(points), tuple(tables))


def pm(mean: Mean, digits: int) -> str:
    """A mean with its standard error, as far as they are known."""
    if math.isnan(mean.value):
        return UNKNOWN
    error = "" if math.isnan(mean.error) else f" ± {mean.error:.{digits}f}"
    return f"{mean.value:.{digits}f}{error}"
