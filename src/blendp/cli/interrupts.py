"""An interrupt is asked for again until somebody heeds it.

Extension modules swallow one that comes while they are loaded, and the command would go on as if nothing had happened.
"""

from __future__ import annotations

import signal
import threading

AGAIN_SECONDS = 3.0
"""Cleaning up takes less; should it take more, the next run removes what is left."""

_IS_HEEDED = threading.Event()


def heed() -> None:
    """Take SIGTERM for an interrupt, and insist on both; a command in the background goes on ignoring SIGINT."""
    _IS_HEEDED.clear()
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _interrupt_again)


def heeded() -> None:
    """Ask no more, not even if the next time has come already."""
    _IS_HEEDED.set()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _interrupt(*_: object) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    raise KeyboardInterrupt


def _interrupt_again(*_: object) -> None:
    if not _IS_HEEDED.is_set():
        _interrupt()
