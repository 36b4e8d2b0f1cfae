"""A noise law: discrete Laplace (two-sided geometric) with a rate of its own on each side."""

from blendp.mechanisms.asymmetric_laplace.asymmetric_laplace import AsymmetricLaplace

__all__ = ["AsymmetricLaplace"]
