"""What went wrong, in one sentence and with an exit code of its own."""

from __future__ import annotations

import errno
import inspect
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from blendp.cli import BAD_LOG, BAD_PARAMETER, INTERRUPTED, OUTPUT_EXISTS, REFUSED, SYSTEM
from blendp.cli.interrupts import heeded
from blendp.cli.lost_output import tell_lost
from blendp.errors import DocumentError, EngineError, LogError, OutputExistsError, ParameterError
from blendp.meanwhile import settle
from blendp.spelling import on_command_line

_DATABASE = ("duckdb", "Error")
_INTERRUPT = ("duckdb", "InterruptException")
_SQLITE = ("sqlite3", "Error")
_OPERATOR = ("blendp.service.operator_client", "OperatorError")
_REFUSED = ("blendp.service.refusal", "Refused")
_SIGNATURE = ("blendp.wire.envelope", "SignatureError")
_DEVICE = ("blendp.client.refusals", "RefusedError")

FORESEEN_ELSEWHERE = (_DATABASE, _INTERRUPT, _SQLITE, _OPERATOR, _REFUSED, _SIGNATURE, _DEVICE)
"""Failures of modules that not every command loads: what was never imported was never raised."""

SERVER_PACKAGES = frozenset(
    {"alembic", "argon2", "httptools", "prometheus_client", "psycopg", "sqlalchemy", "starlette", "uvicorn", "uvloop"}
)
"""What a collector needs and others do not: the extra ``server``."""

_BAD_REQUEST = (400, 413, 415, 422)
_ARGUMENTS = frozenset({"name", "logs", "data", "campaign", "release", "index"})
"""What is given by its position."""

_ALIASES = {
    "path": "out",
    "names": "columns",
    "header": "no_header",
    **{f"columns.{role}": f"{role}_column" for role in ("user", "query", "url", "opt_in")},
    "cap epsilon": "lower_cap",
    "cap delta": "lower_delta",
    "yearly epsilon": "lower_year",
    "yearly delta": "lower_year_delta",
}
"""Options that set a parameter of another name, where there is none of its own."""


class NoSuchFileError(ParameterError):
    """A file that was named and does not exist."""

    def __init__(self, parameter: str, path: Path) -> None:
        """Say which."""
        super().__init__(parameter, str(path), "a file that exists", "Name another.")


class WrongContentError(ParameterError):
    """A file that was named and has something wrong in it."""

    def __init__(self, parameter: str, path: Path, error: ParameterError, remedy: str | None) -> None:
        """Say which, and what is wrong."""
        super().__init__(parameter, str(path), error.legal, error.remedy if remedy is None else remedy)
        self.error = error

    def sentence(self, name: str) -> str:
        """What is wrong with the file that the option of this name names."""
        if isinstance(self.error, DocumentError):
            return self.error.sentence(f"{self.value} ({name})", self.remedy)
        return f"{self.value} ({name}): {self.error}"


@contextmanager
def about_file(parameter: str, path: Path, remedy: str | None = None) -> Iterator[None]:
    """Let what is wrong in a file be told with its name; the remedy is that of the error if none is said."""
    try:
        yield
    except ParameterError as error:
        raise WrongContentError(parameter, path, error, remedy) from error


def explained(command: Callable[..., None]) -> Callable[..., None]:
    """Turn every foreseeable failure of a command into one sentence and an exit code of its own."""
    options_of_command = set(inspect.signature(command).parameters) - _ARGUMENTS

    @wraps(command)
    def command_explained(*arguments: Any, **options: Any) -> None:
        with explaining(options_of_command):
            command(*arguments, **options)

    return command_explained


@contextmanager
def explaining(options: Collection[str] = ()) -> Iterator[None]:
    """Turn every foreseeable failure into one sentence, in the terms of these options, and an exit code."""
    with on_command_line():
        try:
            yield
        except KeyboardInterrupt:
            raise _interrupted() from None
        except Exception as error:
            if _is_interrupt(error):
                raise _interrupted() from None
            settle()
            if (code := tell_lost(error)) is not None:
                raise typer.Exit(code) from None
            if not _foreseen(error):
                raise
            raise _told(error, options) from None


def _is(error: BaseException, *kinds: tuple[str, str]) -> bool:
    return any(isinstance(error, getattr(sys.modules[home], name)) for home, name in kinds if home in sys.modules)


