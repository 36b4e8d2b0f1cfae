"""The command line: one file a command, thin."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command. An interrupt at any moment, also while modules load, ends it in one sentence."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        from blendp.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: nothing was written.\n")
        sys.exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


__all__ = ["INTERRUPTED", "main"]
