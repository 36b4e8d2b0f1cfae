"""The files of a reproduction: for every figure its data and its picture, and a page that shows them all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blendp._version import __version__
from blendp.evaluation.figures import RECIPES, Figure, Point
from blendp.evaluation.figures.survey_figures import SURVEY_FIGURES
from blendp.methods.filtered import rows_that_count
from blendp.outputs import whole
from blendp.render.tables import Cell, wildcard_text, write_table
from blendp.render.templates import fill

KINDS = ("csv", "json", "svg", "png")
FILES = ("index.html", *(f"figure-{name}.{kind}" for name in RECIPES for kind in KINDS))
"""All that a reproduction of the paper's figures holds."""

ALL_FILES = (*FILES, *(f"figure-{name}.{kind}" for name in SURVEY_FIGURES for kind in KINDS))
"""All that any reproduction may hold."""


def write_reproduction(
    figures: Sequence[Figure],
    directory: Path,
    *,
    about: Mapping[str, Any],
    overwrite: bool = False,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write four files for every figure, and the page. ``about`` says what all figures have in common."""
    from blendp.render.figures import plots  # matplotlib takes a second to load

    with whole(directory, overwrite=overwrite, own_files=ALL_FILES) as draft:
        inline = {}
        for figure in figures:
            if progress is not None:
                progress(f"drawing figure {figure.name}")
            target = draft / f"figure-{figure.name}"
            _write_csv(target.with_suffix(".csv"), figure.points)
            document = json.dumps(as_document(figure, about), ensure_ascii=False, indent=1, allow_nan=False)
            target.with_suffix(".json").write_text(document + "\n", encoding="utf-8")
            pictures = plots.pictures(figure)
            target.with_suffix(".svg").write_bytes(pictures.svg)
            target.with_suffix(".png").write_bytes(pictures.png)
            inline[figure.name] = pictures.inline
        (draft / "index.html").write_text(_page(figures, inline, about), encoding="utf-8")


def as_document(figure: Figure, about: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a figure as plain values; what is unknown is null."""
    return {
        "blendp": __version__,
        "private": False,
        "figure": figure.name,
        "title": figure.title,
        "sentence": figure.sentence,
        "paper": figure.paper,
        **about,
        "points": [
            {
                **point.about,
                "mean": {name: _known(mean.value) for name, mean in point.means.items()},
                "std_error": {name: _known(mean.error) for name, mean in point.means.items()},
            }
            for point in figure.points
        ],
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _write_csv(path: Path, points: Sequence[Point]) -> None:
    """A row for every point: what it is about, and every mean with its standard error beside it.

    What a point is about may be called like a mean (``opt_in``, ``variance``): its column is then ``parameter_opt_in``.
    """
    about_names = list(dict.fromkeys(name for point in points for name in point.about))
    names = list(dict.fromkeys(name for point in points for name in point.means))
    measured = [column for name in names for column in (name, f"{name}_std_error")]
    parameters = [f"parameter_{name}" if name in measured else name for name in about_names]
    write_table(path, [*parameters, *measured], (_cells(point, about_names, names) for point in points))


def _cells(point: Point, about_names: Sequence[str], names: Sequence[str]) -> list[Cell]:
    about = dict(point.about)
    if "query" in about:
        about["query"] = wildcard_text(about["query"])
    means = [point.means.get(name) for name in names]
    return [about.get(name) for name in about_names] + [
        cell for mean in means for cell in ((None, None) if mean is None else (mean.value, mean.error))
    ]


def _page(figures: Sequence[Figure], pictures: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    page = {
        "figures": figures,
        "pictures": pictures,
        "about": {"lead": None, **about},
        "filtered": rows_that_count(about.get("reading")),
    }
    return fill("figures/page.html.j2", page)
