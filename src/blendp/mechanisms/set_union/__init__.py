"""Partition selection for several records a person (differentially private set union), and their counts."""

from blendp.mechanisms.set_union.weighted_union import UnionCounts, WeightedUnion

__all__ = ["UnionCounts", "WeightedUnion"]