def _is_interrupt(error: Exception) -> bool:
    """Whether the database was interrupted: it reports some as a RuntimeError, and while it is loaded as another."""
    if isinstance(error, ImportError) and isinstance(error.__cause__, KeyboardInterrupt):
        return True
    unforeseen = isinstance(error, RuntimeError) and not _foreseen(error)
    return _is(error, _INTERRUPT) or (unforeseen and "interrupted" in str(error).lower())


def _foreseen(error: Exception) -> bool:
    everywhere = (ParameterError, LogError, EngineError, OSError, MemoryError)
    return isinstance(error, everywhere) or _lacks_server(error) or _is(error, *FORESEEN_ELSEWHERE)


def _lacks_server(error: Exception) -> bool:
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in SERVER_PACKAGES


def require_server() -> None:
    """Fail as an import would, where something that a collector needs is not installed."""
    for name in sorted(SERVER_PACKAGES):
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _interrupted() -> typer.Exit:
    heeded()
    from blendp.cli.console import errors

    errors.print("Interrupted: nothing was written.", style="yellow")
    return typer.Exit(INTERRUPTED)


def _told(error: Exception, options: Collection[str]) -> typer.Exit:
    """Print the sentence; the exit that follows."""
    from blendp.cli.console import errors
    from blendp.render.text import visible

    if isinstance(error, MemoryError) or _is(error, _DATABASE):
        from blendp.engines.database import failed

        error = failed("the log", error)
    sentence = "\n".join(map(visible, f"Error: {_sentence(error, options)}".split("\n")))
    errors.print(sentence, style="red", markup=False, highlight=False, soft_wrap=True)
    for line in getattr(error, "__notes__", ()):
        errors.print(f"  {line}", style="dim", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(_code(error))


def _sentence(error: Any, options: Collection[str]) -> str:
    """What went wrong, in the terms of the command line."""
    if isinstance(error, ParameterError):
        return _sentence_of_parameter(error, _flag(error.parameter, options))
    if _lacks_server(error):
        return f'This needs what a collector needs ({error.name} is not installed): pip install "blendp[server]"'
    if _is(error, _OPERATOR) and error.slug == "invalid-parameter":
        parameter, equals, rest = error.detail.partition(" = ")
        return f"{_flag(parameter, options)}{equals}{rest}"
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror.rpartition("] ")[2]
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what += ", so free some or name another place"
        return f"{error.filename or 'the system'}: {what}. Nothing was left half-written."
    cause = error if _is(error, _SQLITE) else getattr(error.__cause__, "orig", None)
    if cause is not None and _is(error, _REFUSED, _SQLITE):
        said = str(cause).strip() or type(cause).__name__
        return f"The database cannot be used: {said.splitlines()[0]}."
    return str(error)


def _sentence_of_parameter(error: ParameterError, name: str) -> str:
    if isinstance(error, NoSuchFileError):
        what = "is a folder, not a file" if Path(str(error.value)).is_dir() else "does not exist"
        return f"{error.value} {what} ({name})."
    if isinstance(error, WrongContentError):
        return error.sentence(name)
    if error.value is None and f"{error.legal} ".startswith(("given ", "given,")):
        return f"{name} is missing: it must be {error.legal}. {error.remedy}"
    return str(error).replace(error.parameter, name, 1)


def _flag(parameter: str, options: Collection[str]) -> str:
    """A parameter's name on the command line, if it has one there."""
    option = parameter if parameter in options else _ALIASES.get(parameter, parameter)
    return f"--{option.replace('_', '-')}" if option in options else parameter


def _code(error: Any) -> int:
    if isinstance(error, ParameterError):
        return BAD_PARAMETER
    if isinstance(error, LogError):
        return BAD_LOG
    if _is(error, _SIGNATURE, _DEVICE):
        return REFUSED
    if _is(error, _OPERATOR, _REFUSED):
        return _code_of_status(error.status if _is(error, _OPERATOR) else error.problem.status)
    return OUTPUT_EXISTS if isinstance(error, OutputExistsError) else SYSTEM


def _code_of_status(status: int) -> int:
    from blendp.wire.problems import RETRYABLE

    if status in _BAD_REQUEST:
        return BAD_PARAMETER
    return SYSTEM if status in RETRYABLE else REFUSED
