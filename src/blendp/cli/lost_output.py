"""Standard output that cannot be written: a full disk behind it, or a reader that went away."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

LOST, CLOSED = 5, 1
"""Exit codes: of output that cannot be written, and of output that nobody reads any more, as shells expect it."""


class LostOutputError(OSError):
    """A result that could not be printed."""


@contextmanager
def printing() -> Iterator[None]:
    """Tell a failure to print apart from one to write a file."""
    try:
        yield
    except OSError as error:
        raise LostOutputError(error.errno, error.strerror) from error


def tell_lost(error: BaseException, *, surely: bool = False) -> int | None:
    """Tell in one sentence that output is lost, if this failure is that, and give the exit code; None if it is not.

    ``surely`` says that nothing but output can have failed. Whoever closes a pipe has read enough: that is told to
    nobody.
    """
    if not isinstance(error, OSError) or error.filename is not None:
        return None
    if not (surely or isinstance(error, LostOutputError)):
        return None
    _let_go(sys.stdout)
    if error.errno == errno.EPIPE:
        return CLOSED
    why = error.strerror or str(error)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"Error: standard output cannot be written ({why}): make room, or send it elsewhere.\n")
    return LOST


def unwritten(stream: TextIO) -> OSError | None:
    """Why what waits in a stream cannot be written; None if nothing waits there any more."""
    with suppress(ValueError):  # it is closed
        try:
            stream.flush()
        except OSError as error:
            return error
    return None


def open_missing() -> None:
    """Let a process that was started without output or errors write them nowhere, in place of failing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _let_go(stream: TextIO) -> None:
    """Let what waits in a stream go nowhere, so that it does not fail again when the process ends."""
    with suppress(OSError, ValueError):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
        stream.flush()
