"""How messages write options, and numbers of things.

An option is written as whoever reads the message does: ``--encoding cp1252`` for a command, ``encoding="cp1252"`` else.
Messages name options by :func:`option`. The command line says once that it is in use (:func:`on_command_line`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_SWITCHES = {
    "header": ("--no-header", "header=False"),
    "quotes": ("--no-quotes", "quotes=False"),
    "overwrite": ("--overwrite", "overwrite=True"),
}
"""Options that have one value to give."""

_FLAGS = {
    "names": "--columns",
    "columns.levels": "--levels",
    **{f"columns.{role}": f"--{role.replace('_', '-')}-column" for role in ("user", "query", "url", "opt_in")},
}
"""Options that are not called like their keyword."""

_PLAIN = re.compile(r"[\w.,:/+-]+")
_commands: list[bool] = []
"""One entry for each command that is running. Its threads read it too, as they would not a context variable."""


@contextmanager
def on_command_line() -> Iterator[None]:
    """Options are written as commands take them, until this is left."""
    _commands.append(True)
    try:
        yield
    finally:
        _commands.pop()


def option(name: str, *values: str | float | Sequence[str]) -> str:
    """An option by its keyword, with the value to give it, or several to choose from.

    ``columns.user`` is the field of :class:`~blendp.logs.Columns`.
    """
    if name in _SWITCHES:
        return _SWITCHES[name][0 if _commands else 1]
    if _commands:
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        return " ".join([flag, *([" or ".join(map(_argument, values))] if values else [])])
    keyword = f"{name}={' or '.join(map(_literal, values)) or '...'}"
    return f"columns=Columns({keyword.removeprefix('columns.')})" if name.startswith("columns.") else keyword


def nothing() -> str:
    """What stands for no number: None in Python, 0 in a command."""
    return "0" if _commands else "None"


def _argument(value: str | float | Sequence[str]) -> str:
    """A value as a shell takes it."""
    if not isinstance(value, str):
        return ",".join(map(_argument, value)) if isinstance(value, Sequence) else str(value)
    return "tab" if value == "\t" else value if _PLAIN.fullmatch(value) else f"'{value}'"


def _literal(value: str | float | Sequence[str]) -> str:
    """A value as Python takes it."""
    if not isinstance(value, str):
        return f"[{', '.join(map(_literal, value))}]" if isinstance(value, Sequence) else str(value)
    return json.dumps(value, ensure_ascii=False)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and what is counted; several are called by the name of one and an s, unless it is said how."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
