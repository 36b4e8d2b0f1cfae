"""A frequency oracle for several attributes (RS+FD): one answered by randomised response, the others invented."""

from blendp.mechanisms.hidden_sampling.hidden_sampling import HiddenSampling

__all__ = ["HiddenSampling"]
