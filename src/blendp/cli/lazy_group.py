"""Commands as Typer makes them, with plainer pages; a group lists its own by the table, and imports one when used."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, cast

import typer
from typer.core import TyperCommand, TyperGroup

from blendp.cli.choices import completion
from blendp.cli.light_values import lighten
from blendp.cli.table import RENAMED
from blendp.errors import require_choice

_TYPES = {"int": "NUMBER", "float": "NUMBER", "Path": "PATH", "list[Path]": "PATH"}
"""What people are told of a type of Python; everything else is text."""


FILTER_OPTIONS = ("--where", "--since", "--until", "--time-column")
"""What commands that read a log know, and those of surveys do not."""

NO_FILTER = (
    "surveys have no filter, since everybody in a table of answers answers, and who is counted must not depend on "
    "answers. Name a table of the people whom you ask."
)

_FIRST_TAB = '[ "$funcstack[1]" = _%(prog_name)s ] && %(complete_func)s "$@"'
"""The last line of zsh's script, where a tab has loaded it."""

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
COMPLETION_OPTIONS = {
    "--install-completion": "Install completion for the current shell, or for the one that is named.",
    "--show-completion": "Show what that would install, for the current shell or for the one that is named.",
}
"""Typer's own options, in our words."""


class PlainCommand(TyperCommand):
    """A command whose page says ``PATH`` or ``NUMBER``, not a type of Python, and nothing of flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments."""
        params = plainly(super().get_params(ctx))
        for param in params:
            lighten(param)
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; an option that only other commands have is refused with the reason."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # Typer does not export what it raises for an option that it does not know
            unknown: Any = error
            if ctx.command_path.split()[-2:-1] == ["survey"] and getattr(error, "option_name", None) in FILTER_OPTIONS:
                unknown.message = f"{unknown.option_name} is not allowed: {NO_FILTER}"
                unknown.possibilities = None
            raise

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The options that go on like this. Rich would take ``[spark]`` for markup."""
        describe_plainly()
        return with_apostrophes(super().shell_complete(ctx, incomplete))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page; Typer would cut names on a narrow terminal."""
        from blendp.cli.narrow_help import is_narrow, print_narrow_help

        if is_narrow():
            print_narrow_help(self, ctx)
        else:
            super().format_help(ctx, formatter)


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
        params: list[Any] = list(super().get_params(ctx))
        for flag in params:
            flag.default = bool(flag.default)
            flag.help = COMPLETION_OPTIONS.get(flag.opts[0], flag.help)
        return plainly(params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line. A shell may be named after an option about completion, to Typer a mere flag."""
        option, shell = completion_asked(args)
        if option not in COMPLETION_OPTIONS:
            return super().parse_args(ctx, args)
        from typer.completion import install_callback, show_callback

        from blendp.cli.failures import explaining

        complete_at_once()
        with explaining():
            if shell is not None and ctx.parent is None and not ctx.resilient_parsing:
                require_choice(option, shell, SHELLS)
                (show_callback if option == "--show-completion" else install_callback)(ctx, cast(Any, None), shell)
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is going to be used, so it is loaded; former names are understood, and ``help``."""
        if args and args[0] == "help":
            if len(args) == 1:
                typer.echo(ctx.get_help(), nl=False)
                ctx.exit()
            args = [*args[1:], "--help"]
        if args and args[0] in RENAMED and RENAMED[args[0]] in self.lines:
            if not ctx.resilient_parsing:
                path = ctx.command_path
                typer.echo(f"{path} {args[0]} is now called {path} {RENAMED[args[0]]}, which does the same.", err=True)
            args = [RENAMED[args[0]], *args[1:]]
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and self.load(cast(str, command.name)), rest

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The names that go on like this. Shells show plain text: Typer need not load Rich to write it."""
        describe_plainly()
        return with_apostrophes(super().shell_complete(ctx, incomplete))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Print the page."""
        from blendp.cli.group_help import print_help
        from blendp.cli.narrow_help import is_narrow, print_narrow_help

        (print_narrow_help if is_narrow() else print_help)(self, ctx)


def describe_plainly() -> None:
    """Give shells descriptions as they are written: Typer would load Rich to take markup out, and there is none."""
    completions: Any = import_module("typer._completion_classes")
    if hasattr(completions, "_sanitize_help_text"):
        completions._sanitize_help_text = str


def with_apostrophes(items: list[Any]) -> list[Any]:
    """The same items, apostrophes as printers set them: Typer writes straight ones so that zsh loses them."""
    for item in items:
        item.help = item.help and item.help.replace("'", "’")
    return items


def complete_at_once() -> None:
    """Let zsh complete at the first tab, which loads Typer's script: that would only define a function."""
    scripts: Any = import_module("typer._completion_shared")
    known = getattr(scripts, "_completion_scripts", {})
    if "zsh" in known and _FIRST_TAB not in known["zsh"]:
        known["zsh"] = f"{known['zsh'].rstrip()}\n{_FIRST_TAB}\n"


def completion_asked(args: list[str]) -> tuple[str, str | None]:
    """The option about completion that comes first, and the shell that is named with it; None if there is none."""
    option, equals, shell = (args[0] if args else "").partition("=")
    if option not in COMPLETION_OPTIONS:
        return option, None
    if equals:
        return option, shell
    return option, args[1] if len(args) > 1 and not args[1].startswith("-") else None


def lazy_group(package: str, lines: Mapping[str, str]) -> type[LazyGroup]:
    """The class of a group of these commands, for Typer to make it with options of its own."""
    return type("LazyGroup", (LazyGroup,), {"package": package, "lines": lines})


def plainly(params: list[Any]) -> list[Any]:
    """The same parameters, their types named for people; an argument is named by what it is already."""
    for param in params:
        if param.param_type_name == "argument":
            param.display_type_rich = lambda ctx: ""  # noqa: ARG005 - Typer's signature
        elif param.metavar is None:
            param.metavar = "" if param.is_flag else _TYPES.get(param.bare_type(), "TEXT")
    return params


def _import_command(package: str, name: str) -> Any:
    from blendp.cli.failures import explained, explaining

    function = name.replace("-", "_")
    with explaining():
        module = import_module(f"{package}.{function}")
        if not gc.isenabled():  # the command line's own doing: what is loaded stays, and is never looked through
            gc.freeze()
            gc.enable()
    command = explained(getattr(module, function))
    _complete(command, f"{package} {name}".removeprefix("blendp.cli").lstrip(".").lstrip())
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(name, cls=PlainCommand, epilog=module.EXAMPLES)(command)
    return typer.main.get_command(alone)


def _complete(command: Any, path: str) -> None:
    """Let shells complete the values of this command's parameters."""
    signature = inspect.signature(command, eval_str=True)
    for name, parameter in signature.parameters.items():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            info.autocompletion = completion(path, name)
    command.__signature__ = signature  # else Typer would read the annotations anew
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
