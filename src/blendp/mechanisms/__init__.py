"""The randomisers, one folder each: code, PROOF.md, exact channel. Nothing else in blendp draws noise."""

from blendp.mechanisms.discrete_laplace import DiscreteLaplace
from blendp.mechanisms.threshold import ThresholdList
from blendp.mechanisms.two_stage import TwoStage

__all__ = ["DiscreteLaplace", "ThresholdList", "TwoStage"]
