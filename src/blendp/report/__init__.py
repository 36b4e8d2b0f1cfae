"""What a person or a program sees of an outcome: files, a page, tables for the terminal."""

from blendp.report.files import release_card, rows_for_json, write_release
from blendp.report.html import ReportTruth, load_plots_meanwhile, render_report

__all__ = ["ReportTruth", "load_plots_meanwhile", "release_card", "render_report", "rows_for_json", "write_release"]
