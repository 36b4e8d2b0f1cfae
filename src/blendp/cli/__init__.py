"""The command line: one file a command, thin."""

from __future__ import annotations

import gc
import os
import sys
from io import TextIOWrapper
from typing import NoReturn

from blendp._version import __version__
from blendp.cli.interrupts import heed, heeded
from blendp.cli.leaving import leave
from blendp.cli.lost_output import open_missing, tell_lost, unwritten

BAD_PARAMETER, BAD_LOG, OUTPUT_EXISTS, SYSTEM, REFUSED, EMPTY = 2, 3, 4, 5, 6, 7
INTERRUPTED = 130

SWITCH_SECONDS = 0.0005
"""How long a thread keeps others waiting: one that loads modules must not hold up the one that asks the database."""


def command() -> None:
    """Run the command as a process of its own, and end that."""
    code: int | None = 0
    try:
        main()
    except SystemExit as end:
        if not (end.code is None or isinstance(end.code, int)):
            raise
        code = end.code or 0
    except OSError as error:  # a command tells its own failures: this is of a page of help, or the like
        code = tell_lost(error, surely=True)
        if code is None:
            raise
    if (failure := unwritten(sys.stdout)) is not None:
        code = tell_lost(failure, surely=True)
    leave(code or 0)
    sys.exit(code)


def main() -> None:
    """Run the command. An interrupt at any moment, also while modules load, ends it in one sentence."""
    open_missing()
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"blendp {__version__}\n")
        return
    gc.disable()  # until everything is loaded, nothing is garbage
    sys.setswitchinterval(SWITCH_SECONDS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small here, and idle threads would spin
    sys.meta_path.insert(0, PandasHidden())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="backslashreplace")  # for terminals that do not know a letter
    heed()
    try:
        _run()
    except KeyboardInterrupt:  # the interrupt was asked for again just when it was being heeded
        _end_interrupted()
    finally:
        gc.disable()
        gc.freeze()  # the system takes everything back at once: no need to look through it on the way out


class PandasHidden:
    """Pandas is not found, since DuckDB and PyArrow would load it wherever it is, for a third of a second.

    No command hands them tables of pandas; Spark's own code does.
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        """Refuse pandas alone."""
        if fullname == "pandas" and not any("spark" in argument for argument in sys.argv):
            raise ModuleNotFoundError("blendp's commands do without pandas", name=fullname)


def _run() -> None:
    try:
        from blendp.cli.app import app

        app()
    except KeyboardInterrupt:
        _end_interrupted()
    except SystemExit as end:
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _end_interrupted()  # Typer ends without a word where one comes while it reads the command line
        raise
    finally:
        heeded()


def _end_interrupted() -> NoReturn:
    heeded()
    sys.stderr.write("Interrupted: nothing was written.\n")
    sys.exit(INTERRUPTED)


__all__ = ["BAD_LOG", "BAD_PARAMETER", "EMPTY", "INTERRUPTED", "OUTPUT_EXISTS", "REFUSED", "SYSTEM", "command", "main"]
