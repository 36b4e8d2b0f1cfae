"""``blendp token``: who may operate a collector."""

from __future__ import annotations

import typer

from blendp.cli.token import create, list, revoke

COMMANDS = {"create": create, "list": list, "revoke": revoke}

app = typer.Typer(
    name="token",
    help="Make, list and revoke the tokens of operators.\n\n"
    "Works on the collector's store, on the machine that can reach it, also while the collector runs. The store knows "
    "hashes alone: a token is shown once.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
