"""The head list as a value: what the opt-in group says may be asked about, in one canonical form."""

from blendp.headlist.head_list import Entry, HeadList

__all__ = ["Entry", "HeadList"]
