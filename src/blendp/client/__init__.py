"""The device side: what leaves it is already randomised (figure 6)."""

from blendp.client.reports import Report, SubsetReport, make_report, make_reports

__all__ = ["Report", "SubsetReport", "make_report", "make_reports"]
