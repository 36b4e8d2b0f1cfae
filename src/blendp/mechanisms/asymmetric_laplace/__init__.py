"""Integer noise that falls at one rate and rises at another."""

from blendp.mechanisms.asymmetric_laplace.asymmetric_laplace import AsymmetricLaplace

__all__ = ["AsymmetricLaplace"]
