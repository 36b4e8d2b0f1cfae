"""Two-sided geometric noise on counts."""

from blendp.mechanisms.discrete_laplace.discrete_laplace import DiscreteLaplace

__all__ = ["DiscreteLaplace"]
