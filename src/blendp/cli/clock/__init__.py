"""``blendp clock``: whether a collector trusts its clock."""

from __future__ import annotations

import typer

from blendp.cli.clock import accept, show

COMMANDS = {"show": show, "accept": accept}

app = typer.Typer(
    name="clock",
    help="Show the day that a collector goes by, and confirm it where it is in doubt.\n\n"
    "A clock that jumped could have reports refused, campaigns deleted and keys destroyed before their time, so a "
    "collector does none of that until the clock is set right, or an operator says that it is.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
