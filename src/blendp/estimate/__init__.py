"""From released counts and reports to probabilities: unbiased estimates first, the projection a named last step."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.estimate.agreement import CrossCheck, cross_check
    from blendp.estimate.blending import CONFIDENCE, Blend, blend
    from blendp.estimate.client import client_estimate
    from blendp.estimate.group import GroupEstimate, Level
    from blendp.estimate.hybrid import InfluenceGuard, hybrid_blend
    from blendp.estimate.liars import Influence, influence
    from blendp.estimate.opt_in import counts_estimate, opt_in_estimate
    from blendp.estimate.posterior import Posterior, opt_in_posterior
    from blendp.estimate.simplex import project_on_simplex
    from blendp.estimate.split import Arm, Split, reconcile, split_estimate
    from blendp.estimate.tally import Tally

__all__ = [
    "CONFIDENCE",
    "Arm",
    "Blend",
    "CrossCheck",
    "GroupEstimate",
    "Influence",
    "InfluenceGuard",
    "Level",
    "Posterior",
    "Split",
    "Tally",
    "blend",
    "client_estimate",
    "counts_estimate",
    "cross_check",
    "hybrid_blend",
    "influence",
    "opt_in_estimate",
    "opt_in_posterior",
    "project_on_simplex",
    "reconcile",
    "split_estimate",
]

_HOMES = {
    "blendp.estimate.agreement": ("CrossCheck", "cross_check"),
    "blendp.estimate.blending": ("CONFIDENCE", "Blend", "blend"),
    "blendp.estimate.client": ("client_estimate",),
    "blendp.estimate.group": ("GroupEstimate", "Level"),
    "blendp.estimate.hybrid": ("InfluenceGuard", "hybrid_blend"),
    "blendp.estimate.liars": ("Influence", "influence"),
    "blendp.estimate.opt_in": ("counts_estimate", "opt_in_estimate"),
    "blendp.estimate.posterior": ("Posterior", "opt_in_posterior"),
    "blendp.estimate.simplex": ("project_on_simplex",),
    "blendp.estimate.split": ("Arm", "Split", "reconcile", "split_estimate"),
    "blendp.estimate.tally": ("Tally",),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
