"""The head list as a value: the heavy hitters that partition selection has named, in one canonical form."""

from blendp.headlist.head_list import Entry, HeadList

__all__ = ["Entry", "HeadList"]
