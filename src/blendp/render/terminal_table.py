"""Tables for terminals: numbers are always whole, and texts are cut in their middle where there is no room for all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from blendp.render.text import visible

_MIN_NAME = 9
"""Cells of a text that are always shown."""

_EASY_NAME = 14
"""Cells of a text below which columns move closer."""

_EVERYTHING = 1 << 20

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://(www\.)?([^/?#]+)(.*)", re.IGNORECASE | re.DOTALL)


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
    """The text within so many cells, its middle replaced by an ellipsis if need be; wide characters count two.

    Of an address the host stays longest: its scheme goes first, then its path is cut, then its ``www.`` goes.
    """
    if cell_len(text) <= width:
        return text
    address = _ADDRESS.fullmatch(text)
    if address is None:
        return _without_middle(text, width)
    www, host, path = address.groups(default="")
    for kept in (www + host, host):
        if cell_len(kept + path) <= width:
            return kept + path
        if cell_len(kept) < width:
            return f"{kept}…{_beginning(path[::-1], width - 1 - cell_len(kept))[::-1]}"
    return _without_middle(host, width)


def _without_middle(text: str, width: int) -> str:
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

    Where a terminal is too narrow, headings are wrapped first, then texts are cut, then columns move closer, then those
    with the headings ``droppable`` are left out, one after the other, and named. If that is not enough either, the
    table is wider than the terminal. The title has the width of the terminal. With ``names_above``, the texts of the
    first column stand in lines of their own, over the numbers, where there would be little room for them beside these.
    """

    def __init__(
        self,
        title: str | None = None,
        *,
        header_style: str = "bold",
        droppable: Sequence[str] = (),
        names_above: bool = False,
        **settings: Any,
    ) -> None:
        """Without frames."""
        super().__init__(header_style=header_style, **{"box": None, "pad_edge": False, **settings})
        self._heading, self._droppable, self._names_above = title, tuple(droppable), names_above

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give every column its width, then draw."""
        if self._heading is not None:
            yield Text(self._heading, style="table.title")
        if self._names_above and self._needed(console, _EASY_NAME, gap=1) > options.max_width:
            yield from self._stacked(console, options)
            return
        fitted = copy(self)
        left_out = fitted._fit(console, options.max_width)
        gaps = fitted._gap * max(len(fitted.columns) - 1, 0)
        widths = fitted._widths(console, options.max_width - gaps)
        fitted.columns = [
            replace(column, width=width, _index=i)
            for i, (column, width) in enumerate(zip(fitted.columns, widths, strict=True))
        ]
        room = options.update(width=max(options.max_width, sum(widths) + gaps))
        yield from super(FigureTable, fitted).__rich_console__(console, room)
        if left_out:
            names_left_out = ", ".join(" ".join(name.split()) for name in left_out)
            yield Text(f"Left out, for want of room: {names_left_out}.", style="dim")

    def _stacked(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Every name in a line of its own, with its numbers below it."""
        numbers = copy(self)
        numbers._heading, numbers._names_above = None, False
        first, *numbers.columns = self.columns
        room = max(options.max_width, numbers._needed(console, _MIN_NAME, gap=1))
        lines = console.render_lines(numbers, options.update(width=room), pad=False)
        headings = len(lines) - len(self.rows)
        for i, line in enumerate(lines):
            if i >= headings:
                yield Text(str(first._cells[i - headings]))
            yield from (*line, Segment.line())

    @property
    def _gap(self) -> int:
        """Cells between two columns."""
        return 1 if self.collapse_padding else 2

    def _fit(self, console: Console, room: int) -> list[str]:
        """Move columns closer and leave some out until the others have room; returns the headings of those."""
        self.collapse_padding = not self._fits(console, room, _EASY_NAME)
        left_out: list[str] = []
        for name in self._droppable:
            if self._fits(console, room, _MIN_NAME):
                break
            left_out.append(name)
            self.columns = [column for column in self.columns if column.header != name]
        return left_out

    def _fits(self, console: Console, room: int, min_name: int) -> bool:
        """Whether the columns have room, with so many cells of every text."""
        return self._needed(console, min_name, self._gap) <= room

    def _needed(self, console: Console, min_name: int, gap: int) -> int:
        """The room that the columns need, with so many cells of every text and between two columns."""
        widths = zip(self.columns, self._natural(console), strict=True)
        fewest = sum(_fewest(console, column, whole, min_name) for column, whole in widths)
        return fewest + gap * max(len(self.columns) - 1, 0)

    def _natural(self, console: Console) -> list[int]:
        """How wide every column is where there is room."""
        return [max(_widest(console, [column.header]), _widest(console, column.cells)) for column in self.columns]

    def _widths(self, console: Console, room: int) -> list[int]:
        natural = self._natural(console)
        if sum(natural) <= room:
            return natural
        widths = [
            _fewest(console, column, whole, _MIN_NAME) for column, whole in zip(self.columns, natural, strict=True)
        ]
        left = room - sum(widths)
        while left > 0:
            open_columns = [i for i, width in enumerate(widths) if width < natural[i]]
            narrow = min(open_columns, key=lambda i: (self.columns[i].justify == "right", widths[i]))
            widths[narrow] += 1
            left -= 1
        return widths


def _fewest(console: Console, column: Column, whole: int, min_name: int) -> int:
    """The width below which a column says less than it must."""
    parts = str(column.header).splitlines() if column.no_wrap else str(column.header).split()
    heading = max(map(cell_len, parts), default=0)
    if column.justify == "right" or column.no_wrap:
        return max(heading, _widest(console, column.cells))
    return max(heading, min(whole, min_name))


def _widest(console: Console, cells: Any) -> int:
    options = console.options.update(width=_EVERYTHING)
    return max((Measurement.get(console, options, cell).maximum for cell in cells), default=0)


def names(texts: Sequence[str | None]) -> list[Name]:
    """One for each text, empty for those that are missing."""
    return [Name(text or "") for text in texts]
