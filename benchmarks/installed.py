"""The environment of processes that are measured: that of an installation, whose modules are compiled once for all."""

from __future__ import annotations

import os


def environment(**more: str) -> dict[str, str]:
    """This process's variables and some more, but for the one by which Python compiles every module at every start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more
