"""Work that needs no row, done while the database reads rows: loading modules, deriving mechanisms.

The database works outside of Python, so a thread of Python's own costs it little. Whoever needs the result asks for it
as if nothing had been done: modules and derived values are kept where they always are. So nothing depends on this work,
and if it fails, the one who needs it fails again and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

_STARTED: list[Thread] = []


def meanwhile(task: Callable[[], object]) -> Thread:
    """Start a task; who needs its result soon joins the thread, rather than do the same beside it.

    A program that ends does not wait for it.
    """

    def work() -> None:
        with suppress(Exception):
            task()

    thread = Thread(target=work, daemon=True)
    _STARTED[:] = [other for other in _STARTED if other.is_alive()]
    _STARTED.append(thread)
    thread.start()
    return thread


def settle() -> None:
    """Wait for everything that was started.

    Two threads that load modules which need each other, as those of some libraries do, can see one that is half loaded.
    """
    for thread in _STARTED:
        thread.join()
