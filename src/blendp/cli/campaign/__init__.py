"""``blendp campaign``: what operators do with a collector, from anywhere."""

from __future__ import annotations

import typer

from blendp.cli.campaign import audit, create, delete, enrol, export, list, publish, release, status

COMMANDS = {
    "list": list,
    "create": create,
    "enrol": enrol,
    "publish": publish,
    "status": status,
    "release": release,
    "export": export,
    "delete": delete,
    "audit": audit,
}

app = typer.Typer(
    name="campaign",
    help="Run campaigns on a collector: list, create, enrol, publish, release, export, delete, audit.\n\n"
    "Opt-in people send their records first; the list that they make is published, and clients report about it; the "
    "result of both is released. The operator's token comes from the environment variable BLENDP_TOKEN or from "
    "--token-file.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
