"""Partition selection for people with many records, of whom every different record is known."""

from blendp.mechanisms.filtered_union.holdings import MAX_DIFFERENT, Holdings

__all__ = ["MAX_DIFFERENT", "Holdings"]
