"""From released counts and reports to probabilities: unbiased estimates first, the projection a named last step."""

from blendp.estimate.blend import Blend, blend
from blendp.estimate.client import client_estimate
from blendp.estimate.group import GroupEstimate, Level
from blendp.estimate.opt_in import opt_in_estimate
from blendp.estimate.simplex import project_on_simplex
from blendp.estimate.tally import Tally

__all__ = [
    "Blend",
    "GroupEstimate",
    "Level",
    "Tally",
    "blend",
    "client_estimate",
    "opt_in_estimate",
    "project_on_simplex",
]
