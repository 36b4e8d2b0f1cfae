"""The ``blendp`` command: its sub-commands, and what its exit codes mean."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import duckdb
import typer

from blendp._version import __version__
from blendp.cli import INTERRUPTED, demo, evaluate, plan, reproduce, run, simulate, tally
from blendp.cli.console import errors
from blendp.cli.survey import COMMANDS as SURVEY_COMMANDS
from blendp.cli.survey import app as survey_app
from blendp.engines.database import failed
from blendp.errors import EngineError, LogError, OutputExistsError, ParameterError

BAD_PARAMETER, BAD_LOG, OUTPUT_EXISTS, SYSTEM = 2, 3, 4, 5

app = typer.Typer(
    name="blendp",
    help="Learn what is popular without learning what any person did.\n\n"
    "A few people trust the curator (opt-in); everybody else randomises before sending (clients); "
    "both estimates are blended.",
    epilog="Exit codes: 0 done, 2 parameter, 3 log, 4 output exists, 5 disk, memory or system, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _explained(command: Callable[..., None]) -> Callable[..., None]:
    """Turn every foreseeable failure of a command into one sentence and an exit code of its own."""

    options_of_command = set(inspect.signature(command).parameters) - {"name", "logs", "data"}

    @wraps(command)
    def explained(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (KeyboardInterrupt, duckdb.InterruptException):
            raise _interrupted() from None
        except (ParameterError, LogError, EngineError, OSError, duckdb.Error, MemoryError) as raised:
            error = failed("the log", raised) if isinstance(raised, duckdb.Error | MemoryError) else raised
            errors.print(
                f"Error: {_sentence(error, options_of_command)}",
                style="red",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
            raise typer.Exit(_code(error)) from None
        except RuntimeError as error:
            # the database reports some interrupts as a RuntimeError
            if "interrupted" not in str(error).lower():
                raise
            raise _interrupted() from None

    return explained


def _interrupted() -> typer.Exit:
    errors.print("Interrupted: nothing was written.", style="yellow")
    return typer.Exit(INTERRUPTED)


def _sentence(error: Exception, options: set[str]) -> str:
    """What went wrong, in the words of the command line."""
    if isinstance(error, ParameterError):
        option = {"path": "out"}.get(error.parameter, error.parameter)
        if option in options:
            return str(error).replace(error.parameter, f"--{option.replace('_', '-')}", 1)
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror.rpartition("] ")[2]
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what += ", so free some or name another place"
        return f"{error.filename or 'the system'}: {what}. Nothing was left half-written."
    return str(error)


def _code(error: Exception) -> int:
    if isinstance(error, ParameterError):
        return BAD_PARAMETER
    if isinstance(error, LogError):
        return BAD_LOG
    return OUTPUT_EXISTS if isinstance(error, OutputExistsError) else SYSTEM


for name, module in {
    "demo": demo,
    "simulate": simulate,
    "run": run,
    "evaluate": evaluate,
    "plan": plan,
    "reproduce": reproduce,
    "tally": tally,
}.items():
    app.command(name, epilog=module.EXAMPLES)(_explained(getattr(module, name)))

for name, module in SURVEY_COMMANDS.items():
    survey_app.command(name, epilog=module.EXAMPLES)(_explained(getattr(module, name)))
app.add_typer(survey_app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"blendp {__version__}")
        raise typer.Exit


@app.callback()
def _blendp(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Learn what is popular without learning what any person did."""
