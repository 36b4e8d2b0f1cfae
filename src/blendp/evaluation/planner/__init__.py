"""What a release would be like, predicted from the law of records alone, without running a population."""

from blendp.evaluation.planner.forecast import assumed_law, forecast_list
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.overviews import Overview, Reach, overview
from blendp.evaluation.planner.plans import Plan, RankError, plan
from blendp.evaluation.planner.remedies import EmptyListAdvice
from blendp.evaluation.planner.search import RATES, SearchResult, Target, smallest_epsilon, smallest_opt_in, sweep

__all__ = [
    "RATES",
    "EmptyListAdvice",
    "HeadLaw",
    "Overview",
    "Plan",
    "RankError",
    "Reach",
    "SearchResult",
    "Target",
    "assumed_law",
    "forecast_list",
    "overview",
    "plan",
    "smallest_epsilon",
    "smallest_opt_in",
    "sweep",
]
