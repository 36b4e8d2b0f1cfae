"""Contribution bounding and counting over logs, at user level: the embedded engine, which needs no server."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.engines.contributions import Contributions
    from blendp.engines.embedded import EmbeddedLog
    from blendp.engines.quality import LogQuality
    from blendp.engines.staged import StagedLog
    from blendp.engines.truth import Truth

__all__ = ["Contributions", "EmbeddedLog", "LogQuality", "StagedLog", "Truth"]

_HOMES = {
    "blendp.engines.contributions": ("Contributions",),
    "blendp.engines.embedded": ("EmbeddedLog",),
    "blendp.engines.quality": ("LogQuality",),
    "blendp.engines.staged": ("StagedLog",),
    "blendp.engines.truth": ("Truth",),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
