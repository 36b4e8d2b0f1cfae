"""Which records may be listed, and their counts, when every person contributes several."""

from blendp.mechanisms.set_union.weighted_union import UnionCounts, WeightedUnion

__all__ = ["UnionCounts", "WeightedUnion"]
