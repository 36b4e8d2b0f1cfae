"""An interrupt is asked for again until somebody heeds it.

Extension modules swallow one that comes while they are loaded, and the command would go on as if nothing had happened.
"""

from __future__ import annotations

import signal

AGAIN_SECONDS = 1.0
"""Cleaning up takes less; should it take more, the next run removes what is left."""


def heed() -> None:
    """Take SIGTERM for an interrupt, and insist on both; a command in the background goes on ignoring SIGINT."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _interrupt)


def heeded() -> None:
    """Ask no more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _interrupt(*_: object) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    raise KeyboardInterrupt
