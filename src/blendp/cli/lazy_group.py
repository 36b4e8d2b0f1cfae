"""A group of commands that lists them by the table, and imports one when it is used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, cast

import typer
from typer.core import TyperCommand, TyperGroup

from blendp.cli.table import RENAMED


class LazyGroup(TyperGroup):
    """Commands of one package, each in a module of its name."""

    package: ClassVar[str]
    lines: ClassVar[Mapping[str, str]]

    def __init__(self, **settings: Any) -> None:
        """List every command by its line in the table; what Typer made already (groups) comes after."""
        listed = {name: TyperCommand(name, help=line) for name, line in self.lines.items()}
        super().__init__(**{**settings, "commands": {**listed, **(settings.get("commands") or {})}})
        self._loaded = set(self.commands) - set(listed)

    def load(self, name: str) -> Any:
        """The command of this name, imported if need be."""
        if name not in self._loaded:
            self.commands[name] = _import_command(self.package, name)
            self._loaded.add(name)
        return self.commands[name]

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options, all flags. Typer's own have no default, for which it would load a library of types."""
        params = super().get_params(ctx)
        for flag in params:
            flag.default = bool(flag.default)
        return params

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is going to be used, so it is loaded; former names are understood."""
        if args and args[0] in RENAMED and RENAMED[args[0]] in self.lines:
            if not ctx.resilient_parsing:
                path = ctx.command_path
                typer.echo(f"{path} {args[0]} is now called {path} {RENAMED[args[0]]}, which does the same.", err=True)
            args = [RENAMED[args[0]], *args[1:]]
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and self.load(cast(str, command.name)), rest

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The names that go on like this. Shells show plain text: Typer need not load Rich to write it."""
        sys.modules.setdefault("rich", cast(ModuleType, None))
        return super().shell_complete(ctx, incomplete)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Print the page."""
        from blendp.cli.group_help import print_help

        print_help(self, ctx)


def lazy_group(package: str, lines: Mapping[str, str]) -> type[LazyGroup]:
    """The class of a group of these commands, for Typer to make it with options of its own."""
    return type("LazyGroup", (LazyGroup,), {"package": package, "lines": lines})


def _import_command(package: str, name: str) -> Any:
    from blendp.cli.failures import explained, explaining

    function = name.replace("-", "_")
    with explaining():
        module = import_module(f"{package}.{function}")
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(name, epilog=module.EXAMPLES)(explained(getattr(module, function)))
    return typer.main.get_command(alone)
