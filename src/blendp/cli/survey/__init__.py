"""``blendp survey``: frequencies of answers that hang together, from people of whom a few trust the curator."""

from __future__ import annotations

import typer

from blendp.cli.survey import evaluate, plan, run

COMMANDS = {"plan": plan, "run": run, "evaluate": evaluate}

app = typer.Typer(
    name="survey",
    help="Learn how people answer several questions without learning what any person answered.\n\n"
    "A few people trust the curator (opt-in) and show how answers hang together; everybody else randomises answers "
    "before sending them (clients), only as strongly as that requires; both estimates are blended.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
