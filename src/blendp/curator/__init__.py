"""The opt-in side (central model): noisy counts of the listed records, and the trimmed list (figure 4)."""

from blendp.curator.noisy_counts import NoisyCounts, add_noise, only, trim
from blendp.curator.opt_in_counts import OptInCounts, counts_of_hold_out, counts_of_list, counts_of_union

__all__ = [
    "NoisyCounts",
    "OptInCounts",
    "add_noise",
    "counts_of_hold_out",
    "counts_of_list",
    "counts_of_union",
    "only",
    "trim",
]
