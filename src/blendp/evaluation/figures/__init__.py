"""The figures of the paper, made anew with both methods; and the ladder from one method to the other."""

from __future__ import annotations

from collections.abc import Sequence

from blendp.errors import require_choice
from blendp.evaluation.figures.figure import Figure, Line, Panel, Recipe, Table
from blendp.evaluation.figures.laboratory import Experiment, Laboratory, Mean, Point
from blendp.evaluation.figures.ladder import Ladder
from blendp.evaluation.figures.populations import AOL, FULL, QUICK, YANDEX, FigurePopulation, Grid, Setting
from blendp.evaluation.figures.sweeps import SWEEPS
from blendp.evaluation.figures.top_queries import TopQueries

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        TopQueries(
            "9",
            "The most popular queries",
            "The queries that most people ask, at most nine, as the log has them and as each group and the blend "
            "estimate them; bars span two standard deviations of a single run either way.",
            "The blend is close to the truth, with one estimate out of order; column 6 (the clients' URLs added up) "
            "must equal column 5 and does not, so it is invalid.",
            ("aol",),
        ),
        *SWEEPS,
        Ladder(
            "ladder",
            "From the published method to blendp",
            "What each improvement brings, one upon the other, and what would be possible if everybody trusted the "
            "curator.",
            "Not in the paper.",
            ("aol", "yandex"),
        ),
    )
}
"""Every figure by its number in the paper."""


def recipes(names: Sequence[str]) -> list[Recipe]:
    """The figures of these names in the paper's order; all if none is named."""
    for name in names:
        require_choice("figure", name, tuple(RECIPES), "Name figures of the paper by their numbers.")
    return [recipe for name, recipe in RECIPES.items() if not names or name in names]


def settings_of(recipe: Recipe, populations: Sequence[Setting]) -> list[Setting]:
    """The populations on which a figure is made: those of the paper, or the log that stands in for all."""
    return [setting for setting in populations if setting.name in (*recipe.data_sets, "log")]


def make_figures(names: Sequence[str], laboratory: Laboratory, grid: Grid = FULL) -> list[Figure]:
    """Make the figures of these names; all if none is named."""
    present = [people.setting for people in laboratory.populations.values()]
    return [recipe.make(settings_of(recipe, present), grid, laboratory) for recipe in recipes(names)]


def count_steps(names: Sequence[str], populations: Sequence[Setting], grid: Grid) -> int:
    """How many experiments that takes."""
    steps: set[object] = set()
    for recipe in recipes(names):
        steps |= recipe.steps(settings_of(recipe, populations), grid)
    return len(steps)


__all__ = [
    "AOL",
    "FULL",
    "QUICK",
    "RECIPES",
    "YANDEX",
    "Experiment",
    "Figure",
    "FigurePopulation",
    "Grid",
    "Laboratory",
    "Line",
    "Mean",
    "Panel",
    "Point",
    "Setting",
    "Table",
    "count_steps",
    "make_figures",
    "recipes",
    "settings_of",
]
