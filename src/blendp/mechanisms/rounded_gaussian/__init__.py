"""Gaussian noise on integers, rounded."""

from blendp.mechanisms.rounded_gaussian.rounded_gaussian import LARGEST_TABLE, RoundedGaussian

__all__ = ["LARGEST_TABLE", "RoundedGaussian"]
