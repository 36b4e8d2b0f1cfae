"""Work that needs no row, done while the database reads rows: loading modules, deriving mechanisms.

The database works outside of Python, so a thread of Python's own costs it little. Whoever needs the result asks for it
as if nothing had been done: modules and derived values are kept where they always are. So nothing depends on this work,
and if it fails, the one who needs it fails again and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread


def meanwhile(task: Callable[[], object]) -> Thread:
    """Start a task; who needs its result soon may join the thread, rather than do the same beside it."""

    def work() -> None:
        with suppress(Exception):
            task()

    thread = Thread(target=work)
    thread.start()
    return thread
