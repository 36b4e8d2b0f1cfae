"""What an index finds, for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from blendp.render.terminal_table import FigureTable, names
from blendp.render.text import decimals, percent, shorten, visible
from blendp.search import Answer, SearchIndex

_MAX_EMS = 30.0
"""Of what was typed, in a title."""


def results_table(answer: Answer, text: str, index: SearchIndex) -> RenderableType:
    """Every result with its share, its error and how it matches; below, where and when that was released."""
    source = f"Released {index.released}{f' by campaign {index.campaign}' if index.campaign else ''}: "
    note = Text(f"{source}{index.records:,} records; shares of all searches.", style="dim")
    typed = shorten(visible(text.strip()), _MAX_EMS)
    if not answer.results:
        return Group(Text(f"Nothing found for “{typed}”."), note)
    title = f"Results for “{typed}”" if typed else "Most popular"
    if answer.nearest:
        title = f"Nothing found for “{typed}”. The nearest:"
    table = FigureTable(title, droppable=("match", "± std error"))
    table.add_column("query")
    if index.urls:
        table.add_column("url")
    for name in ("share", "± std error"):
        table.add_column(name, justify="right")
    table.add_column("match", no_wrap=True)
    digits = decimals([one.error for one in answer.results], [one.share for one in answer.results])
    for one in answer.results:
        texts = [one.query, one.url] if index.urls else [one.query]
        figures = [f"{percent(value, digits)} %" for value in (one.share, one.error)]
        table.add_row(*names(texts), *figures, one.match)
    return Group(table, note)
