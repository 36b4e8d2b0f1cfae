"""The one place where the version stands."""

__version__ = "0.1.0"
"""The version of blendp, as it stands in every card of a release."""
