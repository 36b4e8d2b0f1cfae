"""Which records may be listed, and how often they occur, from one noise that is steep where it must be."""

from blendp.mechanisms.asymmetric_list.asymmetric_list import AsymmetricList

__all__ = ["AsymmetricList"]
