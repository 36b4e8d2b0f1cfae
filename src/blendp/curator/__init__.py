"""The opt-in side: noisy counts of the listed records, and the trimmed list (figure 4)."""

from blendp.curator.noisy_counts import NoisyCounts, add_noise, trim

__all__ = ["NoisyCounts", "add_noise", "trim"]
