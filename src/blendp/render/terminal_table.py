"""Tables for terminals: numbers are always whole, and texts are cut in their middle where there is no room for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from blendp.render.text import visible

_MIN_NAME = 9
"""Cells of a text that are always shown."""

_EVERYTHING = 1 << 20


class Name:
    """A text of people's own, harmless to a terminal, that loses its middle where it does not fit."""

    def __init__(self, text: str) -> None:
        """Show what cannot be seen, so that no control or direction mark acts on the terminal."""
        self.text = visible(text)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From a few cells to all."""
        width = cell_len(self.text)
        return Measurement(min(width, _MIN_NAME), width).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One line."""
        yield Text(cut(self.text, options.max_width), no_wrap=True, overflow="ignore")


def cut(text: str, width: int) -> str:
    """The text within so many cells, its middle replaced by an ellipsis if need be; wide characters count two."""
    if cell_len(text) <= width:
        return text
    tail = max(width - 1, 0) * 2 // 5
    end = _beginning(text[::-1], tail)[::-1]
    return f"{_beginning(text, max(width - 1, 0) - cell_len(end))}…{end}"


def _beginning(text: str, width: int) -> str:
    """As many characters as fit into so many cells."""
    used = 0
    for i, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:i]
    return text


class FigureTable(Table):
    """A table whose columns of numbers, which stand at the right, are never cut.

    Where a terminal is too narrow, headings are wrapped first, then texts are cut. If that is not enough either, the
    table is wider than the terminal.
    """

    def __init__(self, title: str | Text | None = None, *, header_style: str = "bold", **settings: Any) -> None:
        """Without frames."""
        plain = {"title_justify": "left", "box": None, "pad_edge": False}
        super().__init__(title=title, header_style=header_style, **{**plain, **settings})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give every column its width, then draw."""
        gaps = 2 * max(len(self.columns) - 1, 0)
        widths = self._widths(console, options.max_width - gaps)
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options.update(width=max(options.max_width, sum(widths) + gaps)))

    def _widths(self, console: Console, room: int) -> list[int]:
        natural = [max(_widest(console, [column.header]), _widest(console, column.cells)) for column in self.columns]
        if sum(natural) <= room:
            return natural
        widths = [_fewest(console, column, whole) for column, whole in zip(self.columns, natural, strict=True)]
        left = room - sum(widths)
        while left > 0:
            open_columns = [i for i, width in enumerate(widths) if width < natural[i]]
            narrow = min(open_columns, key=lambda i: (self.columns[i].justify == "right", widths[i]))
            widths[narrow] += 1
            left -= 1
        return widths


def _fewest(console: Console, column: Column, whole: int) -> int:
    """The width below which a column says less than it must."""
    heading = max((cell_len(word) for word in str(column.header).split()), default=0)
    if column.justify == "right" or column.no_wrap:
        return max(heading, _widest(console, column.cells))
    return max(heading, min(whole, _MIN_NAME))


def _widest(console: Console, cells: Any) -> int:
    options = console.options.update(width=_EVERYTHING)
    return max((Measurement.get(console, options, cell).maximum for cell in cells), default=0)


def names(texts: Sequence[str | None]) -> list[Name]:
    """One for each text, empty for those that are missing."""
    return [Name(text or "") for text in texts]
