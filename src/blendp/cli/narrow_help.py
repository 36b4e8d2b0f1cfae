"""Help pages for narrow terminals: every name stands whole on a line of its own, what it means below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

MIN_COLUMNS = 80
"""The width from which on names and their meaning stand side by side; below it, names would be cut."""

_UNDER, _FURTHER = 2, 6
"""How far names are indented, and what stands below them."""


def is_narrow() -> bool:
    """Whether names and their meaning do not fit side by side."""
    return Console().width < MIN_COLUMNS


def print_narrow_help(command: Any, context: Any) -> None:
    """Print usage, what the command is for, its options by panel, its commands if it is a group, and its examples."""
    console = Console(highlight=False)
    usage = [context.command_path, *command.collect_usage_pieces(context)]
    _print(console, Text.assemble(("Usage: ", "bold yellow"), (" ".join(usage), "bold")))
    for paragraph in _paragraphs(command.help or ""):
        console.print()
        _print(console, Text(paragraph))
    for title, entries in _sections(command, context):
        console.print()
        _print(console, Text(title, "bold"))
        for name, meaning in entries:
            _print(console, Text(name, "bold cyan"), _UNDER)
            _print(console, Text(meaning), _FURTHER)
    if command.epilog:
        console.print()
        for paragraph in _paragraphs(command.epilog):
            further = "    " if paragraph.startswith("- ") else ""
            lines = wrap(paragraph.replace("`", ""), console.width, subsequent_indent=further, break_on_hyphens=False)
            console.print(Text("\n".join(lines)))


def _print(console: Console, text: Text, indented: int = 0) -> None:
    """Wrap between words; a word that is wider than the terminal goes on in the next line."""
    text.overflow = "fold"
    console.print(Padding(text, (0, 0, 0, indented), expand=False))


def _sections(command: Any, context: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A title, and every name of that panel with its meaning."""
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None:
            usual = "Arguments" if param.param_type_name == "argument" else "Options"
            title = getattr(param, "rich_help_panel", None) or usual
            panels.setdefault(title, []).append((record[0].strip(), record[1]))
    yield from ((title, entries) for title, entries in panels.items() if entries)
    if hasattr(command, "list_commands"):
        listed = [command.get_command(context, name) for name in command.list_commands(context)]
        yield "Commands", [(one.name, one.help.split("\n\n")[0]) for one in listed if not one.hidden]


def _paragraphs(text: str) -> Iterable[str]:
    """Paragraphs without their line breaks; every point of a list is one."""
    for paragraph in text.strip().replace("\n- ", "\n\n- ").split("\n\n"):
        if paragraph.strip():
            yield " ".join(paragraph.split())
