"""Which records may be listed: noisy counts above a threshold."""

from blendp.mechanisms.threshold.threshold_list import ThresholdList

__all__ = ["ThresholdList"]
