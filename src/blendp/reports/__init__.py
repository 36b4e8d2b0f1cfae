"""A client's report: what may be asked, how it is randomised, counted and explained, and what it costs.

Nothing else binds a randomiser to a list.
"""

from blendp.reports.choice import (
    METHODS,
    RANDOMISER_OF_METHOD,
    RANDOMISERS,
    ListQuestions,
    client_budget,
    report_scheme,
)
from blendp.reports.list_scheme import SCHEME_BYTES, ListScheme
from blendp.reports.question import Question, SingleItem
from blendp.reports.report import QUESTION_NUMBER, QUESTIONS, Report
from blendp.reports.scheme import Likelihood, ReportScheme
from blendp.reports.subset import (
    ORACLES,
    SubsetScheme,
    apart_randomiser,
    frequency_oracle,
    frequency_oracles,
    subset_randomiser,
    subset_randomisers,
)
from blendp.reports.sums import Repeats, ReportSums
from blendp.reports.two_stage import PUBLISHED_QUERY_SHARE, TwoStageScheme, two_stage_randomiser

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
