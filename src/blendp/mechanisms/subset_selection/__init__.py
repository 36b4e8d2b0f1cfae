"""A frequency oracle: a client sends a random set of items of fixed size, more likely one with theirs in it."""

from blendp.mechanisms.subset_selection.subset_selection import SubsetSelection

__all__ = ["SubsetSelection"]
