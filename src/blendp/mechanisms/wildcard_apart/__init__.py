"""A frequency oracle for lists that few hold: "nothing listed" is a report of its own, any other names listed items."""

from blendp.mechanisms.wildcard_apart.wildcard_apart import MIN_EPSILON, WildcardApart

__all__ = ["MIN_EPSILON", "WildcardApart"]
