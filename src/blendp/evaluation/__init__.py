"""How good are the results? Comparisons with the log's own truth: never private, never part of a release."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.evaluation.metrics import Scores, score
    from blendp.evaluation.search import SearchValue, search_value
    from blendp.evaluation.trials import Evaluation, evaluate

__all__ = ["Evaluation", "Scores", "SearchValue", "evaluate", "score", "search_value"]

_HOMES = {
    "blendp.evaluation.metrics": ("Scores", "score"),
    "blendp.evaluation.search": ("SearchValue", "search_value"),
    "blendp.evaluation.trials": ("Evaluation", "evaluate"),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
