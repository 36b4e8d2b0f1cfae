"""The opt-in side (central model): noisy counts of the listed records, and the trimmed list (figure 4)."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
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

_HOMES = {
    "blendp.curator.mean_records": ("noisy_mean_records",),
    "blendp.curator.noisy_counts": ("CellCounts", "NoisyCounts", "add_noise", "only", "trim"),
    "blendp.curator.opt_in_counts": ("OptInCounts", "counts_of_hold_out", "counts_of_list"),
    "blendp.curator.shares": ("counts_of_shares",),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
