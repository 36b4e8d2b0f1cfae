"""What a client with several attributes sends: a randomised answer about one, invented answers about the others."""

from blendp.mechanisms.hidden_sampling.hidden_sampling import HiddenSampling

__all__ = ["HiddenSampling"]
