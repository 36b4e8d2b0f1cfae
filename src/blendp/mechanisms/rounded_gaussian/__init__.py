"""A noise law: the Gaussian mechanism on integers, rounded."""

from blendp.mechanisms.rounded_gaussian.rounded_gaussian import MAX_TABLE_SIGMA, RoundedGaussian

__all__ = ["MAX_TABLE_SIGMA", "RoundedGaussian"]
