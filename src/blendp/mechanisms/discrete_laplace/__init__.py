"""A noise law: discrete Laplace, also known as two-sided geometric."""

from blendp.mechanisms.discrete_laplace.discrete_laplace import DiscreteLaplace

__all__ = ["DiscreteLaplace"]
