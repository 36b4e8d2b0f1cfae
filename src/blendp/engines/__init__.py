"""Counting over logs: the embedded engine, which needs no server."""

from blendp.engines.embedded import EmbeddedLog
from blendp.engines.truth import Truth

__all__ = ["EmbeddedLog", "Truth"]
