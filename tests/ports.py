"""Ports of loopback for servers that must be told which."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress

_PORTS = range(10_000, 30_000, 2)
"""Below those that the system hands out by itself, so that nobody is given one between a look and its use."""


def free_pair() -> tuple[int, int]:
    """Two ports that were free a moment ago, one after the other."""
    while True:
        first = random.SystemRandom().choice(_PORTS)
        with suppress(OSError), ExitStack() as stack:
            for port in (first, first + 1):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first, first + 1
