"""Partition selection for one record a person: which records are listed, with counts from the same noise."""

from blendp.mechanisms.asymmetric_list.asymmetric_list import AsymmetricList

__all__ = ["AsymmetricList"]
