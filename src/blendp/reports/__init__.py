"""A client's report: what may be asked, how it is randomised, counted and explained, and what it costs.

Nothing else binds a randomiser to a list.
"""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.reports.choice import ListQuestions, client_budget, report_scheme
    from blendp.reports.list_scheme import SCHEME_BYTES, ListScheme
    from blendp.reports.names import METHODS, ORACLES, PUBLISHED_QUERY_SHARE, RANDOMISER_OF_METHOD, RANDOMISERS
    from blendp.reports.question import Question, SingleItem
    from blendp.reports.report import QUESTION_NUMBER, QUESTIONS, Report
    from blendp.reports.scheme import Likelihood, ReportScheme
    from blendp.reports.subset import (
        SubsetScheme,
        apart_randomiser,
        frequency_oracle,
        frequency_oracles,
        subset_randomiser,
        subset_randomisers,
    )
    from blendp.reports.sums import Repeats, ReportSums
    from blendp.reports.two_stage import TwoStageScheme, two_stage_randomiser

__all__ = [
    "METHODS",
    "ORACLES",
    "PUBLISHED_QUERY_SHARE",
    "QUESTIONS",
    "QUESTION_NUMBER",
    "RANDOMISERS",
    "RANDOMISER_OF_METHOD",
    "SCHEME_BYTES",
    "Likelihood",
    "ListQuestions",
    "ListScheme",
    "Question",
    "Repeats",
    "Report",
    "ReportScheme",
    "ReportSums",
    "SingleItem",
    "SubsetScheme",
    "TwoStageScheme",
    "apart_randomiser",
    "client_budget",
    "frequency_oracle",
    "frequency_oracles",
    "report_scheme",
    "subset_randomiser",
    "subset_randomisers",
    "two_stage_randomiser",
]

_HOMES = {
    "blendp.reports.choice": ("ListQuestions", "client_budget", "report_scheme"),
    "blendp.reports.list_scheme": ("SCHEME_BYTES", "ListScheme"),
    "blendp.reports.names": ("METHODS", "ORACLES", "PUBLISHED_QUERY_SHARE", "RANDOMISERS", "RANDOMISER_OF_METHOD"),
    "blendp.reports.question": ("Question", "SingleItem"),
    "blendp.reports.report": ("QUESTION_NUMBER", "QUESTIONS", "Report"),
    "blendp.reports.scheme": ("Likelihood", "ReportScheme"),
    "blendp.reports.subset": (
        "SubsetScheme",
        "apart_randomiser",
        "frequency_oracle",
        "frequency_oracles",
        "subset_randomiser",
        "subset_randomisers",
    ),
    "blendp.reports.sums": ("Repeats", "ReportSums"),
    "blendp.reports.two_stage": ("TwoStageScheme", "two_stage_randomiser"),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
