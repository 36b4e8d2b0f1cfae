"""Partition selection as published: records whose noisy counts pass a threshold."""

from blendp.mechanisms.threshold.threshold_list import ThresholdList

__all__ = ["ThresholdList"]
