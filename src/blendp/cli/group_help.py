"""The help page of a group, as Typer would print it, without the Markdown reader that Typer would load for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text


def print_help(group: Any, context: Any) -> None:
    """Print usage, what the group is for, its options, its commands, and what stands at the end."""
    console = Console(highlight=False)
    usage = Text(group.get_usage(context))
    usage.highlight_words(["Usage: "], "yellow")
    console.print(Padding(usage, 1), style="bold")
    first, *rest = (group.help or "").split("\n\n")
    console.print(Padding(Group(*_paragraphs(first, rest)), (0, 1, 1, 1)))
    options = [_option_row(one, context) for one in group.get_params(context) if not getattr(one, "hidden", False)]
    console.print(_panel("Options", options))
    listed = [group.get_command(context, name) for name in group.list_commands(context)]
    rows = [(Text(one.name, "bold cyan"), one.help.split("\n\n")[0]) for one in listed if not one.hidden]
    console.print(_panel("Commands", rows))
    if group.epilog:
        console.print(Padding(group.epilog, 1), markup=False)


def _paragraphs(first: str, rest: Iterable[str]) -> Iterable[Text]:
    return Text(first), *chain.from_iterable((Text(), Text(paragraph, "dim")) for paragraph in rest)


def _option_row(option: Any, context: Any) -> tuple[RenderableType, ...]:
    kind = Text(option.display_type_rich(ctx=context), "bold yellow")
    return Text(",".join(option.opts), "bold cyan"), "", "", "", kind, Text(option.help)


def _panel(title: str, rows: Sequence[tuple[RenderableType, ...]]) -> Panel:
    """A table in a frame, whose last column takes the room that the others leave."""
    table = Table(show_header=False, expand=True, box=None, pad_edge=False, padding=(0, 1))
    for _ in rows[0][:-1]:
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return Panel(table, border_style="dim", title=title, title_align="left")
