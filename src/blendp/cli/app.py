"""The ``blendp`` command: its sub-commands and its own options."""

from __future__ import annotations

import typer

from blendp._version import __version__
from blendp.cli.lazy_group import lazy_group
from blendp.cli.table import COMMANDS, GROUPS

app = typer.Typer(
    name="blendp",
    cls=lazy_group("blendp.cli", COMMANDS),
    help="Learn what is popular without learning what any person did.\n\n"
    "A few people trust the curator (opt-in); everybody else randomises before sending (clients); "
    "both estimates are blended.",
    epilog="Exit codes: 0 done, 2 parameter, 3 log, 4 output exists, 5 disk, memory, network or system, "
    "6 refused by a collector, 7 done, but the list is empty, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for name, group in GROUPS.items():
    app.add_typer(
        typer.Typer(
            name=name,
            cls=lazy_group(f"blendp.cli.{name}", group.commands),
            help=group.help,
            no_args_is_help=True,
            rich_markup_mode="markdown",
        )
    )


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"blendp {__version__}")
        raise typer.Exit


@app.callback()
def _blendp(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Learn what is popular without learning what any person did."""
