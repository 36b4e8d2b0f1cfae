"""Results where analysts work: as Arrow tables, as figures, and as notebooks show them."""

from __future__ import annotations

from typing import Any

from blendp.render.notebook.tables import table_of

__all__ = ["figure_of", "html_of", "table_of"]


def figure_of(result: object) -> Any:
    """The figure of a result, with its texts in it."""
    from blendp.render.notebook.figures import standalone_figure  # matplotlib takes a second to load

    return standalone_figure(result)


def html_of(result: object) -> str:
    """The result as a piece of HTML."""
    from blendp.render.notebook.cells import render_cell  # matplotlib takes a second to load

    return render_cell(result)
