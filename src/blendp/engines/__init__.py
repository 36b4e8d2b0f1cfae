"""Contribution bounding and counting over logs, at user level: the embedded engine, which needs no server."""

from blendp.engines.contributions import Contributions
from blendp.engines.embedded import EmbeddedLog
from blendp.engines.quality import LogQuality
from blendp.engines.staged import StagedLog
from blendp.engines.truth import Truth

__all__ = ["Contributions", "EmbeddedLog", "LogQuality", "StagedLog", "Truth"]
