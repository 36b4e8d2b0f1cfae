"""The opt-in side (central model): noisy counts of the listed records, and the trimmed list (figure 4)."""

from blendp.curator.mean_records import noisy_mean_records
from blendp.curator.noisy_counts import CellCounts, NoisyCounts, add_noise, only, trim
from blendp.curator.opt_in_counts import OptInCounts, counts_of_hold_out, counts_of_list
from blendp.curator.shares import counts_of_shares

__all__ = [
    "CellCounts",
    "NoisyCounts",
    "OptInCounts",
    "add_noise",
    "counts_of_hold_out",
    "counts_of_list",
    "counts_of_shares",
    "noisy_mean_records",
    "only",
    "trim",
]
