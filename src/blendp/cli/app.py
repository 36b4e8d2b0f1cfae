"""The ``blendp`` command: its sub-commands, and what its exit codes mean."""

from __future__ import annotations

import errno
import inspect
import sqlite3
from collections.abc import Callable, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import duckdb
import typer

from blendp._version import __version__
from blendp.cli import (
    BAD_LOG,
    BAD_PARAMETER,
    INTERRUPTED,
    OUTPUT_EXISTS,
    REFUSED,
    SYSTEM,
    backup,
    campaign,
    client,
    clock,
    demo,
    evaluate,
    key,
    plan,
    reproduce,
    restore,
    run,
    serve,
    simulate,
    survey,
    tally,
    token,
)
from blendp.cli.console import errors
from blendp.cli.options import NoSuchFileError
from blendp.client import RefusedError
from blendp.engines.database import failed
from blendp.errors import EngineError, LogError, OutputExistsError, ParameterError
from blendp.service.operator_client import OperatorError
from blendp.service.refusal import Refused
from blendp.wire.envelope import SignatureError
from blendp.wire.problems import RETRYABLE

_FAILURES = (
    ParameterError,
    LogError,
    EngineError,
    OSError,
    duckdb.Error,
    sqlite3.Error,
    MemoryError,
    OperatorError,
    Refused,
    SignatureError,
    RefusedError,
)
_BAD_REQUEST = (400, 413, 415, 422)
_ALIASES = {
    "path": "out",
    "cap epsilon": "lower_cap",
    "cap delta": "lower_delta",
    "yearly epsilon": "lower_year",
    "yearly delta": "lower_year_delta",
}
"""Options that set a parameter of another name, where there is none of its own."""

app = typer.Typer(
    name="blendp",
    help="Learn what is popular without learning what any person did.\n\n"
    "A few people trust the curator (opt-in); everybody else randomises before sending (clients); "
    "both estimates are blended.",
    epilog="Exit codes: 0 done, 2 parameter, 3 log, 4 output exists, 5 disk, memory, network or system, "
    "6 refused by a collector, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _explained(command: Callable[..., None]) -> Callable[..., None]:
    """Turn every foreseeable failure of a command into one sentence and an exit code of its own."""

    options_of_command = set(inspect.signature(command).parameters) - {"name", "logs", "data", "campaign"}

    @wraps(command)
    def explained(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (KeyboardInterrupt, duckdb.InterruptException):
            raise _interrupted() from None
        except _FAILURES as raised:
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
        name = _flag(error.parameter, options)
        if isinstance(error, NoSuchFileError):
            return f"{error.value} does not exist ({name})."
        if error.value is None and f"{error.legal} ".startswith("given "):
            return f"{name} is missing: it must be {error.legal}. {error.remedy}"
        return str(error).replace(error.parameter, name, 1)
    if isinstance(error, OperatorError) and error.slug == "invalid-parameter":
        parameter, equals, rest = error.detail.partition(" = ")
        return f"{_flag(parameter, options)}{equals}{rest}"
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror.rpartition("] ")[2]
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what += ", so free some or name another place"
        return f"{error.filename or 'the system'}: {what}. Nothing was left half-written."
    cause = error if isinstance(error, sqlite3.Error) else getattr(error.__cause__, "orig", None)
    if cause is not None and isinstance(error, Refused | sqlite3.Error):
        said = str(cause).strip() or type(cause).__name__
        return f"The database cannot be used: {said.splitlines()[0]}."
    return str(error)


def _flag(parameter: str, options: set[str]) -> str:
    """A parameter's name on the command line, if it has one there."""
    option = parameter if parameter in options else _ALIASES.get(parameter, parameter)
    return f"--{option.replace('_', '-')}" if option in options else parameter


def _code(error: Exception) -> int:
    if isinstance(error, ParameterError):
        return BAD_PARAMETER
    if isinstance(error, LogError):
        return BAD_LOG
    if isinstance(error, SignatureError | RefusedError):
        return REFUSED
    if isinstance(error, OperatorError | Refused):
        return _code_of_status(error.status if isinstance(error, OperatorError) else error.problem.status)
    return OUTPUT_EXISTS if isinstance(error, OutputExistsError) else SYSTEM


def _code_of_status(status: int) -> int:
    if status in _BAD_REQUEST:
        return BAD_PARAMETER
    return SYSTEM if status in RETRYABLE else REFUSED


def _add(group: typer.Typer, commands: Mapping[str, ModuleType]) -> None:
    for name, module in commands.items():
        group.command(name, epilog=module.EXAMPLES)(_explained(getattr(module, name.replace("-", "_"))))


_add(
    app,
    {
        "demo": demo,
        "simulate": simulate,
        "run": run,
        "evaluate": evaluate,
        "plan": plan,
        "reproduce": reproduce,
        "tally": tally,
        "serve": serve,
        "backup": backup,
        "restore": restore,
    },
)
for group in (survey, campaign, clock, token, key, client):
    _add(group.app, group.COMMANDS)
    app.add_typer(group.app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"blendp {__version__}")
        raise typer.Exit


@app.callback()
def _blendp(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Learn what is popular without learning what any person did."""
