"""The mechanisms, one folder each: code, PROOF.md, exact law. Nothing else in blendp draws noise.

:mod:`blendp.mechanisms.protocol` says what each of them can do.
"""

from blendp.mechanisms.asymmetric_laplace import AsymmetricLaplace
from blendp.mechanisms.asymmetric_list import AsymmetricList
from blendp.mechanisms.discrete_laplace import DiscreteLaplace
from blendp.mechanisms.hidden_sampling import HiddenSampling
from blendp.mechanisms.protocol import LocalRandomiser, Mechanism, NoiseLaw, PartitionSelection
from blendp.mechanisms.rounded_gaussian import RoundedGaussian
from blendp.mechanisms.set_union import WeightedUnion
from blendp.mechanisms.subset_selection import SubsetSelection
from blendp.mechanisms.threshold import ThresholdList
from blendp.mechanisms.two_stage import TwoStage

__all__ = [
    "AsymmetricLaplace",
    "AsymmetricList",
    "DiscreteLaplace",
    "HiddenSampling",
    "LocalRandomiser",
    "Mechanism",
    "NoiseLaw",
    "PartitionSelection",
    "RoundedGaussian",
    "SubsetSelection",
    "ThresholdList",
    "TwoStage",
    "WeightedUnion",
]
