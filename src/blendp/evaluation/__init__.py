"""How good are the results? Comparisons with the log's own truth: never private, never part of a release."""

from blendp.evaluation.metrics import Scores, score
from blendp.evaluation.search import SearchValue, search_value
from blendp.evaluation.trials import Evaluation, evaluate

__all__ = ["Evaluation", "Scores", "SearchValue", "evaluate", "score", "search_value"]
