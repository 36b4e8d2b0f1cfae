"""The command line: one file a command, thin."""

from blendp.cli.main import main

__all__ = ["main"]
