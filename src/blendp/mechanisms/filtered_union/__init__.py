"""Partition selection for people with many records (differentially private set union), and their counts."""

from blendp.mechanisms.filtered_union.filtered_union import FilteredUnion, ListedRecords
from blendp.mechanisms.filtered_union.holdings import MAX_DIFFERENT, HeldRecords, Holdings
from blendp.mechanisms.filtered_union.two_scale import CountsOfShares, ShareSums, TwoScaleCounts, share_sums

__all__ = [
    "MAX_DIFFERENT",
    "CountsOfShares",
    "FilteredUnion",
    "HeldRecords",
    "Holdings",
    "ListedRecords",
    "ShareSums",
    "TwoScaleCounts",
    "share_sums",
]
