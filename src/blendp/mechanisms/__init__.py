"""The mechanisms, one folder each: code, PROOF.md, exact law. Nothing else in blendp draws noise.

:mod:`blendp.mechanisms.protocol` says what each of them can do.
"""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.mechanisms.asymmetric_laplace import AsymmetricLaplace
    from blendp.mechanisms.asymmetric_list import AsymmetricList
    from blendp.mechanisms.discrete_laplace import DiscreteLaplace
    from blendp.mechanisms.filtered_union import FilteredUnion, Holdings
    from blendp.mechanisms.hidden_sampling import HiddenSampling
    from blendp.mechanisms.protocol import FrequencyOracle, LocalRandomiser, Mechanism, NoiseLaw, PartitionSelection
    from blendp.mechanisms.rounded_gaussian import RoundedGaussian
    from blendp.mechanisms.subset_selection import SubsetSelection
    from blendp.mechanisms.threshold import ThresholdList
    from blendp.mechanisms.two_stage import TwoStage
    from blendp.mechanisms.wildcard_apart import WildcardApart

__all__ = [
    "AsymmetricLaplace",
    "AsymmetricList",
    "DiscreteLaplace",
    "FilteredUnion",
    "FrequencyOracle",
    "HiddenSampling",
    "Holdings",
    "LocalRandomiser",
    "Mechanism",
    "NoiseLaw",
    "PartitionSelection",
    "RoundedGaussian",
    "SubsetSelection",
    "ThresholdList",
    "TwoStage",
    "WildcardApart",
]

_HOMES = {
    "blendp.mechanisms.asymmetric_laplace": ("AsymmetricLaplace",),
    "blendp.mechanisms.asymmetric_list": ("AsymmetricList",),
    "blendp.mechanisms.discrete_laplace": ("DiscreteLaplace",),
    "blendp.mechanisms.filtered_union": ("FilteredUnion", "Holdings"),
    "blendp.mechanisms.hidden_sampling": ("HiddenSampling",),
    "blendp.mechanisms.protocol": ("FrequencyOracle", "LocalRandomiser", "Mechanism", "NoiseLaw", "PartitionSelection"),
    "blendp.mechanisms.rounded_gaussian": ("RoundedGaussian",),
    "blendp.mechanisms.subset_selection": ("SubsetSelection",),
    "blendp.mechanisms.threshold": ("ThresholdList",),
    "blendp.mechanisms.two_stage": ("TwoStage",),
    "blendp.mechanisms.wildcard_apart": ("WildcardApart",),
}
"""Where each name lives: a device loads the mechanisms that it uses (PEP 562)."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
