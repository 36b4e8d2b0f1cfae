"""What a release would be like, predicted from the law of records alone, without running a population."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
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

_HOMES = {
    "blendp.evaluation.planner.forecast": ("assumed_law", "forecast_list"),
    "blendp.evaluation.planner.law": ("HeadLaw",),
    "blendp.evaluation.planner.overviews": ("Overview", "Reach", "overview"),
    "blendp.evaluation.planner.plans": ("Plan", "RankError", "plan"),
    "blendp.evaluation.planner.remedies": ("EmptyListAdvice",),
    "blendp.evaluation.planner.search": (
        "RATES",
        "SearchResult",
        "Target",
        "smallest_epsilon",
        "smallest_opt_in",
        "sweep",
    ),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
