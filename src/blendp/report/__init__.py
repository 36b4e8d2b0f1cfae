"""What a person or a program sees of an outcome: files, a page, tables for the terminal."""

from blendp.report.checks import release_checks
from blendp.report.files import release_card, rows_for_json, write_release
from blendp.report.html import ReportTruth, load_plots_meanwhile, render_report
from blendp.report.released import groups_for_json, release_of_document

__all__ = [
    "ReportTruth",
    "groups_for_json",
    "load_plots_meanwhile",
    "release_card",
    "release_checks",
    "release_of_document",
    "render_report",
    "rows_for_json",
    "write_release",
]
