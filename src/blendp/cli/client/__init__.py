"""``blendp client``: a person's own device, from the command line."""

from __future__ import annotations

import typer

from blendp.cli.client import consent, enrol, explain, forget, ledger, list, look, send, show, take_part

COMMANDS = {
    "consent": consent,
    "list": list,
    "look": look,
    "take-part": take_part,
    "enrol": enrol,
    "send": send,
    "forget": forget,
    "explain": explain,
    "ledger": ledger,
    "show": show,
}
"""By the names of the commands; the function of each is the name with underscores."""

app = typer.Typer(
    name="client",
    help="Take part in campaigns from this device, and see what it sends.\n\n"
    "Nothing is made or sent before consent. Reports are randomised here, once, and written down with their cost "
    "before they are sent; what all campaigns cost together has a cap for a year and one for life.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
