"""``blendp key``: what a collector signs with."""

from __future__ import annotations

import typer

from blendp.cli.key import list, rotate

COMMANDS = {"list": list, "rotate": rotate}

app = typer.Typer(
    name="key",
    help="Show and replace the keys that a collector signs its documents with.\n\n"
    "Works on the collector's store, on the machine that can reach it, also while the collector runs.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
