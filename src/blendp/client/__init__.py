"""The device side: what leaves it is already randomised (figure 6)."""

from blendp.client.reports import Report, make_reports

__all__ = ["Report", "make_reports"]
